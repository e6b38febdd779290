"""Which scheduling API this server has. Found by asking for its objects: discovery lists CRDs that are dead."""

from contextlib import suppress
from dataclasses import dataclass

from muster.api.meta import MANAGED_BY, MANAGED_BY_LABEL
from muster.api.pod import COMPLETION_INDEX_LABEL, GROUPED_LABEL, PodView
from muster.api.profile import (
    CRD_IN_KUBERNETES_GROUP,
    CRD_IN_OWN_GROUP,
    KUBERNETES_GROUP,
    NATIVE,
    OWN_GROUP,
    ApiProfile,
)
from muster.api.wire import Unreadable
from muster.kube.client import KubeClient, every_item
from muster.kube.errors import Forbidden, NotFound
from muster.kube.resources import PODS, PRIORITY_CLASSES, Resource, pod_groups, workloads

UNKNOWN_VERSIONS = ("v1beta1", "v1", "v1alpha3", "v1alpha1")
"""Versions of the built-in API that Muster does not speak."""

OURS = f"{MANAGED_BY_LABEL}={MANAGED_BY}"
LIVING = "status.phase!=Succeeded,status.phase!=Failed"

CHOICES = {
    "auto": (NATIVE, CRD_IN_OWN_GROUP),
    KUBERNETES_GROUP: (NATIVE,),
    OWN_GROUP: (CRD_IN_OWN_GROUP,),
}
"""What the operator may ask for, and which of our profiles that means, the best first."""


@dataclass(frozen=True, slots=True)
class Missing:
    """No API that Muster could work with, as one sentence for the person who runs the cluster."""

    sentence: str


async def find_profile(client: KubeClient, choice: str = "auto") -> ApiProfile | Missing:
    """The first API that answers. Raises what is no answer at all (the server cannot be reached)."""
    candidates = CHOICES[choice]
    if NATIVE in candidates and await serves(client, NATIVE):
        return NATIVE if await server_owns_group(client) else CRD_IN_KUBERNETES_GROUP
    if NATIVE in candidates and (version := await unknown_version(client)):
        return Missing(
            f"the API server serves Workloads as {NATIVE.group}/{version}, which this version of Muster does not "
            f"speak; it speaks {NATIVE.version}"
        )
    if CRD_IN_OWN_GROUP in candidates and await serves(client, CRD_IN_OWN_GROUP):
        return CRD_IN_OWN_GROUP
    return Missing(_what_to_do(choice))


async def serves(client: KubeClient, profile: ApiProfile, certain: bool = False) -> bool:
    """Both kinds of the profile answer. `certain`: raise `Forbidden` rather than guess."""
    ask = is_served if certain else may_be_served
    return await ask(client, workloads(profile)) and await ask(client, pod_groups(profile))


async def unknown_version(client: KubeClient, certain: bool = False) -> str:
    """A version of the built-in API that answers and that Muster does not speak; empty if there is none."""
    ask = is_served if certain else may_be_served
    for version in UNKNOWN_VERSIONS:
        if await ask(client, Resource(NATIVE.group, version, "workloads")):
            return version
    return ""


async def gangs_live(client: KubeClient, profile: ApiProfile, served: bool) -> bool:
    """Is there a PodGroup of Muster's, or a living member?

    PodGroups of an API that is not served cannot be listed, and bind nobody; their pods are still one gang.
    """
    if served:
        page = await client.list(pod_groups(profile), params={"labelSelector": OURS, "limit": "1"})
        if page.get("items"):
            return True
    label = COMPLETION_INDEX_LABEL if profile.native else f"{GROUPED_LABEL}=true"
    async for raw in every_item(client, PODS, params={"labelSelector": label, "fieldSelector": LIVING}):
        with suppress(Unreadable):
            if profile.group_of(PodView.parse(raw)):
                return True
    return False


async def server_owns_group(client: KubeClient) -> bool:
    """PriorityClass is the built-in resource of scheduling.k8s.io: a server that has it claims the whole group."""
    return await may_be_served(client, PRIORITY_CLASSES)


async def is_served(client: KubeClient, resource: Resource) -> bool:
    """A LIST answers. Raises `Forbidden`: rights are checked before paths, so that a 403 proves nothing."""
    try:
        await client.list(resource, params={"limit": "1"})
    except NotFound:
        return False
    return True


async def may_be_served(client: KubeClient, resource: Resource) -> bool:
    """A LIST answers, or may not be asked for. The missing right is reported elsewhere."""
    try:
        return await is_served(client, resource)
    except Forbidden:
        return True


def _what_to_do(choice: str) -> str:
    native = (
        f"start it with --runtime-config={NATIVE.api_version}=true and "
        "--feature-gates=GenericWorkload=true,GangScheduling=true"
    )
    install = "run `muster crds install`"
    if choice == OWN_GROUP:
        return f"the API server does not serve workloads of {CRD_IN_OWN_GROUP.api_version}: {install}"
    return f"the API server does not serve workloads of {NATIVE.api_version}: {native}, or {install}"
