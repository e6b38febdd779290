"""What the watch streams and our own writes have shown so far. A cache may say "it is there"; it never proves absence.

Every entry carries a resourceVersion, and an older one never replaces a newer one: streams, re-lists and own writes
arrive in any order.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from muster.api.job import JobView
from muster.api.keys import JobKey, Uid
from muster.api.meta import ObjectMeta
from muster.api.podgroup import GangState, PodGroup
from muster.api.workload import Workload
from muster.core.observed import Observed

Item = TypeVar("Item", Workload, PodGroup)
Place = tuple[str, str]
"""Namespace and name."""


@dataclass(slots=True)
class _Shelf(Generic[Item]):
    """One kind of object, by place and by the keys that other objects know it under."""

    keys_of: Callable[[Item], Iterable[object]]
    items: dict[Place, Item] = field(default_factory=dict)
    index: defaultdict[object, set[Place]] = field(default_factory=lambda: defaultdict(set))

    def put(self, item: Item) -> bool:
        known = self.items.get(_place(item.metadata))
        if known is not None:
            if _is_older(item.metadata.resource_version, known.metadata.resource_version):
                return False
            self.drop(known.metadata)
        self.items[_place(item.metadata)] = item
        for key in self.keys_of(item):
            self.index[key].add(_place(item.metadata))
        return known is None or _identity(known.metadata) != _identity(item.metadata)

    def drop(self, metadata: ObjectMeta) -> bool:
        place = _place(metadata)
        known = self.items.get(place)
        if known is None or known.metadata.uid != metadata.uid:
            return False
        del self.items[place]
        for key in self.keys_of(known):
            self.index[key].discard(place)
            if not self.index[key]:
                del self.index[key]
        return True

    def find(self, key: object) -> tuple[Item, ...]:
        return tuple(self.items[place] for place in sorted(self.index.get(key, ())))


@dataclass(slots=True)
class Cache:
    trusted: bool = False
    """The streams are up and everything has been listed: what is here was really there a moment ago."""
    jobs: dict[JobKey, JobView] = field(default_factory=dict)
    gangs: Counter[GangState] = field(default_factory=Counter)
    """How many PodGroups of Jobs are in which state."""
    _workloads: _Shelf[Workload] = field(default_factory=lambda: _Shelf(_workload_keys))
    _pod_groups: _Shelf[PodGroup] = field(default_factory=lambda: _Shelf(_pod_group_keys))

    def observe(self, key: JobKey) -> Observed:
        """All that is known about a Job, its pods aside: those are read live."""
        job = self.jobs.get(key)
        workloads = self._workloads.find(key)
        groups = {g.metadata.name: g for workload in workloads for g in self.pod_groups_of(workload)}
        if job is not None:
            groups |= {g.metadata.name: g for g in self._pod_groups.find(job.uid)}
        return Observed(job, workloads, tuple(groups.values()))

    def pod_group(self, namespace: str, name: str) -> PodGroup | None:
        return self._pod_groups.items.get((namespace, name))

    def every_pod_group(self) -> tuple[PodGroup, ...]:
        return tuple(self._pod_groups.items.values())

    def pod_groups_of(self, workload: Workload) -> tuple[PodGroup, ...]:
        return self._pod_groups.find(_place(workload.metadata))

    def put_job(self, job: JobView) -> bool:
        """True if anything changed that a decision looks at."""
        known = self.jobs.get(job.key)
        if known is not None and _is_older(job.resource_version, known.resource_version):
            return False
        self.jobs[job.key] = job
        return known != job

    def drop_job(self, key: JobKey, uid: Uid) -> bool:
        known = self.jobs.get(key)
        if known is None or known.uid != uid:
            return False
        del self.jobs[key]
        return True

    def put_workload(self, workload: Workload) -> bool:
        """True if it appeared, or began to vanish: nothing else about it ever changes."""
        return self._workloads.put(workload)

    def drop_workload(self, metadata: ObjectMeta) -> bool:
        return self._workloads.drop(metadata)

    def put_pod_group(self, group: PodGroup) -> bool:
        """Likewise. The scheduler's reports in its status change nothing for the Job."""
        place = _place(group.metadata)
        before = self._pod_groups.items.get(place)
        changed = self._pod_groups.put(group)
        self._count(before, self._pod_groups.items.get(place))
        return changed

    def drop_pod_group(self, metadata: ObjectMeta) -> bool:
        before = self._pod_groups.items.get(_place(metadata))
        dropped = self._pod_groups.drop(metadata)
        self._count(before, self._pod_groups.items.get(_place(metadata)))
        return dropped

    def _count(self, before: PodGroup | None, after: PodGroup | None) -> None:
        for group, change in ((before, -1), (after, 1)):
            if group is not None and (owner := group.metadata.controller) is not None and owner.is_job:
                self.gangs[group.state] += change

    def jobs_of(self, thing: Workload | PodGroup) -> set[JobKey]:
        """The Jobs that a change of the object concerns."""
        namespace = thing.metadata.namespace
        keys = set()
        owner = thing.metadata.controller
        if owner is not None and owner.is_job:
            keys.add(JobKey(namespace, owner.name))
        if isinstance(thing, Workload):
            described = thing.job_key
        else:
            workload = self._workloads.items.get((namespace, thing.workload_name))
            described = workload.job_key if workload else None
        return keys | ({described} if described else set())

    def forget_except(
        self, jobs: set[Uid], workloads: set[Uid], pod_groups: set[Uid], listed_at: tuple[str, str, str]
    ) -> set[JobKey]:
        """Drop what a full list, made at these revisions, no longer shows; the Jobs that this concerns."""
        concerned: set[JobKey] = set()
        for job in [
            j for j in self.jobs.values() if j.uid not in jobs and not _is_older(listed_at[0], j.resource_version)
        ]:
            self.drop_job(job.key, job.uid)
            concerned.add(job.key)
        for workload in self._unlisted(self._workloads, workloads, listed_at[1]):
            concerned |= self.jobs_of(workload)
            self.drop_workload(workload.metadata)
        for group in self._unlisted(self._pod_groups, pod_groups, listed_at[2]):
            concerned |= self.jobs_of(group)
            self.drop_pod_group(group.metadata)
        return concerned

    @staticmethod
    def _unlisted(shelf: _Shelf[Item], listed: set[Uid], listed_at: str) -> list[Item]:
        return [
            item
            for item in shelf.items.values()
            if item.metadata.uid not in listed and not _is_older(listed_at, item.metadata.resource_version)
        ]


def _place(metadata: ObjectMeta) -> Place:
    return metadata.namespace, metadata.name


def _identity(metadata: ObjectMeta) -> tuple[Uid, bool]:
    return metadata.uid, metadata.deletion_timestamp is not None


def _workload_keys(workload: Workload) -> list[object]:
    return [workload.job_key] if workload.job_key else []


def _pod_group_keys(group: PodGroup) -> list[object]:
    owner = group.metadata.controller
    return [(group.metadata.namespace, group.workload_name), *([owner.uid] if owner else [])]


def _is_older(version: str, than: str) -> bool:
    """Resource versions of one server are comparable numbers; what is not a number is taken as it comes."""
    return version.isdecimal() and than.isdecimal() and int(version) < int(than)
