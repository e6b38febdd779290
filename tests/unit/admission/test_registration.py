"""The webhook configurations: golden, since each field is a promise to the cluster."""

from collections.abc import Mapping

import pytest

from muster.admission.registration import DEV_NAME, Registration, mutating_configuration, validating_configuration
from muster.config.types import Settings
from muster.kube.client import Object
from muster.kube.errors import Conflict, Unreachable
from muster.kube.resources import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS, Resource
from tests.fake_cluster import FakeClient, FakeCluster

EXCLUDED = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "muster-system"]}
SHARED = {
    "admissionReviewVersions": ["v1"],
    "failurePolicy": "Fail",
    "matchPolicy": "Equivalent",
    "namespaceSelector": {"matchExpressions": [EXCLUDED]},
    "timeoutSeconds": 2,
}


def test_the_pod_gate() -> None:
    configuration = mutating_configuration("muster", "https://h:1", b"ca", Settings())
    assert configuration["kind"] == "MutatingWebhookConfiguration"
    assert configuration["metadata"] == {"name": "muster", "labels": {"app.kubernetes.io/managed-by": "muster"}}
    (webhook,) = configuration["webhooks"]
    index = {"key": "batch.kubernetes.io/job-completion-index", "operator": "Exists"}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
    assert webhook == {
        **SHARED,
        "name": "pod-gate.muster.dev",
        "clientConfig": {"url": "https://h:1/pod-gate", "caBundle": "Y2E="},
        "rules": [{**rule, "scope": "Namespaced"}],
        "objectSelector": {"matchExpressions": [index]},
        "matchConditions": [{"name": "has-no-group-yet", "expression": "!has(object.spec.schedulingGroup)"}],
        "sideEffects": "NoneOnDryRun",
        "reinvocationPolicy": "Never",
    }


def test_the_guard() -> None:
    (webhook,) = validating_configuration("muster", "https://h:1", b"ca", Settings())["webhooks"]
    conditions = {condition["name"]: condition["expression"] for condition in webhook.pop("matchConditions")}
    assert list(conditions) == ["parallelism-changes", "can-be-a-gang"]
    assert "oldObject.spec.parallelism" in conditions["parallelism-changes"]
    assert "'Indexed'" in conditions["can-be-a-gang"]
    rule = {"apiGroups": ["batch"], "apiVersions": ["v1"], "resources": ["jobs"], "operations": ["UPDATE"]}
    assert webhook == {
        **SHARED,
        "name": "parallelism-guard.muster.dev",
        "clientConfig": {"url": "https://h:1/parallelism-guard", "caBundle": "Y2E="},
        "rules": [{**rule, "scope": "Namespaced"}],
        "sideEffects": "None",
    }


def test_the_operator_s_choices_are_in_it() -> None:
    chosen = Settings(failure_policy="Ignore", webhook_timeout_seconds=7, excluded_namespaces=frozenset({"b", "a"}))
    (webhook,) = mutating_configuration("muster", "https://h:1", b"ca", chosen)["webhooks"]
    assert (webhook["failurePolicy"], webhook["timeoutSeconds"]) == ("Ignore", 7)
    assert webhook["namespaceSelector"]["matchExpressions"][0]["values"] == ["a", "b"]


def urls(cluster: FakeCluster) -> list[str]:
    plurals = (VALIDATING_WEBHOOKS.plural, MUTATING_WEBHOOKS.plural)
    return [each["webhooks"][0]["clientConfig"]["url"] for plural in plurals for each in cluster.find(plural)]


async def test_webhooks_live_as_long_as_the_process() -> None:
    cluster = FakeCluster()
    registration = Registration(FakeClient(cluster))
    await registration.register("https://h:1", b"ca", Settings())
    assert urls(cluster) == ["https://h:1/parallelism-guard", "https://h:1/pod-gate"]
    assert cluster.history[0].plural == VALIDATING_WEBHOOKS.plural, "the guard first"
    await registration.remove()
    assert urls(cluster) == []
    await registration.remove()


async def test_what_a_killed_process_left_is_taken_over_and_then_it_is_the_successor_s() -> None:
    cluster = FakeCluster()
    killed, successor = Registration(FakeClient(cluster)), Registration(FakeClient(cluster))
    await killed.register("https://h:1", b"ca", Settings())
    await successor.register("https://h:2", b"ca", Settings())
    assert urls(cluster) == ["https://h:2/parallelism-guard", "https://h:2/pod-gate"]
    await killed.remove()
    assert urls(cluster) == ["https://h:2/parallelism-guard", "https://h:2/pod-gate"]
    await successor.remove()
    assert urls(cluster) == []


async def test_a_configuration_that_keeps_changing_is_given_up() -> None:
    class Contended(FakeClient):
        async def replace(self, resource: Resource, namespace: str, name: str, body: Object) -> Object:
            raise Conflict("changed")

    cluster = FakeCluster()
    await Registration(FakeClient(cluster)).register("https://h:1", b"ca", Settings())
    with pytest.raises(Conflict, match=f"{DEV_NAME} keeps changing"):
        await Registration(Contended(cluster)).register("https://h:2", b"ca", Settings())


async def test_what_cannot_be_removed_is_told(caplog: pytest.LogCaptureFixture) -> None:
    class Away(FakeClient):
        async def delete(self, resource: Resource, namespace: str, name: str, preconditions: Mapping[str, str]) -> None:
            raise Unreachable("does not answer")

    registration = Registration(Away(FakeCluster()))
    await registration.register("https://h:1", b"ca", Settings())
    await registration.remove()
    assert sum("is left behind" in record.message for record in caplog.records) == 2
