"""How `muster leave` ends, by who runs it and what is there: 0 if everything is done, else 1 and a sentence for each
thing that is not."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clusters.api import Api
from tests.clusters.cluster import Cluster, hack_cluster
from tests.clusters.command import muster as command
from tests.clusters.leaving import leave_as_the_hook_does, left_behind
from tests.clusters.muster import Muster
from tests.clusters.replicas import NAMESPACE, Replicas
from tests.clusters.waiting import eventually

NOT_DONE = (
    f"the Lease {NAMESPACE}/muster cannot be taken",
    "the webhooks of mutatingwebhookconfigurations.admissionregistration.k8s.io muster cannot be removed",
    "the webhooks of validatingwebhookconfigurations.admissionregistration.k8s.io muster cannot be removed",
    "the finalizer of PodGroups of scheduling.k8s.io cannot be removed",
    "the finalizer of PodGroups of scheduling.muster.dev cannot be removed",
    "cannot look for webhooks muster-dev",
    "cannot check whether gangs are split",
    f"secrets {NAMESPACE}/muster-certificates cannot be removed",
    f"leases.coordination.k8s.io {NAMESPACE}/muster cannot be removed",
)


@pytest.fixture(scope="module")
def nobody(local: Cluster) -> Path:
    """An account without any right."""
    local.api.create("namespaces", {"metadata": {"name": "nobody"}})
    local.api.create("serviceaccounts", {"metadata": {"name": "nobody"}}, "nobody")
    return Path(hack_cluster("kubeconfig", "--name", local.name, "--service-account", "nobody/nobody"))


@pytest.fixture(scope="module")
def registered(local: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    """Everything that Muster makes is there, and Muster is not."""
    with Replicas(local, tmp_path_factory.mktemp("replicas"), count=1) as replicas:
        replicas.wait_until_ready()
        replicas.stop()
        yield replicas


@pytest.mark.parametrize("flags", [(), ("--dry-run",)], ids=["for real", "as a dry run"])
def test_without_rights_leave_reports_each_step_that_it_could_not_do(
    api: Api, registered: Replicas, nobody: Path, flags: tuple[str, ...]
) -> None:
    before = left_behind(api)
    answer = command("leave", *flags, kubeconfig=nobody)
    said = answer.err.splitlines()
    assert answer.code == 1
    assert len(said) == len(NOT_DONE)
    for line, sentence in zip(said, NOT_DONE, strict=True):
        assert line.startswith(f"muster: {sentence}: ")
        assert "cannot " in line
        assert "nobody" in line, "the API server's own words"
    assert left_behind(api) == before
    assert len(before) == 4


def test_with_some_rights_leave_does_these_steps_and_reports_the_rest(
    local: Cluster, api: Api, registered: Replicas
) -> None:
    assert leave_as_the_hook_does(local, "--dry-run").code == 0, "and its roles are there now"
    rules = api.get("roles", "muster-leave", NAMESPACE)["rules"]
    kept = [rule for rule in rules if rule["resources"] != ["secrets"]]
    api.patch("roles", "muster-leave", {"rules": kept}, NAMESPACE)
    try:
        answer = eventually(lambda: without_the_secret(local), "the right is gone", 30)
    finally:
        api.patch("roles", "muster-leave", {"rules": rules}, NAMESPACE)
    assert answer.startswith(f"muster: secrets {NAMESPACE}/muster-certificates cannot be removed: ")
    assert len(answer.splitlines()) == 1
    assert set(left_behind(api)) == {"secrets"}


def without_the_secret(local: Cluster) -> str:
    answer = leave_as_the_hook_does(local, "--wait", "0")
    assert (answer.code == 1) == bool(answer.err)
    return answer.err


def test_a_second_leave_succeeds_and_writes_nothing(local: Cluster, api: Api, registered: Replicas) -> None:
    assert command("leave", "--wait", "0", kubeconfig=local.kubeconfig).code == 0
    since = local.audit_position()
    for flags in ((), ("--dry-run",), ("--dry-run", "--wait", "0")):
        answer = command("leave", *flags, kubeconfig=local.kubeconfig)
        assert (answer.code, answer.err) == (0, "")
        assert "there is no webhook in mutatingwebhookconfigurations.admissionregistration.k8s.io muster" in answer.out
    assert local.writes_by_muster(since) == []
    assert left_behind(api) == {}


def test_leave_mentions_the_webhooks_of_a_dev_run(local: Cluster, muster: Muster) -> None:
    """If its Muster was killed, they refuse pods."""
    answer = command("leave", "--dry-run", kubeconfig=local.kubeconfig)
    assert answer.code == 0
    assert "muster-dev belongs to a `muster run --dev`. If that process has ended, the webhooks refuse" in answer.out
    assert muster.running
