"""The cache of what watch streams and Muster's own writes have shown. An object in it existed; absence proves nothing.

Every entry has a resourceVersion, and an older one never replaces a newer one, because streams, re-lists and own writes
arrive in any order. The exception is a cluster whose etcd was restored from a backup: its resourceVersions start again
at a lower number, so that all cached entries look newer than the real ones. A consistent list shows this: its
resourceVersion is at least that of everything seen before the request. If it is lower, history was rewound, and the
list replaces all cached objects of its kind (`rewound`).

An object that a stream showed as deleted is never added again, since its UID is never reused (`for_good`). A late
answer that still shows it is ignored: nothing would ever remove that entry, and a Job would wait forever for the end of
a PodGroup that is gone. A 404 is a weaker proof, since an API server that is starting may return it for a while.

Workloads and PodGroups are kept as JSON bytes and parsed on use: as models they need ten times the memory, and a
cluster has two of them for every gang.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from muster.api.job import JobView
from muster.api.keys import JobKey, ObjectKey, Uid
from muster.api.meta import ObjectMeta
from muster.api.v1alpha2.podgroup import GangState, PodGroup
from muster.api.v1alpha2.workload import Workload
from muster.core.observed import Observed
from muster.runtime.ttl_cache import TtlCache

Item = TypeVar("Item", Workload, PodGroup)
CachedObject = JobView | Workload | PodGroup
GONE_SECONDS = 600.0
"""No answer takes longer than this to arrive."""


class _Entry(NamedTuple):
    uid: Uid
    version: str
    ending: bool
    packed: bytes


@dataclass(slots=True)
class _Shelf(Generic[Item]):
    """The objects of one kind, by namespace and name, and by the keys under which other objects refer to them."""

    model: type[Item]
    keys_of: Callable[[Item], list[object]]
    entries: dict[ObjectKey, _Entry] = field(default_factory=dict)
    index: dict[object, list[ObjectKey]] = field(default_factory=dict)
    gone: TtlCache[Uid, bool] = field(default_factory=lambda: TtlCache(GONE_SECONDS))

    def get(self, at: ObjectKey) -> Item | None:
        entry = self.entries.get(at)
        return None if entry is None else self.model.model_validate_json(entry.packed)

    def put(self, item: Item) -> bool:
        metadata, at = item.metadata, key_of(item.metadata)
        if self.gone.recall(metadata.uid):
            return False
        entry = _Entry(
            metadata.uid,
            metadata.resource_version,
            metadata.deletion_timestamp is not None,
            item.model_dump_json(by_alias=True, exclude_none=True, exclude_unset=True).encode(),
        )
        known = self.entries.get(at)
        if known is not None:
            if _is_older(entry.version, known.version):
                return False
            self._remove(at)
        self.entries[at] = entry
        for key in self.keys_of(item):
            self.index.setdefault(key, []).append(at)
        return known is None or (known.uid, known.ending) != (entry.uid, entry.ending)

    def drop(self, metadata: ObjectMeta, for_good: bool) -> bool:
        if for_good:
            self.gone.remember(metadata.uid, True)
        known = self.entries.get(key_of(metadata))
        if known is None or known.uid != metadata.uid:
            return False
        self._remove(key_of(metadata))
        return True

    def _remove(self, at: ObjectKey) -> None:
        known = self.get(at)
        if known is None:
            return
        del self.entries[at]
        for key in self.keys_of(known):
            self.index[key].remove(at)
            if not self.index[key]:
                del self.index[key]

    def find(self, key: object) -> tuple[Item, ...]:
        found = (self.get(at) for at in sorted(self.index.get(key, ())))
        return tuple(item for item in found if item is not None)

    def unlisted(self, listed: set[Uid], listed_at: str) -> list[Item]:
        """The objects that are missing in a full list of this resourceVersion."""
        gone = [
            at
            for at, entry in self.entries.items()
            if entry.uid not in listed and not _is_older(listed_at, entry.version)
        ]
        found = (self.get(at) for at in gone)
        return [item for item in found if item is not None]


@dataclass(slots=True)
class Cache:
    """The Jobs, Workloads and PodGroups that this replica has seen.

    Owns these objects, the number of gangs in each state and the newest revision of each kind. The intake writes it.
    `kube.objects` and `JobReader` write what the API server answers. Controllers, webhooks and the resync read it. It
    sends no request.
    """

    _has_synced: bool = False
    jobs: dict[JobKey, JobView] = field(default_factory=dict)
    gangs: Counter[GangState] = field(default_factory=Counter)
    """The number of PodGroups of Jobs in each state."""
    newest: Counter[type[CachedObject]] = field(default_factory=Counter)
    """The newest resourceVersion of each kind that was seen."""
    _gone_jobs: TtlCache[Uid, bool] = field(default_factory=lambda: TtlCache(GONE_SECONDS))
    _workloads: _Shelf[Workload] = field(default_factory=lambda: _Shelf(Workload, _workload_keys))
    _pod_groups: _Shelf[PodGroup] = field(default_factory=lambda: _Shelf(PodGroup, _pod_group_keys))

    @property
    def has_synced(self) -> bool:
        """The streams are up and everything was listed: the cached objects existed a moment ago."""
        return self._has_synced

    def mark_synced(self, has_synced: bool) -> None:
        """The watching thread calls this when its streams are up, and when they end."""
        self._has_synced = has_synced

    def observe(self, key: JobKey) -> Observed:
        """Everything known about a Job except its pods, which are read live."""
        job = self.jobs.get(key)
        workloads = self._workloads.find(key)
        groups = {g.metadata.name: g for workload in workloads for g in self.pod_groups_of(workload)}
        if job is not None:
            groups |= {g.metadata.name: g for g in self._pod_groups.find(job.uid)}
        return Observed(job, workloads, tuple(groups.values()))

    def pod_group(self, namespace: str, name: str) -> PodGroup | None:
        return self._pod_groups.get((namespace, name))

    def every_pod_group(self) -> Iterator[PodGroup]:
        """All PodGroups, one at a time. The cache may change in the meantime."""
        for at in list(self._pod_groups.entries):
            if (group := self._pod_groups.get(at)) is not None:
                yield group

    def pod_groups_of(self, workload: Workload) -> tuple[PodGroup, ...]:
        return self._pod_groups.find(key_of(workload.metadata))

    def put_job(self, job: JobView) -> bool:
        """True if a field changed that a decision depends on."""
        known = self.jobs.get(job.key)
        if self._gone_jobs.recall(job.uid):
            return False
        if known is not None and _is_older(job.resource_version, known.resource_version):
            return False
        self.jobs[job.key] = job
        self._saw(JobView, job.resource_version)
        return known != job

    def drop_job(self, key: JobKey, uid: Uid, for_good: bool = False) -> bool:
        if for_good:
            self._gone_jobs.remember(uid, True)
        known = self.jobs.get(key)
        if known is None or known.uid != uid:
            return False
        del self.jobs[key]
        return True

    def put_workload(self, workload: Workload) -> bool:
        """True if the Workload is new or is being deleted now. Nothing else about it ever changes."""
        self._saw(Workload, workload.metadata.resource_version)
        return self._workloads.put(workload)

    def drop_workload(self, metadata: ObjectMeta, for_good: bool = False) -> bool:
        return self._workloads.drop(metadata, for_good)

    def put_pod_group(self, group: PodGroup) -> bool:
        """True if the PodGroup is new or is being deleted now. Its status does not matter for the Job."""
        at = key_of(group.metadata)
        self._saw(PodGroup, group.metadata.resource_version)
        before = self._pod_groups.get(at)
        changed = self._pod_groups.put(group)
        self._count(before, self._pod_groups.get(at))
        return changed

    def drop_pod_group(self, metadata: ObjectMeta, for_good: bool = False) -> bool:
        before = self._pod_groups.get(key_of(metadata))
        dropped = self._pod_groups.drop(metadata, for_good)
        self._count(before, self._pod_groups.get(key_of(metadata)))
        return dropped

    def _count(self, before: PodGroup | None, after: PodGroup | None) -> None:
        for group, change in ((before, -1), (after, 1)):
            if group is not None and (owner := group.metadata.controller) is not None and owner.is_job:
                self.gangs[group.state] += change

    def jobs_of(self, thing: Workload | PodGroup) -> set[JobKey]:
        """The Jobs that a change of the object affects."""
        namespace = thing.metadata.namespace
        keys = set()
        owner = thing.metadata.controller
        if owner is not None and owner.is_job:
            keys.add(JobKey(namespace, owner.name))
        if isinstance(thing, Workload):
            described = thing.job_key
        else:
            workload = self._workloads.get((namespace, thing.workload_name))
            described = workload.job_key if workload else None
        return keys | ({described} if described else set())

    def unlisted(self, kind: type[CachedObject], listed: set[Uid], listed_at: str) -> Sequence[CachedObject]:
        """The objects of this kind that a full list of this resourceVersion does not contain."""
        if kind is JobView:
            return [
                job
                for job in self.jobs.values()
                if job.uid not in listed and not _is_older(listed_at, job.resource_version)
            ]
        return (self._workloads if kind is Workload else self._pod_groups).unlisted(listed, listed_at)

    def rewound(self, kind: type[CachedObject], listed_at: str, newest: int) -> bool:
        """True if a consistent list is older than what was seen of its kind before the request.

        All objects of the kind are then dropped, and the list adds them again.
        """
        if not listed_at.isdecimal() or int(listed_at) >= newest:
            return False
        self.newest[kind] = int(listed_at)
        if kind is JobView:
            self.jobs.clear()
            self._gone_jobs = TtlCache(GONE_SECONDS)
        elif kind is Workload:
            self._workloads = _Shelf(Workload, _workload_keys)
        else:
            self._pod_groups = _Shelf(PodGroup, _pod_group_keys)
            self.gangs.clear()
        return True

    def _saw(self, kind: type[CachedObject], version: str) -> None:
        if version.isdecimal():
            self.newest[kind] = max(self.newest[kind], int(version))


def key_of(metadata: ObjectMeta) -> ObjectKey:
    return metadata.namespace, metadata.name


def _workload_keys(workload: Workload) -> list[object]:
    return [workload.job_key] if workload.job_key else []


def _pod_group_keys(group: PodGroup) -> list[object]:
    owner = group.metadata.controller
    return [(group.metadata.namespace, group.workload_name), *([owner.uid] if owner else [])]


def _is_older(version: str, than: str) -> bool:
    """resourceVersions of one server are comparable numbers. One that is not a number is never older."""
    return version.isdecimal() and than.isdecimal() and int(version) < int(than)
