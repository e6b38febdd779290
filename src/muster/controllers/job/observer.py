"""Observes one Job: reads its state from the API server or from the cache. It sends no write."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from muster.api.job import JobView
from muster.api.keys import JobKey, JobRef
from muster.api.v1alpha2.podgroup import PodGroup
from muster.api.v1alpha2.workload import Workload
from muster.controllers.cache import Cache
from muster.controllers.job.attempts import Attempts
from muster.controllers.job.job_reader import JobReader
from muster.controllers.job.pod_reader import PodReader
from muster.core.actions import (
    ConfirmPodGroup,
    ConfirmSuspended,
    Read,
    ReadEverything,
    ReadOwnPair,
    ReadStoredPodGroup,
    ReadWaitingPods,
)
from muster.core.naming import template_name, workload_name
from muster.core.observed import Observed, Proof, Replaced, ResizeNeeded, StoredPodGroup
from muster.core.ownership import (
    TRIED_NAMES,
    controls,
    describes,
    is_ours,
    own_group_name,
    template_for,
    workloads_of,
)
from muster.core.proof import cache_suffices, lasting_group
from muster.core.witness import CachedDecision, PodWitness, confirmed_by_group, confirmed_by_pod
from muster.kube.objects import PodGroups, Workloads


@dataclass(slots=True)
class Observer:
    """Reads what a decision asks for, from the cache and through the readers. Owns nothing; writes only to the cache.

    `core.proof` has the rules: which read is needed, when the cache is enough, and what a read proves.
    """

    cache: Cache
    jobs: JobReader
    pods: PodReader
    workloads: Workloads
    pod_groups: PodGroups
    attempts: Attempts
    draining: Callable[[], bool]
    """Called at each observation: a replica can notice `muster leave` while it works."""

    def cached(self, key: JobKey) -> Observed:
        """The cache's view. It proves nothing and sends no request."""
        return replace(self.cache.observe(key), draining=self.draining())

    def known(self, ref: JobRef) -> Observed:
        """What the cache shows of the Job. It can prove that an object exists, and never that one does not."""
        seen = self.cache.observe(ref.key)
        if not self.cache.has_synced or seen.job is None or seen.job.uid != ref.uid:
            return Observed(None)
        return seen

    async def read(self, read: Read, seen: Observed, ref: JobRef) -> Observed:
        """What was seen, with what this read shows and proves."""
        match read:
            case ReadEverything(by_name, preset):
                just_read = None if seen.proof.complete or self.jobs.cached(ref) else seen.job
                found = self.attempts.recall(await self.live(ref, by_name, just_read))
                found = await self._with_pod_group(found, ref, preset)
                return replace(found, form_only=seen.form_only, will_write=seen.will_write, replaced=seen.replaced)
            case ConfirmPodGroup(name, own):
                return await self._confirmed(seen, ref, name, own)
            case ReadOwnPair() if seen.job is not None:
                return await self.with_own_pair(seen, seen.job)
            case ConfirmSuspended():
                return await self._at_rest(seen, ref)
            case ReadStoredPodGroup(resize):
                return await self._with_stored(seen, resize)
            case ReadWaitingPods(name):
                return replace(seen, members_wait=await self.pods.wait(ref, name))
        return seen

    async def ask_witness(self, ref: JobRef, cached: CachedDecision) -> CachedDecision | None:
        """The cached decision, if its witness still confirms it."""
        if isinstance(cached.witness, PodWitness):
            return confirmed_by_pod(cached, await self.pods.named(ref, cached.witness.name))
        group = self.pod_groups.get(ref.key.namespace, cached.decision.group)
        return confirmed_by_group(cached, *await asyncio.gather(group, self.pods.recent(ref)))

    async def live(self, ref: JobRef, by_name: bool = False, job: JobView | None = None) -> Observed:
        """Everything read now: the Job, its pods, every Workload and PodGroup that could be its own.

        Where no stream has shown the Job, it is read first: if it is made up, that is the only request. `job` was read
        just now.
        """
        proof = Proof(complete=True, by_name=by_name)
        if job is None and self.jobs.cached(ref) is None:
            job = await self.jobs.look_up(ref)
            if job is None:
                return Observed(None, proof=proof)
        reads = self.pods.listed(ref), self.workloads.list_strangers(ref.key.namespace)
        if job is not None:
            pods, strangers = await asyncio.gather(*reads)
        else:
            job, pods, strangers = await asyncio.gather(self.jobs.read(ref), *reads)
        if job is None:
            return Observed(None, proof=proof)
        described = [workload for workload in strangers if describes(workload, job)]
        found = {w.metadata.name: w for w in (*described, *await self._own_workloads(job, described, by_name))}
        groups = await self._groups_of(job, workloads_of(job, found.values()), by_name)
        seen = Observed(job, tuple(found.values()), groups, pods, proof=proof, draining=self.draining())
        return await self._with_followed_group(seen, ref)

    async def _own_workloads(self, job: JobView, others: list[Workload], by_name: bool) -> list[Workload]:
        known = [w for w in self._cached_for(job).workloads if is_ours(w.metadata)]
        if cache_suffices(known, others, self.cache.has_synced, by_name):
            return known
        first = await self.workloads.get(job.key.namespace, workload_name(job.key.name, job.uid))
        return [first] if first is not None else []

    async def _groups_of(self, job: JobView, described_by: list[Workload], by_name: bool) -> tuple[PodGroup, ...]:
        """Those that the Job controls, also if their Workload is gone, and those made from one of the Workloads."""
        groups = [group for group in self._cached_for(job).pod_groups if controls(job, group.metadata)]
        if not cache_suffices((), described_by, self.cache.has_synced, by_name):
            names = {workload.metadata.name for workload in described_by}
            strangers = await self.pod_groups.list_strangers(job.key.namespace)
            others = [g for g in strangers if g.workload_name in names or controls(job, g.metadata)]
            groups += others
            for workload in described_by:
                groups += await self._own_pod_groups(job, workload, others, by_name)
        return tuple({group.metadata.name: group for group in groups}.values())

    async def _own_pod_groups(
        self, job: JobView, workload: Workload, others: list[PodGroup], by_name: bool
    ) -> list[PodGroup]:
        made = self.cache.pod_groups_of(workload) if self.cache.has_synced else ()
        known = [g for g in made if is_ours(g.metadata) and (not job.delegated or controls(job, g.metadata))]
        template, name = template_for(job, workload), workload.metadata.name
        if template is None or cache_suffices(known, others, self.cache.has_synced, by_name):
            return known
        first = await self.pod_groups.get(workload.metadata.namespace, own_group_name(job, name, template.name))
        return [first] if first is not None and first.workload_name == name else []

    def _cached_for(self, job: JobView) -> Observed:
        return self.cache.observe(job.key) if self.cache.has_synced else Observed(None)

    async def _confirmed(self, seen: Observed, ref: JobRef, group: str, own: bool) -> Observed:
        """With the pods listed after the PodGroup was first seen and, if it is Muster's own, that read now.

        It reads the Job last, because the answer to a pod requires that the Job still exists.
        """
        before = seen
        if not own:
            seen = replace(seen, pods=await self.pods.listed(ref))
        else:
            found = self.pod_groups.get(ref.key.namespace, group)
            pods, now = await asyncio.gather(self.pods.listed(ref), found)
            seen = replace(seen, job=await self.jobs.read(ref), pods=pods).with_pod_group(group, now)
        seen = await self._with_followed_group(seen, ref)
        return replace(seen, proof=seen.proof.after_read(group_uid=lasting_group(before, seen, group)))

    async def _at_rest(self, seen: Observed, ref: JobRef) -> Observed:
        """With the pods listed after the Job was seen suspended, and with the Job read after that."""
        pods = await self.pods.listed(ref)
        seen = replace(seen, job=await self.jobs.read(ref), pods=pods, proof=seen.proof.after_read(suspended=True))
        return await self._with_followed_group(seen, ref)

    async def with_own_pair(self, seen: Observed, job: JobView) -> Observed:
        """With the objects that Muster created for the Job: only a read by name proves that they do not exist."""
        described = workloads_of(job, seen.workloads)
        workloads = {workload.metadata.name: workload for workload in seen.workloads}
        groups = {group.metadata.name: group for group in seen.pod_groups}
        origins = {(w.metadata.name, t.name) for w in described if (t := template_for(job, w)) is not None}
        for nth in range(TRIED_NAMES):
            name = workload_name(job.key.name, job.uid, nth)
            origins.add((name, template_name(job.key.name)))
            found = await self.workloads.get(job.key.namespace, name)
            if found is None or workloads_of(job, [found]):
                workloads |= {name: found} if found is not None else {}
                break
        for group in await asyncio.gather(*(self._own_pod_group(job, *origin) for origin in origins)):
            groups |= {group.metadata.name: group} if group is not None else {}
        proof = seen.proof.after_read(own_pair_read=True)
        return replace(seen, workloads=tuple(workloads.values()), pod_groups=tuple(groups.values()), proof=proof)

    async def _own_pod_group(self, job: JobView, workload: str, template: str) -> PodGroup | None:
        for nth in range(TRIED_NAMES):
            group = await self.pod_groups.get(job.key.namespace, own_group_name(job, workload, template, nth))
            if group is None or controls(job, group.metadata):
                return group
        return None

    async def _with_stored(self, seen: Observed, resize: ResizeNeeded) -> Observed:
        """From the API server: the informer may be behind, and does not keep all fields."""
        metadata = resize.group.metadata
        found = await self.pod_groups.get_stored(metadata.namespace, metadata.name)
        if found is None:  # it was deleted, and the stream has shown that before: nothing else wakes Muster
            self.cache.drop_pod_group(metadata)
            return replace(seen.with_pod_group(metadata.name, None), replaced=Replaced(resize, None, by_us=False))
        now, raw = found
        stored = StoredPodGroup(metadata.name, raw, self.attempts.requested_size(now.metadata.uid))
        return replace(seen.with_pod_group(metadata.name, now), stored=stored)

    async def _with_followed_group(self, seen: Observed, ref: JobRef) -> Observed:
        """Add the group that running or pending pods name, if it exists."""
        return await self._with_pod_group(seen, ref, seen.pods.group if seen.pods else "")

    async def _with_pod_group(self, seen: Observed, ref: JobRef, name: str) -> Observed:
        if not name or seen.job is None or seen.pod_group(name) is not None:
            return seen
        group = await self.pod_groups.get(ref.key.namespace, name)
        return seen if group is None else replace(seen, pod_groups=(*seen.pod_groups, group))
