"""The webhook configurations: golden, since each field is a promise to the cluster."""

from collections.abc import Mapping

import pytest

from muster.admission.registration import Registration
from muster.admission.webhooks import DEV_NAME, at_url, mutating_configuration, validating_configuration
from muster.api.dialect import CRD_IN_KUBERNETES_GROUP, CRD_IN_OWN_GROUP, NATIVE, Dialect
from muster.config.types import Settings, Webhook, Webhooks
from muster.kube.client import Object
from muster.kube.errors import Conflict, Unreachable
from muster.kube.resources import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS, Resource
from tests.fake_cluster import FakeClient, FakeCluster

AT = at_url("https://h:1", b"ca")
EXCLUDED = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "muster-system"]}
SHARED = {
    "admissionReviewVersions": ["v1"],
    "failurePolicy": "Fail",
    "matchPolicy": "Equivalent",
    "namespaceSelector": {"matchExpressions": [EXCLUDED]},
    "objectSelector": {},
    "timeoutSeconds": 2,
}


def test_the_pod_gate() -> None:
    configuration = mutating_configuration("muster", AT, Settings(), NATIVE)
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
    webhook, _ = validating_configuration("muster", AT, Settings())["webhooks"]
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
        "sideEffects": "NoneOnDryRun",
    }


def test_intents_are_only_warned_about_and_never_waited_for() -> None:
    _, webhook = validating_configuration("muster", AT, Settings())["webhooks"]
    (condition,) = webhook.pop("matchConditions")
    annotated = "has(object.metadata.annotations) && 'muster.dev/scheduling' in object.metadata.annotations"
    assert condition["expression"].startswith(f"({annotated}) || (oldObject != null && ")
    rule = {"apiGroups": ["batch"], "apiVersions": ["v1"], "resources": ["jobs"], "operations": ["CREATE", "UPDATE"]}
    assert webhook == {
        **SHARED,
        "failurePolicy": "Ignore",
        "name": "intents.muster.dev",
        "clientConfig": {"url": "https://h:1/intents", "caBundle": "Y2E="},
        "rules": [{**rule, "scope": "Namespaced"}],
        "sideEffects": "None",
    }


def test_with_scope_all_jobs_the_gate_is_asked_for_the_pods_of_every_job_once() -> None:
    every = Settings(scope="all-jobs")
    indexed, others = mutating_configuration("muster", AT, every, NATIVE)["webhooks"]
    (plain,) = mutating_configuration("muster", AT, Settings(), NATIVE)["webhooks"]
    index = "batch.kubernetes.io/job-completion-index"
    assert indexed == plain
    assert others == {
        **indexed,
        "name": "job-pod-gate.muster.dev",
        "objectSelector": {
            "matchExpressions": [
                {"key": "batch.kubernetes.io/controller-uid", "operator": "Exists"},
                {"key": index, "operator": "DoesNotExist"},
            ]
        },
    }
    guard, _ = validating_configuration("muster", AT, every)["webhooks"]
    assert [condition["name"] for condition in guard["matchConditions"]] == ["parallelism-changes"]


def test_the_operator_s_choices_are_in_it() -> None:
    gate = Webhook(failure_policy="Ignore", timeout_seconds=7)
    chosen = Settings(webhooks=Webhooks(pod_gate=gate), excluded_namespaces=frozenset({"b", "a"}))
    (webhook,) = mutating_configuration("muster", AT, chosen, NATIVE)["webhooks"]
    assert (webhook["failurePolicy"], webhook["timeoutSeconds"]) == ("Ignore", 7)
    assert webhook["namespaceSelector"]["matchExpressions"][0]["values"] == ["a", "b"]


@pytest.mark.parametrize("dialect", [CRD_IN_KUBERNETES_GROUP, CRD_IN_OWN_GROUP], ids=lambda dialect: dialect.group)
def test_where_the_pod_groups_are_crds_they_are_reviewed_too(dialect: Dialect) -> None:
    gate, groups = mutating_configuration("muster", AT, Settings(), dialect)["webhooks"]
    (condition,) = gate["matchConditions"]
    annotated = "has(object.metadata.annotations) && 'muster.dev/pod-group' in object.metadata.annotations"
    assert condition == {"name": "has-no-group-yet", "expression": f"!({annotated})"}
    assert gate["name"] == "pod-gate.muster.dev"
    assert groups == {
        **SHARED,
        "name": "pod-groups.muster.dev",
        "clientConfig": {"url": "https://h:1/pod-groups", "caBundle": "Y2E="},
        "rules": [
            {
                "apiGroups": [dialect.group],
                "apiVersions": ["v1alpha2"],
                "resources": ["podgroups"],
                "operations": ["CREATE"],
                "scope": "Namespaced",
            }
        ],
        "sideEffects": "None",
        "reinvocationPolicy": "Never",
    }


def test_the_guard_is_asked_for_templates_that_name_a_group_in_either_way() -> None:
    webhook, _ = validating_configuration("muster", AT, Settings())["webhooks"]
    expression = webhook["matchConditions"][1]["expression"]
    assert "has(object.spec.template.spec.schedulingGroup)" in expression
    assert "'muster.dev/pod-group' in object.spec.template.metadata.annotations" in expression


def at(url: str, client: FakeClient) -> Registration:
    return Registration(client, url, b"ca", Settings())


def urls(cluster: FakeCluster) -> list[str]:
    plurals = (VALIDATING_WEBHOOKS.plural, MUTATING_WEBHOOKS.plural)
    found = [each for plural in plurals for each in cluster.find(plural)]
    return [webhook["clientConfig"]["url"] for each in found for webhook in each["webhooks"]]


async def test_another_api_gets_other_webhooks_in_the_same_place() -> None:
    cluster = FakeCluster()
    registration = at("https://h:1", FakeClient(cluster))
    await registration.register(CRD_IN_OWN_GROUP)
    assert urls(cluster) == [
        "https://h:1/parallelism-guard",
        "https://h:1/intents",
        "https://h:1/pod-gate",
        "https://h:1/pod-groups",
    ]
    await registration.register(NATIVE)
    assert urls(cluster) == ["https://h:1/parallelism-guard", "https://h:1/intents", "https://h:1/pod-gate"]
    await registration.remove()
    assert urls(cluster) == [], "the newest ones are known as ours"


async def test_webhooks_live_as_long_as_the_process() -> None:
    cluster = FakeCluster()
    registration = at("https://h:1", FakeClient(cluster))
    await registration.register(NATIVE)
    assert urls(cluster) == ["https://h:1/parallelism-guard", "https://h:1/intents", "https://h:1/pod-gate"]
    assert cluster.history[0].plural == VALIDATING_WEBHOOKS.plural, "the guard first"
    await registration.remove()
    assert urls(cluster) == []
    await registration.remove()


async def test_what_a_killed_process_left_is_taken_over_and_then_it_is_the_successor_s() -> None:
    cluster = FakeCluster()
    killed, successor = at("https://h:1", FakeClient(cluster)), at("https://h:2", FakeClient(cluster))
    await killed.register(NATIVE)
    await successor.register(NATIVE)
    assert urls(cluster) == ["https://h:2/parallelism-guard", "https://h:2/intents", "https://h:2/pod-gate"]
    await killed.remove()
    assert urls(cluster) == ["https://h:2/parallelism-guard", "https://h:2/intents", "https://h:2/pod-gate"]
    await successor.remove()
    assert urls(cluster) == []


async def test_a_configuration_that_keeps_changing_is_given_up() -> None:
    class Contended(FakeClient):
        async def replace(self, resource: Resource, namespace: str, name: str, body: Object) -> Object:
            raise Conflict("changed")

    cluster = FakeCluster()
    await at("https://h:1", FakeClient(cluster)).register(NATIVE)
    with pytest.raises(Conflict, match=f"{DEV_NAME} keeps changing"):
        await at("https://h:2", Contended(cluster)).register(NATIVE)


async def test_what_cannot_be_removed_is_told(caplog: pytest.LogCaptureFixture) -> None:
    class Away(FakeClient):
        async def delete(self, resource: Resource, namespace: str, name: str, preconditions: Mapping[str, str]) -> None:
            raise Unreachable("does not answer")

    registration = at("https://h:1", Away(FakeCluster()))
    await registration.register(NATIVE)
    await registration.remove()
    assert sum("is left behind" in record.message for record in caplog.records) == 2
