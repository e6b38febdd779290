"""The content of the webhook configurations: which requests the API server sends to Muster, and where."""

import base64
from collections.abc import Callable
from typing import Any

from muster.admission.server import GUARD_PATH, INTENTS_PATH, POD_GROUPS_PATH, PODS_PATH
from muster.api.job import SCHEDULING_ANNOTATION
from muster.api.meta import MANAGED_BY, MANAGED_BY_LABEL
from muster.api.pod import COMPLETION_INDEX_LABEL, CONTROLLER_UID_LABEL, POD_GROUP_ANNOTATION
from muster.api.profile import ApiProfile
from muster.config.types import AdvisoryWebhook, Selector, Service, Settings, Webhook
from muster.kube.client import Object

NAME = "muster"
"""The name of the webhook configurations of an installed Muster."""
DEV_NAME = "muster-dev"
"""The name of the webhook configurations of `muster run --dev`."""

_OLD_PARALLELISM = "(has(oldObject.spec.parallelism) ? oldObject.spec.parallelism : 1)"
_NEW_PARALLELISM = "(has(object.spec.parallelism) ? object.spec.parallelism : 1)"
_INDEXED = "(has(object.spec.completionMode) && object.spec.completionMode == 'Indexed')"
_ANNOTATED = f"has(object.metadata.annotations) && '{POD_GROUP_ANNOTATION}' in object.metadata.annotations"
_INTENT_NOW = f"has(object.metadata.annotations) && '{SCHEDULING_ANNOTATION}' in object.metadata.annotations"
_INTENT_BEFORE = (
    "oldObject != null && has(oldObject.metadata.annotations) && "
    f"'{SCHEDULING_ANNOTATION}' in oldObject.metadata.annotations"
)
_INDEXED_PODS = {"key": COMPLETION_INDEX_LABEL, "operator": "Exists"}
_OTHER_JOB_PODS = (
    {"key": CONTROLLER_UID_LABEL, "operator": "Exists"},
    {"key": COMPLETION_INDEX_LABEL, "operator": "DoesNotExist"},
)
_TEMPLATE_ANNOTATED = (
    "has(object.spec.template.metadata) && has(object.spec.template.metadata.annotations) && "
    f"'{POD_GROUP_ANNOTATION}' in object.spec.template.metadata.annotations"
)
_GROUP_PRESET = f"has(object.spec.template.spec.schedulingGroup) || ({_TEMPLATE_ANNOTATED})"


Reach = Callable[[str], Object]
"""Returns the clientConfig for a path: the address of Muster, and the caBundle."""


def at_url(base_url: str, authority: bytes) -> Reach:
    bundle = base64.b64encode(authority).decode()
    return lambda path: {"url": f"{base_url}{path}", "caBundle": bundle}


def at_service(service: Service, authority: bytes) -> Reach:
    place = {"name": service.name, "namespace": service.namespace, "port": service.port}
    bundle = base64.b64encode(authority).decode()
    return lambda path: {"service": {**place, "path": path}, "caBundle": bundle}


def mutating_configuration(name: str, reach: Reach, settings: Settings, profile: ApiProfile) -> Object:
    webhooks = [_pods_webhook("pods.muster.dev", reach, settings, profile, _INDEXED_PODS)]
    if settings.scope == "all-jobs":
        webhooks.append(_pods_webhook("job-pods.muster.dev", reach, settings, profile, *_OTHER_JOB_PODS))
    if not profile.native:
        webhooks.append(_pod_groups_webhook(reach, settings, profile))
    return _configuration("MutatingWebhookConfiguration", name, *webhooks)


def validating_configuration(name: str, reach: Reach, settings: Settings) -> Object:
    webhooks = (_guard_webhook(reach, settings), _intents_webhook(reach, settings))
    return _configuration("ValidatingWebhookConfiguration", name, *webhooks)


def _pods_webhook(name: str, reach: Reach, settings: Settings, profile: ApiProfile, *pods: Object) -> Object:
    """Pods are selected by these labels, because a pod shows nothing else of its Job."""
    by_field, by_annotation = "!has(object.spec.schedulingGroup)", f"!({_ANNOTATED})"
    return {
        **_chosen(settings.webhooks.pods, settings, *pods),
        "name": name,
        "clientConfig": reach(PODS_PATH),
        "rules": [_rule("", "v1", "pods", "CREATE")],
        "matchConditions": [{"name": "has-no-group-yet", "expression": by_field if profile.native else by_annotation}],
        "sideEffects": "NoneOnDryRun",
        "reinvocationPolicy": "Never",
    }


def _pod_groups_webhook(reach: Reach, settings: Settings, profile: ApiProfile) -> Object:
    """Does for PodGroups of CRDs what the API server does in its built-in API."""
    return {
        **_chosen(settings.webhooks.pod_groups, settings),
        "name": "pod-groups.muster.dev",
        "clientConfig": reach(POD_GROUPS_PATH),
        "rules": [_rule(profile.group, profile.version, "podgroups", "CREATE")],
        "sideEffects": "None",
        "reinvocationPolicy": "Never",
    }


def _guard_webhook(reach: Reach, settings: Settings) -> Object:
    """Called only if parallelism changes, on Jobs that can be a gang."""
    conditions = [{"name": "parallelism-changes", "expression": f"{_OLD_PARALLELISM} != {_NEW_PARALLELISM}"}]
    if settings.scope == "indexed-jobs":
        conditions.append({"name": "can-be-a-gang", "expression": f"{_INDEXED} || {_GROUP_PRESET}"})
    return {
        **_chosen(settings.webhooks.parallelism_guard, settings),
        "name": "parallelism-guard.muster.dev",
        "clientConfig": reach(GUARD_PATH),
        "rules": [_rule("batch", "v1", "jobs", "UPDATE")],
        "matchConditions": conditions,
        "sideEffects": "NoneOnDryRun",
    }


def _intents_webhook(reach: Reach, settings: Settings) -> Object:
    """Warns about errors in a Job's request. It refuses nothing, and it does not delay Jobs if Muster is down."""
    return {
        **_chosen(settings.webhooks.intents, settings),
        "name": "intents.muster.dev",
        "clientConfig": reach(INTENTS_PATH),
        "rules": [_rule("batch", "v1", "jobs", "CREATE", "UPDATE")],
        "matchConditions": [{"name": "asks", "expression": f"({_INTENT_NOW}) || ({_INTENT_BEFORE})"}],
        "sideEffects": "None",
    }


def _chosen(webhook: Webhook | AdvisoryWebhook, settings: Settings, *ours: Object) -> Object:
    """The fields that the settings control. The user's selectors are added to Muster's and can only narrow them."""
    excluded = {
        "key": "kubernetes.io/metadata.name",
        "operator": "NotIn",
        "values": sorted(settings.excluded_namespaces),
    }
    return {
        "admissionReviewVersions": ["v1"],
        "failurePolicy": webhook.failure_policy,
        "matchPolicy": "Equivalent",
        "namespaceSelector": _narrowed(webhook.namespace_selector, excluded),
        "objectSelector": _narrowed(webhook.object_selector, *ours),
        "timeoutSeconds": webhook.timeout_seconds,
    }


def _narrowed(selector: Selector, *ours: Object) -> Object:
    theirs = [each.model_dump(mode="json", exclude_defaults=True) for each in selector.match_expressions]
    labels = {"matchLabels": dict(selector.match_labels)} if selector.match_labels else {}
    return {**labels, **({"matchExpressions": [*ours, *theirs]} if ours or theirs else {})}


def _rule(group: str, version: str, resource: str, *operations: str) -> dict[str, Any]:
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "resources": [resource],
        "operations": list(operations),
        "scope": "Namespaced",
    }


def _configuration(kind: str, name: str, *webhooks: Object) -> Object:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name, "labels": {MANAGED_BY_LABEL: MANAGED_BY}},
        "webhooks": list(webhooks),
    }
