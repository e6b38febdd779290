"""The chart with Muster's CRDs: installed, a gang, uninstalled in the middle of work."""

import pytest

from tests.clusters.chart import helm
from tests.clusters.leaving import protected
from tests.clusters.replicas import registered
from tests.kind.support.creation import Creation
from tests.kind.support.installed import nodes_of_replicas
from tests.kind.support.jobs import gang_runs_to_its_end
from tests.kind.support.machine import GROUPS, Kinds
from tests.kind.test_leaving import STAYS


@pytest.mark.parametrize("profile", ["crd", "stock"])
def test_a_gang_on_the_crds_and_an_uninstall_in_the_middle_of_work(kinds: Kinds, profile: str) -> None:
    kind = kinds.at(profile)
    kind.script("kind-install")
    assert len(nodes_of_replicas(kind)) == 2
    assert "Phase:          Succeeded" in helm("test", "muster", "--timeout", "60s", kubeconfig=kind.kubeconfig)
    place, later = kind.new_namespace(), kind.new_namespace()
    gang_runs_to_its_end(kind, place)
    with Creation(kind.api, later) as creation:
        helm("uninstall", "muster", "--wait", "--timeout", "180s", kubeconfig=kind.kubeconfig)
        assert registered(kind.api) == []
        creation.more()
        ended = creation.outcome()
    assert ended.gangs[:1] == creation.names[:1], "Muster was there"
    assert creation.names[-1] in ended.plain, "Muster was not there any more"
    assert ended.called_nobody == [], "a webhook was there longer than the replicas"
    assert protected(kind.api, place) + protected(kind.api, later) == []
    crds = tuple(f"CustomResourceDefinition//{plural}.{GROUPS[profile]}" for plural in ("workloads", "podgroups"))
    kind.assert_nothing_left_behind((*STAYS, *crds))
    for name in (place, later):
        kind.api.delete("namespaces", name)
    kind.assert_no_namespace_hangs()
