"""How `muster leave` ends, by who runs it and what is there: 0 if everything is done, else 1 and a sentence for each
thing that is not."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.support.api import Api
from tests.e2e.support.clusters import Cluster, hack_cluster
from tests.e2e.support.command import muster as command
from tests.e2e.support.leaving import leave_as_the_hook_does, left_behind
from tests.e2e.support.muster import Muster
from tests.e2e.support.replicas import NAMESPACE, Replicas
from tests.e2e.support.waiting import eventually

NOT_DONE = (
    f"the Lease {NAMESPACE}/muster cannot be taken",
    "the webhooks of mutatingwebhookconfigurations.admissionregistration.k8s.io muster cannot be removed",
    "the webhooks of validatingwebhookconfigurations.admissionregistration.k8s.io muster cannot be removed",
    "PodGroups of scheduling.k8s.io cannot be released",
    "PodGroups of scheduling.muster.dev cannot be released",
    "webhooks muster-dev cannot be looked for",
    "whether Jobs are split cannot be seen",
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
def test_who_may_do_nothing_is_told_each_thing_that_is_not_done(
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


def test_who_may_do_some_of_it_does_that_and_is_told_the_rest(local: Cluster, api: Api, registered: Replicas) -> None:
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


def test_nothing_to_do_is_done(local: Cluster, api: Api, registered: Replicas) -> None:
    assert command("leave", "--wait", "0", kubeconfig=local.kubeconfig).code == 0
    since = local.audit_position()
    for flags in ((), ("--dry-run",), ("--dry-run", "--wait", "0")):
        answer = command("leave", *flags, kubeconfig=local.kubeconfig)
        assert (answer.code, answer.err) == (0, "")
        assert "there is no webhook in mutatingwebhookconfigurations.admissionregistration.k8s.io muster" in answer.out
    assert local.writes_by_muster(since) == []
    assert left_behind(api) == {}


def test_webhooks_of_a_developer_are_mentioned(local: Cluster, muster: Muster) -> None:
    """If its Muster was killed, they refuse pods."""
    answer = command("leave", "--dry-run", kubeconfig=local.kubeconfig)
    assert answer.code == 0
    assert "muster-dev is of a `muster run --dev`: if none runs, it refuses pods; add --dev" in answer.out
    assert muster.running
