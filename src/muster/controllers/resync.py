"""Has a stream lost something? Everything is listed now and then, and what differs is queued."""

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from muster.api.job import JobView
from muster.api.keys import JobKey, ObjectKey, Uid
from muster.api.v1alpha2.podgroup import PodGroup
from muster.api.v1alpha2.workload import Workload
from muster.api.wire import Unreadable
from muster.controllers.job.observer import Observer
from muster.controllers.store import Kind
from muster.core.decide import Rules, decide
from muster.core.resize import resize_needed
from muster.kube.client import Object, pages
from muster.kube.errors import KubeError
from muster.kube.resources import JOBS, Resource, pod_groups, workloads
from muster.runtime.event_recorder import EventRecorder
from muster.runtime.health import API, Health
from muster.runtime.internal_errors import InternalErrors, name_of, uid_of
from muster.runtime.metrics import Metrics
from muster.runtime.tasks import Task
from muster.runtime.workqueue import WorkQueue

logger = logging.getLogger(__name__)

SLICE = 20
"""Jobs that are decided on in one go. One that asks for something new takes up to a millisecond."""
SOON_SECONDS = 1.0
"""How soon to try again after a resync that failed."""


@dataclass(slots=True)
class Resync:
    """Lists everything with our own client, so that liveness never rests on a watch."""

    observer: Observer
    queue: WorkQueue[JobKey]
    rules: Rules
    every_seconds: float
    on_pod_group: Callable[[ObjectKey], None] | None = None
    """Told of every PodGroup."""
    metrics: Metrics = field(default_factory=Metrics)
    recorder: EventRecorder | None = None
    """Posts an event on a Job that the resync fails on."""
    after: Callable[[], Awaitable[None]] | None = None
    """Called when the cache is up to date."""
    errors: InternalErrors = field(init=False)
    _concerned: set[JobKey] = field(default_factory=set)
    """Jobs to queue once everything is listed. A list that fails in the middle has changed the cache already."""
    _now: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.errors = self.recorder.errors if self.recorder else InternalErrors(self.metrics)

    def soon(self) -> None:
        self._now.set()

    async def run(self, health: Health) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._now.wait(), self.every_seconds * random.uniform(0.9, 1.1))
            self._now.clear()
            await health.wait_until_well(API)
            try:
                drift = await self.once()
            except KubeError as error:
                self.metrics.resyncs.labels("failed").inc()
                logger.warning("the resync failed and is tried again: %s", error)
                await asyncio.sleep(SOON_SECONDS)
                self.soon()
                continue
            except Exception:
                self.soon()  # the supervisor starts this task again, and the list is still due
                raise
            self.metrics.resyncs.labels("done").inc()
            self.metrics.resync_drift.inc(drift)
            if self.after is not None:
                await self.after()
            if drift:
                logger.info("the resync found %d Jobs that the streams had not shown as they are", drift)

    async def once(self) -> int:
        """Bring the cache up to date and queue every Job that this concerns; how many there were."""
        cache, profile = self.observer.cache, self.observer.profile
        concerned = self._concerned

        def keep_job(raw: Object) -> Uid:
            job = JobView.parse(raw)
            if cache.put_job(job):
                concerned.add(job.key)
            return job.uid

        def keep_workload(raw: Object) -> Uid:
            workload = profile.read_workload(raw)
            cache.put_workload(workload)
            return workload.metadata.uid

        def keep_pod_group(raw: Object) -> Uid:
            group = profile.read_pod_group(raw)
            cache.put_pod_group(group)
            if self.on_pod_group is not None:
                self.on_pod_group((group.metadata.namespace, group.metadata.name))
            return group.metadata.uid

        jobs, jobs_at = await self._list(JobView, JOBS, keep_job)
        made, made_at = await self._list(Workload, workloads(profile), keep_workload)
        groups, groups_at = await self._list(PodGroup, pod_groups(profile), keep_pod_group)
        concerned |= cache.forget_except(jobs, made, groups, (jobs_at, made_at, groups_at))
        for key in concerned | await self._unsettled():
            self.queue.add(key)
        self._concerned = set()
        return len(concerned)

    async def _list(self, kind: Kind, resource: Resource, keep: Callable[[Object], Uid]) -> tuple[set[Uid], str]:
        """The UIDs of all objects, each handed to `keep`, and the revision that the list shows."""
        cache, newest = self.observer.cache, self.observer.cache.newest[kind]
        uids: set[Uid] = set()
        listed_at = ""
        async for page in pages(self.observer.client, resource):
            if not listed_at and cache.rewound(kind, page.revision, newest):
                logger.warning(
                    "the revisions of %s went back from %d to %s, as after a restore of etcd: what was cached of them "
                    "is replaced",
                    resource,
                    newest,
                    page.revision,
                )
            listed_at = listed_at or page.revision
            for raw in page.items:
                if (uid := self._keep(raw, keep, resource)) is not None:
                    uids.add(uid)
            await asyncio.sleep(0)  # let admission in between two pages
        return uids, listed_at

    async def _unsettled(self) -> set[JobKey]:
        """Jobs that still want something. A wake-up that was lost is made up for here."""
        keys = set()
        for number, key in enumerate(list(self.observer.cache.jobs)):
            try:
                seen = self.observer.cache.observe(key)
                unsettled = not decide(seen, self.rules).settled or resize_needed(seen, self.rules) is not None
            except Exception as error:  # noqa: BLE001 - a bug that one Job meets concerns that Job alone
                unsettled = True
                self._bug(key, error)
            if unsettled:
                keys.add(key)
            if number % SLICE == 0:
                await asyncio.sleep(0)  # ten thousand Jobs must not hold up admission
        return keys

    def _bug(self, key: JobKey, error: Exception) -> None:
        if self.recorder is None:
            self.errors.note(Task.RESYNC, key, error)
        else:
            self.recorder.internal_error(Task.RESYNC, key, self.observer.cache.jobs.get(key), error)

    def _keep(self, raw: Object, keep: Callable[[Object], Uid], resource: Resource) -> Uid | None:
        try:
            return keep(raw)
        except Unreadable as error:
            logger.warning("passed over an object that cannot be read: %s", error)
            return None
        except Exception as error:  # noqa: BLE001 - a bug that one object meets must not hide all the others
            self.errors.note(Task.RESYNC, f"{resource.plural} {name_of(raw)}", error)
            return uid_of(raw)  # it exists: what is known of it stays
