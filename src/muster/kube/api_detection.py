"""Detects which scheduling API the server has. It lists the objects: discovery also names CRDs that do not work."""

from contextlib import suppress

from muster.api.meta import MANAGED_BY, MANAGED_BY_LABEL
from muster.api.pod import COMPLETION_INDEX_LABEL, GROUPED_LABEL, LIVE, PodView
from muster.api.profile import (
    ALLOWED,
    CRD_IN_KUBERNETES_GROUP,
    CRD_IN_OWN_GROUP,
    NATIVE,
    ApiProfile,
)
from muster.api.wire import Unreadable
from muster.kube.client import KubeClient, every_item
from muster.kube.errors import Forbidden, NotFound
from muster.kube.problems import MissingApi, NoApi, UnsupportedVersion
from muster.kube.resources import PODS, PRIORITY_CLASSES, Resource, pod_groups, workloads

UNKNOWN_VERSIONS = ("v1beta1", "v1", "v1alpha3", "v1alpha1")
"""Versions of the built-in API that Muster does not support."""

OURS = f"{MANAGED_BY_LABEL}={MANAGED_BY}"


async def find_profile(client: KubeClient, choice: str = "auto") -> ApiProfile | MissingApi:
    """The first API that the server serves. Raises a `KubeError` if the server cannot be reached."""
    candidates = ALLOWED[choice]
    if NATIVE in candidates and await serves(client, NATIVE):
        return NATIVE if await server_owns_group(client) else CRD_IN_KUBERNETES_GROUP
    if NATIVE in candidates and (version := await unknown_version(client)):
        return UnsupportedVersion(version)
    if CRD_IN_OWN_GROUP in candidates and await serves(client, CRD_IN_OWN_GROUP):
        return CRD_IN_OWN_GROUP
    return NoApi(choice)


async def serves(client: KubeClient, profile: ApiProfile, certain: bool = False) -> bool:
    """Whether the server serves both kinds of the profile. With `certain`, a 403 raises `Forbidden`."""
    ask = is_served if certain else may_be_served
    return await ask(client, workloads(profile)) and await ask(client, pod_groups(profile))


async def unknown_version(client: KubeClient, certain: bool = False) -> str:
    """A version of the built-in API that the server serves and Muster does not support; empty if there is none."""
    ask = is_served if certain else may_be_served
    for version in UNKNOWN_VERSIONS:
        if await ask(client, Resource(NATIVE.group, version, "workloads")):
            return version
    return ""


async def gangs_exist(client: KubeClient, profile: ApiProfile, served: bool) -> bool:
    """Whether a PodGroup of Muster's exists, or a running or pending pod that is a member of one.

    PodGroups of an API that the server does not serve cannot be listed and have no effect, but their pods are still a
    gang.
    """
    if served:
        page = await client.list(pod_groups(profile), params={"labelSelector": OURS, "limit": "1"})
        if page.get("items"):
            return True
    label = COMPLETION_INDEX_LABEL if profile.native else f"{GROUPED_LABEL}=true"
    async for raw in every_item(client, PODS, params={"labelSelector": label, "fieldSelector": LIVE}):
        with suppress(Unreadable):
            if profile.group_of(PodView.parse(raw)):
                return True
    return False


async def server_owns_group(client: KubeClient, certain: bool = False) -> bool:
    """Whether the server has PriorityClasses, which are built into scheduling.k8s.io: then it owns the group.

    With `certain`, a 403 raises `Forbidden`.
    """
    return await (is_served if certain else may_be_served)(client, PRIORITY_CLASSES)


async def is_served(client: KubeClient, resource: Resource) -> bool:
    """Whether a LIST succeeds. Raises `Forbidden`: the server checks RBAC before the path, so a 403 proves nothing."""
    try:
        await client.list(resource, params={"limit": "1"})
    except NotFound:
        return False
    return True


async def may_be_served(client: KubeClient, resource: Resource) -> bool:
    """Whether a LIST succeeds or is forbidden. `access` reports the missing permission."""
    try:
        return await is_served(client, resource)
    except Forbidden:
        return True
