"""Lists all gangs of the cluster, before the pod webhook is removed. It only reads."""

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from muster.api.job import JobView
from muster.api.keys import JobKey, Uid
from muster.api.meta import MANAGED_BY, MANAGED_BY_LABEL, controller_of
from muster.api.pod import CONTROLLER_UID_LABEL, PodView
from muster.api.profile import CRD_IN_KUBERNETES_GROUP, CRD_IN_OWN_GROUP
from muster.api.v1alpha2.podgroup import PodGroup
from muster.api.wire import Unreadable, mapping, text
from muster.core.drain import JobPod, Unfinished, unfinished
from muster.core.split import is_split, sides_of
from muster.kube.client import KubeClient, Object, every_item
from muster.kube.errors import NotFound
from muster.kube.resources import JOBS, PODS, Resource, pod_groups

OURS = {"labelSelector": f"{MANAGED_BY_LABEL}={MANAGED_BY}"}
OF_JOBS = {"labelSelector": CONTROLLER_UID_LABEL}


FormedGroups = dict[Uid, list[PodGroup]]


@dataclass(frozen=True, slots=True)
class GangInventory:
    unfinished: tuple[Unfinished, ...] = ()
    split: tuple[JobKey, ...] = ()


async def take_inventory(client: KubeClient) -> GangInventory:
    """Lists the pods last, so that pods created in the meantime count."""
    formed = await _pod_groups(client)
    jobs = await _jobs(client)
    pods = await _pods(client)
    lacking = [unfinished(job, job.uid in formed, pods[job.uid]) for job in jobs]
    return GangInventory(
        unfinished=tuple(each for each in lacking if each is not None),
        split=tuple(job.key for job in jobs if _is_split(job, formed, pods[job.uid])),
    )


def _is_split(job: JobView, formed: FormedGroups, pods: Sequence[JobPod]) -> bool:
    return any(is_split(job, group, sides_of(pods)) for group in formed.get(job.uid, ()))


async def _pod_groups(client: KubeClient) -> FormedGroups:
    """Muster's PodGroups, built in or of its CRDs, by the UID of their Job."""
    found: FormedGroups = {}
    for profile in (CRD_IN_KUBERNETES_GROUP, CRD_IN_OWN_GROUP):
        with suppress(NotFound):
            async for raw in _every(client, pod_groups(profile), OURS):
                with suppress(Unreadable):
                    if (owner := controller_of(mapping(raw, "metadata"))) is not None:
                        groups = found.setdefault(owner.uid, [])
                        groups.append(profile.read_pod_group(raw))
    return found


async def _jobs(client: KubeClient) -> list[JobView]:
    found = []
    async for raw in _every(client, JOBS):
        with suppress(Unreadable):
            found.append(JobView.parse(raw))
    return found


async def _pods(client: KubeClient) -> defaultdict[Uid, list[JobPod]]:
    found: defaultdict[Uid, list[JobPod]] = defaultdict(list)
    async for raw in _every(client, PODS, OF_JOBS):
        with suppress(Unreadable):
            pod = PodView.parse(raw)
            if pod.job is not None:
                found[pod.job.uid].append(_job_pod(pod, raw))
    return found


def _job_pod(pod: PodView, raw: Object) -> JobPod:
    return JobPod(
        group=pod.group or pod.annotated_group,
        lives=pod.live and not text(mapping(raw, "metadata"), "deletionTimestamp"),
        succeeded=text(mapping(raw, "status"), "phase") == "Succeeded",
        bound=pod.bound,
    )


def _every(client: KubeClient, resource: Resource, selector: dict[str, str] | None = None) -> AsyncIterator[Object]:
    return every_item(client, resource, params=selector)
