"""The webhook configurations: golden, since each field is a promise to the cluster."""

import pytest

from muster.api.profile import CRD_IN_KUBERNETES_GROUP, CRD_IN_OWN_GROUP, NATIVE, ApiProfile
from muster.config.types import Settings, Webhook, Webhooks
from muster.webhooks.configurations import at_url, mutating_configuration, validating_configuration

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


def test_the_pod_webhook_has_these_fields() -> None:
    configuration = mutating_configuration("muster", AT, Settings(), NATIVE)
    assert configuration["kind"] == "MutatingWebhookConfiguration"
    assert configuration["metadata"] == {"name": "muster", "labels": {"app.kubernetes.io/managed-by": "muster"}}
    (webhook,) = configuration["webhooks"]
    index = {"key": "batch.kubernetes.io/job-completion-index", "operator": "Exists"}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
    assert webhook == {
        **SHARED,
        "name": "pods.muster.dev",
        "clientConfig": {"url": "https://h:1/pods", "caBundle": "Y2E="},
        "rules": [{**rule, "scope": "Namespaced"}],
        "objectSelector": {"matchExpressions": [index]},
        "matchConditions": [{"name": "has-no-group-yet", "expression": "!has(object.spec.schedulingGroup)"}],
        "sideEffects": "NoneOnDryRun",
        "reinvocationPolicy": "Never",
    }


def test_the_guard_has_these_fields() -> None:
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


def test_the_intents_webhook_fails_open_and_only_warns() -> None:
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


def test_with_scope_all_jobs_the_webhook_is_called_for_the_pods_of_every_job_once() -> None:
    every = Settings(scope="all-jobs")
    indexed, others = mutating_configuration("muster", AT, every, NATIVE)["webhooks"]
    (plain,) = mutating_configuration("muster", AT, Settings(), NATIVE)["webhooks"]
    index = "batch.kubernetes.io/job-completion-index"
    assert indexed == plain
    assert others == {
        **indexed,
        "name": "job-pods.muster.dev",
        "objectSelector": {
            "matchExpressions": [
                {"key": "batch.kubernetes.io/controller-uid", "operator": "Exists"},
                {"key": index, "operator": "DoesNotExist"},
            ]
        },
    }
    guard, _ = validating_configuration("muster", AT, every)["webhooks"]
    assert [condition["name"] for condition in guard["matchConditions"]] == ["parallelism-changes"]


def test_the_configuration_follows_the_settings() -> None:
    chosen_for_pods = Webhook(failure_policy="Ignore", timeout_seconds=7)
    chosen = Settings(webhooks=Webhooks(pods=chosen_for_pods), excluded_namespaces=frozenset({"b", "a"}))
    (pods,) = mutating_configuration("muster", AT, chosen, NATIVE)["webhooks"]
    assert (pods["failurePolicy"], pods["timeoutSeconds"]) == ("Ignore", 7)
    assert pods["namespaceSelector"]["matchExpressions"][0]["values"] == ["a", "b"]


@pytest.mark.parametrize("profile", [CRD_IN_KUBERNETES_GROUP, CRD_IN_OWN_GROUP], ids=lambda profile: profile.group)
def test_on_crd_profiles_pod_groups_are_reviewed_too(profile: ApiProfile) -> None:
    pods, groups = mutating_configuration("muster", AT, Settings(), profile)["webhooks"]
    (condition,) = pods["matchConditions"]
    annotated = "has(object.metadata.annotations) && 'muster.dev/pod-group' in object.metadata.annotations"
    assert condition == {"name": "has-no-group-yet", "expression": f"!({annotated})"}
    assert pods["name"] == "pods.muster.dev"
    assert groups == {
        **SHARED,
        "name": "pod-groups.muster.dev",
        "clientConfig": {"url": "https://h:1/pod-groups", "caBundle": "Y2E="},
        "rules": [
            {
                "apiGroups": [profile.group],
                "apiVersions": ["v1alpha2"],
                "resources": ["podgroups"],
                "operations": ["CREATE"],
                "scope": "Namespaced",
            }
        ],
        "sideEffects": "None",
        "reinvocationPolicy": "Never",
    }


def test_the_guard_is_called_for_a_template_that_names_a_group_in_either_way() -> None:
    webhook, _ = validating_configuration("muster", AT, Settings())["webhooks"]
    expression = webhook["matchConditions"][1]["expression"]
    assert "has(object.spec.template.spec.schedulingGroup)" in expression
    assert "'muster.dev/pod-group' in object.spec.template.metadata.annotations" in expression
