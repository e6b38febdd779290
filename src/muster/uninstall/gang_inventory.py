"""A look at all gangs of the cluster, for who is about to take the pod webhook away. Reads only."""

from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass

from muster.api.job import JobView
from muster.api.keys import JobKey, Uid
from muster.api.meta import MANAGED_BY, MANAGED_BY_LABEL, controller_of
from muster.api.pod import CONTROLLER_UID_LABEL, PodView
from muster.api.profile import CRD_IN_KUBERNETES_GROUP, CRD_IN_OWN_GROUP
from muster.api.wire import Unreadable, mapping, text
from muster.core.drain import Member, Unfinished, is_split, unfinished
from muster.kube.client import KubeClient, Object, every_item
from muster.kube.errors import NotFound
from muster.kube.resources import JOBS, PODS, Resource, pod_groups

OURS = {"labelSelector": f"{MANAGED_BY_LABEL}={MANAGED_BY}"}
OF_JOBS = {"labelSelector": CONTROLLER_UID_LABEL}


@dataclass(frozen=True, slots=True)
class GangInventory:
    unfinished: tuple[Unfinished, ...] = ()
    split: tuple[JobKey, ...] = ()


async def take_inventory(client: KubeClient) -> GangInventory:
    """The pods come last: those that arrive meanwhile count."""
    formed = await _jobs_with_a_group(client)
    jobs = await _jobs(client)
    pods = await _pods(client)
    lacking = [unfinished(job, job.uid in formed, pods[job.uid]) for job in jobs]
    return GangInventory(
        unfinished=tuple(each for each in lacking if each is not None),
        split=tuple(job.key for job in jobs if is_split(job, pods[job.uid])),
    )


async def _jobs_with_a_group(client: KubeClient) -> set[Uid]:
    """By the PodGroups that Muster made, in whichever group they are: built in, or its own CRDs."""
    found = set[Uid]()
    for profile in (CRD_IN_KUBERNETES_GROUP, CRD_IN_OWN_GROUP):
        with suppress(NotFound):
            async for raw in _every(client, pod_groups(profile), OURS):
                with suppress(Unreadable):
                    owner = controller_of(mapping(raw, "metadata"))
                    found |= {owner.uid} if owner is not None else set()
    return found


async def _jobs(client: KubeClient) -> list[JobView]:
    found = []
    async for raw in _every(client, JOBS):
        with suppress(Unreadable):
            found.append(JobView.parse(raw))
    return found


async def _pods(client: KubeClient) -> defaultdict[Uid, list[Member]]:
    found: defaultdict[Uid, list[Member]] = defaultdict(list)
    async for raw in _every(client, PODS, OF_JOBS):
        with suppress(Unreadable):
            pod = PodView.parse(raw)
            if pod.job is not None:
                found[pod.job.uid].append(_member(pod, raw))
    return found


def _member(pod: PodView, raw: Object) -> Member:
    return Member(
        group=pod.group or pod.annotated_group,
        lives=pod.live and not text(mapping(raw, "metadata"), "deletionTimestamp"),
        succeeded=text(mapping(raw, "status"), "phase") == "Succeeded",
        bound=pod.bound,
    )


def _every(client: KubeClient, resource: Resource, selector: dict[str, str] | None = None) -> AsyncIterator[Object]:
    return every_item(client, resource, params=selector)
