"""Muster is uninstalled in the middle of work, and installed without Helm."""

import os
from pathlib import Path

import yaml

from documented_commands import file
from tests.clusters.chart import NAMESPACE, helm
from tests.clusters.cluster import ROOT
from tests.clusters.command import muster
from tests.clusters.replicas import registered
from tests.kind.support.creation import Creation
from tests.kind.support.installed import wait_until_ready
from tests.kind.support.jobs import UNTIL_ENDED, completes, end, gang_runs_to_its_end, real_gang, running
from tests.kind.support.machine import IMAGE, Kind

STAYS = ("Namespace//muster-system", "ConfigMap/muster-system/kube-root-ca.crt", "ServiceAccount/muster-system/default")
"""After `helm uninstall`: the namespace, which Helm made, with what Kubernetes puts into each."""


def test_it_is_uninstalled_in_the_middle_of_work(installed: Kind, namespace: str) -> None:
    api, running_on = installed.api, installed.new_namespace()
    api.create("jobs", real_gang("train", 3, UNTIL_ENDED), running_on)
    pods = running(api, running_on, "train", 3)
    with Creation(api, namespace) as creation:
        helm("uninstall", "muster", "--wait", "--timeout", "180s", kubeconfig=installed.kubeconfig)
        assert registered(api) == []
        creation.more()
        ended = creation.outcome()
    assert ended.gangs[:1] == creation.names[:1], "Muster was there"
    assert creation.names[-1] in ended.plain, "Muster was not there any more"
    assert ended.called_nobody == [], "a webhook was there longer than the replicas"
    assert {pod["metadata"]["uid"] for pod in running(api, running_on, "train", 3)} == {
        pod["metadata"]["uid"] for pod in pods
    }, "a gang that ran was disturbed"
    for pod in pods:
        end(installed, pod, 0)
    completes(api, running_on, "train")
    api.delete("namespaces", running_on)
    installed.assert_nothing_left_behind(STAYS)


def test_kubectl_apply_k_instead_of_helm(native: Kind, namespace: str, tmp_path: Path) -> None:
    folder = _kustomization(tmp_path)
    if native.api.find("namespaces", NAMESPACE):
        native.kubectl("delete", "namespace", NAMESPACE)
    native.kubectl("apply", "-k", str(folder))
    wait_until_ready(native)
    gang_runs_to_its_end(native, namespace)
    left = muster("leave", kubeconfig=native.kubeconfig)
    assert (left.code, left.err) == (0, ""), left.out
    native.kubectl("delete", "-k", str(folder), "--timeout=100s")
    native.assert_nothing_left_behind()


def test_no_namespace_hangs(native: Kind) -> None:
    """All that the scenarios made are gone, with Muster gone."""
    native.assert_no_namespace_hangs()


def _kustomization(folder: Path) -> Path:
    """As docs/install.md has it: the folder of manifests, with the image that the nodes have."""
    body = yaml.safe_load(file((ROOT / "docs/install.md").read_text(), "kustomization"))
    name, _, tag = IMAGE.rpartition(":")
    body["resources"] = [os.path.relpath(ROOT / "manifests", folder.resolve())]
    body["images"][0] |= {"newName": name, "newTag": tag}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(body))
    return folder
