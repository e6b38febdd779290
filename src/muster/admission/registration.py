"""The webhook configurations, and how `muster run --dev` registers and removes them."""

import base64
import logging
from dataclasses import dataclass, field
from typing import Any

from muster.admission.server import GATE_PATH, GUARD_PATH, POD_GROUPS_PATH
from muster.api.dialect import Dialect
from muster.api.meta import MANAGED_BY, MANAGED_BY_LABEL
from muster.api.pod import COMPLETION_INDEX_LABEL, POD_GROUP_ANNOTATION
from muster.config.types import Settings
from muster.kube.client import KubeClient, Object
from muster.kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from muster.kube.resources import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS, Resource

logger = logging.getLogger(__name__)

DEV_NAME = "muster-dev"
TRIES = 5

_OLD_PARALLELISM = "(has(oldObject.spec.parallelism) ? oldObject.spec.parallelism : 1)"
_NEW_PARALLELISM = "(has(object.spec.parallelism) ? object.spec.parallelism : 1)"
_INDEXED = "(has(object.spec.completionMode) && object.spec.completionMode == 'Indexed')"
_ANNOTATED = f"has(object.metadata.annotations) && '{POD_GROUP_ANNOTATION}' in object.metadata.annotations"
_TEMPLATE_ANNOTATED = (
    "has(object.spec.template.metadata) && has(object.spec.template.metadata.annotations) && "
    f"'{POD_GROUP_ANNOTATION}' in object.spec.template.metadata.annotations"
)
_GROUP_PRESET = f"has(object.spec.template.spec.schedulingGroup) || ({_TEMPLATE_ANNOTATED})"


def mutating_configuration(name: str, base_url: str, authority: bytes, settings: Settings, dialect: Dialect) -> Object:
    webhooks = [_gate_webhook(base_url, authority, settings, dialect)]
    if not dialect.native:
        webhooks.append(_pod_groups_webhook(base_url, authority, settings, dialect))
    return _configuration("MutatingWebhookConfiguration", name, *webhooks)


def validating_configuration(name: str, base_url: str, authority: bytes, settings: Settings) -> Object:
    return _configuration("ValidatingWebhookConfiguration", name, _guard_webhook(base_url, authority, settings))


def _gate_webhook(base_url: str, authority: bytes, settings: Settings, dialect: Dialect) -> Object:
    """Asked for pods of Indexed Jobs only: a pod does not show more of its Job than that."""
    by_field, by_annotation = "!has(object.spec.schedulingGroup)", f"!({_ANNOTATED})"
    return {
        **_shared(settings),
        "name": "pod-gate.muster.dev",
        "clientConfig": _client(base_url, GATE_PATH, authority),
        "rules": [_rule("", "v1", "pods", "CREATE")],
        "objectSelector": {"matchExpressions": [{"key": COMPLETION_INDEX_LABEL, "operator": "Exists"}]},
        "matchConditions": [{"name": "has-no-group-yet", "expression": by_field if dialect.native else by_annotation}],
        "sideEffects": "NoneOnDryRun",
        "reinvocationPolicy": "Never",
    }


def _pod_groups_webhook(base_url: str, authority: bytes, settings: Settings, dialect: Dialect) -> Object:
    """Does for PodGroups that are CRDs what the API server does for its own."""
    return {
        **_shared(settings),
        "name": "pod-groups.muster.dev",
        "clientConfig": _client(base_url, POD_GROUPS_PATH, authority),
        "rules": [_rule(dialect.group, dialect.version, "podgroups", "CREATE")],
        "sideEffects": "None",
        "reinvocationPolicy": "Never",
    }


def _guard_webhook(base_url: str, authority: bytes, settings: Settings) -> Object:
    """Asked only when parallelism changes, on Jobs that can be a gang."""
    return {
        **_shared(settings),
        "name": "parallelism-guard.muster.dev",
        "clientConfig": _client(base_url, GUARD_PATH, authority),
        "rules": [_rule("batch", "v1", "jobs", "UPDATE")],
        "matchConditions": [
            {"name": "parallelism-changes", "expression": f"{_OLD_PARALLELISM} != {_NEW_PARALLELISM}"},
            {"name": "can-be-a-gang", "expression": f"{_INDEXED} || {_GROUP_PRESET}"},
        ],
        "sideEffects": "None",
    }


def _shared(settings: Settings) -> dict[str, Any]:
    excluded = {
        "key": "kubernetes.io/metadata.name",
        "operator": "NotIn",
        "values": sorted(settings.excluded_namespaces),
    }
    return {
        "admissionReviewVersions": ["v1"],
        "failurePolicy": settings.failure_policy,
        "matchPolicy": "Equivalent",
        "namespaceSelector": {"matchExpressions": [excluded]},
        "timeoutSeconds": settings.webhook_timeout_seconds,
    }


def _client(base_url: str, path: str, authority: bytes) -> dict[str, str]:
    return {"url": f"{base_url}{path}", "caBundle": base64.b64encode(authority).decode()}


def _rule(group: str, version: str, resource: str, operation: str) -> dict[str, Any]:
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "resources": [resource],
        "operations": [operation],
        "scope": "Namespaced",
    }


def _configuration(kind: str, name: str, *webhooks: Object) -> Object:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name, "labels": {MANAGED_BY_LABEL: MANAGED_BY}},
        "webhooks": list(webhooks),
    }


@dataclass(slots=True)
class Registration:
    """Webhooks that live as long as this process. What a killed one left behind is taken over."""

    client: KubeClient
    base_url: str
    authority: bytes
    settings: Settings
    _registered: dict[Resource, Object] = field(default_factory=dict)

    async def register(self, dialect: Dialect) -> None:
        # The guard first: a gang must not exist for a moment without it.
        guard = validating_configuration(DEV_NAME, self.base_url, self.authority, self.settings)
        gate = mutating_configuration(DEV_NAME, self.base_url, self.authority, self.settings, dialect)
        for resource, body in ((VALIDATING_WEBHOOKS, guard), (MUTATING_WEBHOOKS, gate)):
            self._registered[resource] = await self._put(resource, body)

    async def remove(self) -> None:
        """Take away what is still ours; a successor that took it over keeps it."""
        for resource, made in reversed(self._registered.items()):
            metadata = made["metadata"]
            only_ours = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
            try:
                await self.client.delete(resource, "", DEV_NAME, only_ours)
            except (NotFound, Conflict):
                continue
            except KubeError as error:
                logger.warning("the webhook configuration %s %s is left behind: %s", resource.plural, DEV_NAME, error)
        self._registered = {}

    async def _put(self, resource: Resource, body: Object) -> Object:
        for _ in range(TRIES):
            try:
                return await self.client.create(resource, "", body)
            except AlreadyExists:
                pass
            try:
                found = await self.client.get(resource, "", DEV_NAME)
                version = {"resourceVersion": found["metadata"]["resourceVersion"]}
                return await self.client.replace(
                    resource, "", DEV_NAME, {**body, "metadata": {**body["metadata"], **version}}
                )
            except (NotFound, Conflict):
                continue
        raise Conflict(f"{resource.plural} {DEV_NAME} keeps changing under us")
