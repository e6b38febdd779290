"""Which scheduling API this server has. Found by asking for its objects: discovery lists CRDs that are dead."""

from contextlib import suppress
from dataclasses import dataclass

from muster.api.meta import MANAGED_BY, MANAGED_BY_LABEL
from muster.api.pod import COMPLETION_INDEX_LABEL, GROUPED_LABEL, PodView
from muster.api.profile import CRD_IN_KUBERNETES_GROUP, CRD_IN_OWN_GROUP, NATIVE, ApiProfile
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
    "scheduling.k8s.io": (NATIVE,),
    "scheduling.muster.dev": (CRD_IN_OWN_GROUP,),
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
    for version in UNKNOWN_VERSIONS if NATIVE in candidates else ():
        if await _answers(client, Resource(NATIVE.group, version, "workloads")):
            return Missing(
                f"the API server serves Workloads as {NATIVE.group}/{version}, which this version of Muster does not "
                f"speak; it speaks {NATIVE.version}"
            )
    if CRD_IN_OWN_GROUP in candidates and await serves(client, CRD_IN_OWN_GROUP):
        return CRD_IN_OWN_GROUP
    return Missing(_what_to_do(choice))


async def serves(client: KubeClient, profile: ApiProfile) -> bool:
    return await _answers(client, workloads(profile)) and await _answers(client, pod_groups(profile))


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
    return await _answers(client, PRIORITY_CLASSES)


async def _answers(client: KubeClient, resource: Resource) -> bool:
    try:
        await client.list(resource, params={"limit": "1"})
    except NotFound:
        return False
    except Forbidden:
        return True  # unknown, since rights are checked before paths; the missing right is told elsewhere
    return True


def _what_to_do(choice: str) -> str:
    native = (
        f"start it with --runtime-config={NATIVE.api_version}=true and "
        "--feature-gates=GenericWorkload=true,GangScheduling=true"
    )
    install = "run `muster crds install`"
    if choice == "scheduling.muster.dev":
        return f"the API server does not serve workloads of {CRD_IN_OWN_GROUP.api_version}: {install}"
    return f"the API server does not serve workloads of {NATIVE.api_version}: {native}, or {install}"
