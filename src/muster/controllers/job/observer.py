"""Observation: what the API server says about one Job right now. Reads only."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field, replace

from muster.api.job import JobView
from muster.api.keys import JobRef
from muster.api.meta import MANAGED_BY, MANAGED_BY_LABEL
from muster.api.pod import CONTROLLER_UID_LABEL, PodView
from muster.api.profile import ApiProfile
from muster.api.v1alpha2.podgroup import PodGroup
from muster.api.v1alpha2.workload import Workload
from muster.api.wire import Unreadable, mapping
from muster.controllers.job.lookup import Lookup
from muster.controllers.store import Cache
from muster.core.decide import own_pod_group
from muster.core.naming import template_name, workload_name
from muster.core.observed import NO_PODS, Observed, Pods
from muster.core.ownership import (
    TRIED_NAMES,
    controls,
    describes,
    is_ours,
    own_group_name,
    template_for,
    workloads_of,
)
from muster.kube.client import KubeClient, every_item
from muster.kube.errors import NotFound
from muster.kube.resources import JOBS, PODS, pod_groups, workloads

STRANGERS = {"labelSelector": f"{MANAGED_BY_LABEL}!={MANAGED_BY}"}
"""Objects that somebody else made. Ours are many, and found by name; these are few, so that listing them is cheap."""

LIVE = "status.phase!=Succeeded,status.phase!=Failed"
_UNBOUND = f"{LIVE},spec.nodeName="
_ONE_PAGE = {"limit": "20"}


@dataclass(slots=True)
class Observer:
    client: KubeClient
    profile: ApiProfile
    cache: Cache
    lookup: Lookup = field(init=False)

    def __post_init__(self) -> None:
        self.lookup = Lookup(self.job)

    def has_seen(self, ref: JobRef) -> bool:
        """A watch stream or a list has shown this very Job, be it a while ago: nobody made it up."""
        job = self.cache.jobs.get(ref.key)
        return job is not None and job.uid == ref.uid

    def known(self, ref: JobRef) -> Observed:
        """The cache's word on the Job, which may only say that something is there. Costs no request."""
        seen = self.cache.observe(ref.key)
        if not self.cache.has_synced or seen.job is None or seen.job.uid != ref.uid:
            return Observed(None)
        return seen

    async def exists(self, ref: JobRef) -> bool:
        """Costs a request only where the cache does not know that very Job."""
        return await self.find_job(ref) is not None

    async def find_job(self, ref: JobRef) -> JobView | None:
        """The Job with that UID: as the cache knows it, else by one request."""
        return self.known(ref).job or await self.job(ref)

    async def confirmed(self, seen: Observed, ref: JobRef, group: str) -> Observed:
        """With the pods listed after the PodGroup was first seen and, if it is Muster's own, that read now.

        If it still is the same object (by UID), then it has been there all the time, also when the pods were listed.
        The Job comes last: that it is still there is what a pod waits for, and a list takes a while.
        """
        own_group = own_pod_group(seen)
        if own_group is None or own_group.metadata.name != group:
            return await self._with_followed_group(replace(seen, pods=await self.pods(ref)), ref)
        pods, found = await asyncio.gather(self.pods(ref), self.pod_group(ref.key.namespace, group))
        job = await self.job(ref)
        others = tuple(other for other in seen.pod_groups if other.metadata.name != group)
        groups = (*others, found) if found is not None else others
        return await self._with_followed_group(replace(seen, job=job, pods=pods, pod_groups=groups), ref)

    async def at_rest(self, seen: Observed, ref: JobRef) -> Observed:
        """With the pods listed after the Job was seen suspended, and with the Job read after that."""
        pods = await self.pods(ref)
        return await self._with_followed_group(replace(seen, job=await self.job(ref), pods=pods), ref)

    async def with_own_pair(self, seen: Observed, job: JobView) -> Observed:
        """With what Muster has made for the Job, read by its names: nothing less proves that there is none."""
        namespace, described = job.key.namespace, workloads_of(job, seen.workloads)
        workloads = {workload.metadata.name: workload for workload in seen.workloads}
        groups = {group.metadata.name: group for group in seen.pod_groups}
        origins = {(w.metadata.name, t.name) for w in described if (t := template_for(job, w)) is not None}
        for nth in range(TRIED_NAMES):
            name = workload_name(job.key.name, job.uid, nth)
            origins.add((name, template_name(job.key.name)))
            found = await self.workload(namespace, name)
            if found is None or workloads_of(job, [found]):
                workloads |= {name: found} if found is not None else {}
                break
        for group in await asyncio.gather(*(self._own_pod_group(job, *origin) for origin in origins)):
            groups |= {group.metadata.name: group} if group is not None else {}
        return replace(seen, workloads=tuple(workloads.values()), pod_groups=tuple(groups.values()))

    async def _own_pod_group(self, job: JobView, workload: str, template: str) -> PodGroup | None:
        for nth in range(TRIED_NAMES):
            group = await self.pod_group(job.key.namespace, own_group_name(job, workload, template, nth))
            if group is None or controls(job, group.metadata):
                return group
        return None

    async def live(self, ref: JobRef, thorough: bool = False, job: JobView | None = None) -> Observed:
        """Everything read now: the Job, its pods, every Workload and PodGroup that could be its own.

        Our own objects come from a trusted cache: if it lags, creating them answers AlreadyExists. Who will not create
        (a dry run, the guard, or anybody who finds a stranger's) has to read them too.

        `job` was read just now. Where nobody has seen the Job it is read first: if it is made up, that is all.
        """
        if job is None and not self.has_seen(ref):
            job = await self.lookup.find(ref)
            if job is None:
                return Observed(None)
        if job is not None:
            pods, strangers = await asyncio.gather(self.pods(ref), self._strange_workloads(ref))
        else:
            job, pods, strangers = await asyncio.gather(self.job(ref), self.pods(ref), self._strange_workloads(ref))
        if job is None:
            return Observed(None)
        by_name = thorough or not self.cache.has_synced
        described = [workload for workload in strangers if describes(workload, job)]
        own = await self._own_workloads(job, by_name or bool(described))
        found = {w.metadata.name: w for w in (*described, *own)}
        chosen = workloads_of(job, found.values())
        groups = [*self._known_groups_of(job), *await self._groups_of(job, chosen, by_name)]
        unique = {group.metadata.name: group for group in groups}
        seen = Observed(job, tuple(found.values()), tuple(unique.values()), pods)
        return await self._with_followed_group(seen, ref)

    async def pods(self, ref: JobRef) -> Pods:
        """Live, and cheap for a Job of any size: one living pod speaks for all, since membership is sticky.

        The API server makes sure that it has seen the newest revision before it answers, which takes it up to 100 ms.
        Nothing less proves that there are no pods; `recent_pods` is for those who only look for one.
        """
        first = await self._first_pod(ref, _ONE_PAGE)
        if first is None or first.live:
            return self._pods(first)
        return self._pods(await self._first_pod(ref, {**_ONE_PAGE, "fieldSelector": LIVE}) or first)

    async def recent_pods(self, ref: JobRef) -> Pods:
        """What the API server has in memory: at once, and possibly some milliseconds old."""
        return self._pods(await self._first_pod(ref, {"fieldSelector": LIVE, "resourceVersion": "0"}))

    async def pod(self, ref: JobRef, name: str) -> Pods:
        """One pod of the Job, as it is now."""
        try:
            pod = PodView.parse(await self.client.get(PODS, ref.key.namespace, name))
        except NotFound:
            return NO_PODS
        return self._pods(pod) if pod.job == ref else NO_PODS

    async def waits(self, ref: JobRef, group: str) -> bool:
        """Is any of the Job's living pods in the group without a node? Only those without one are listed."""
        query = {"labelSelector": f"{CONTROLLER_UID_LABEL}={ref.uid}", "fieldSelector": _UNBOUND, **_ONE_PAGE}
        async for raw in every_item(self.client, PODS, ref.key.namespace, query):
            pod = PodView.parse(raw)
            leaves = mapping(raw, "metadata").get("deletionTimestamp") is not None
            if pod.job == ref and not leaves and self.profile.group_of(pod) == group:
                return True
        return False

    async def pod_group(self, namespace: str, name: str) -> PodGroup | None:
        try:
            raw = await self.client.get(pod_groups(self.profile), namespace, name)
        except NotFound:
            return None
        group = self.profile.read_pod_group(raw)
        self.cache.put_pod_group(group)
        return group

    async def workload(self, namespace: str, name: str) -> Workload | None:
        try:
            raw = await self.client.get(workloads(self.profile), namespace, name)
        except NotFound:
            return None
        workload = self.profile.read_workload(raw)
        self.cache.put_workload(workload)
        return workload

    def _pods(self, first: PodView | None) -> Pods:
        if first is None:
            return NO_PODS
        if not first.live:
            return Pods(exist=True, live=False)
        return Pods(exist=True, live=True, group=self.profile.group_of(first), name=first.name)

    async def job(self, ref: JobRef) -> JobView | None:
        try:
            job = JobView.parse(await self.client.get(JOBS, ref.key.namespace, ref.key.name))
        except NotFound:
            return None
        return job if job.uid == ref.uid else None

    async def _first_pod(self, ref: JobRef, selector: dict[str, str]) -> PodView | None:
        # A label is no proof of ownership: pods that only claim to be the Job's are passed over.
        params = {"labelSelector": f"{CONTROLLER_UID_LABEL}={ref.uid}", **selector}
        async for raw in every_item(self.client, PODS, ref.key.namespace, params):
            pod = PodView.parse(raw)
            if pod.job == ref:
                return pod
        return None

    async def _strange_workloads(self, ref: JobRef) -> list[Workload]:
        found = []
        async for raw in every_item(self.client, workloads(self.profile), ref.key.namespace, STRANGERS):
            with suppress(Unreadable):
                found.append(self.profile.read_workload(raw))
        return found

    async def _own_workloads(self, job: JobView, by_name: bool) -> list[Workload]:
        known = (
            [w for w in self.cache.observe(job.key).workloads if is_ours(w.metadata)] if self.cache.has_synced else []
        )
        if known or not by_name:
            return known
        first = await self.workload(job.key.namespace, workload_name(job.key.name, job.uid))
        return [first] if first is not None else []

    def _known_groups_of(self, job: JobView) -> list[PodGroup]:
        """PodGroups that the Job controls, as far as the cache knows, also such whose Workload is gone."""
        known = self.cache.observe(job.key).pod_groups if self.cache.has_synced else ()
        return [group for group in known if controls(job, group.metadata)]

    async def _groups_of(self, job: JobView, described_by: list[Workload], by_name: bool) -> list[PodGroup]:
        """Those made from one of the Workloads, and those that the Job controls without any (somebody made them so)."""
        if not described_by and not by_name:
            return []
        names = {workload.metadata.name for workload in described_by}
        found = [
            g for g in await self._strange_pod_groups(job) if g.workload_name in names or controls(job, g.metadata)
        ]
        for workload in described_by:
            found += await self._own_pod_groups(job, workload, by_name or bool(found))
        return found

    async def _strange_pod_groups(self, job: JobView) -> list[PodGroup]:
        found = []
        async for raw in every_item(self.client, pod_groups(self.profile), job.key.namespace, STRANGERS):
            with suppress(Unreadable):
                found.append(self.profile.read_pod_group(raw))
        return found

    async def _own_pod_groups(self, job: JobView, workload: Workload, by_name: bool) -> list[PodGroup]:
        made = self.cache.pod_groups_of(workload) if self.cache.has_synced else ()
        known = [g for g in made if is_ours(g.metadata) and (not job.delegated or controls(job, g.metadata))]
        template = template_for(job, workload)
        if known or not by_name or template is None:
            return known
        name = workload.metadata.name
        first_name = own_group_name(job, name, template.name)
        first = await self.pod_group(workload.metadata.namespace, first_name)
        return [first] if first is not None and first.workload_name == name else []

    async def _with_followed_group(self, seen: Observed, ref: JobRef) -> Observed:
        """Make sure that the group which living pods name is among what was seen, if it exists."""
        name = seen.pods.group if seen.pods else ""
        if not name or any(group.metadata.name == name for group in seen.pod_groups):
            return seen
        group = await self.pod_group(ref.key.namespace, name)
        return seen if group is None else replace(seen, pod_groups=(*seen.pod_groups, group))
