"""The resync: lists all objects periodically, and queues the Jobs that the watch streams did not show as they are."""

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from muster.api.job import JobView
from muster.api.keys import JobKey, Uid
from muster.api.v1alpha2.podgroup import PodGroup
from muster.api.v1alpha2.workload import Workload
from muster.api.wire import Unreadable
from muster.controllers.cache import Cache, CachedObject
from muster.controllers.intake import Intake
from muster.controllers.job.observer import Observer
from muster.core.decide import decide
from muster.core.policy import Rules
from muster.kube.client import KubeClient, Object, pages
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
"""Decisions between two pauses for admission. The decision on a Job with a new request takes up to a millisecond."""
SOON_SECONDS = 1.0
"""How soon to try again after a resync that failed."""


@dataclass(slots=True)
class Resync:
    """Lists everything with Muster's own client, so that liveness does not depend on a watch.

    Owns the Jobs that a list has shown to differ and that are not queued yet. It reads Jobs, Workloads and PodGroups
    from the API server, passes them to the intake, and adds Jobs to the queue. It writes nothing to the API server.
    """

    client: KubeClient
    cache: Cache
    intake: Intake
    observer: Observer
    queue: WorkQueue[JobKey]
    rules: Rules
    every_seconds: float
    metrics: Metrics
    errors: InternalErrors
    recorder: EventRecorder
    """Posts an event on a Job that the resync fails on."""
    after: Callable[[], Awaitable[None]] | None = None
    """Called when the cache is up to date."""
    _changed: set[JobKey] = field(default_factory=set)
    """Jobs to queue once everything is listed. A list that fails in the middle has changed the cache already."""
    _now: asyncio.Event = field(default_factory=asyncio.Event)

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
                logger.info("the resync found %d Jobs whose state differs from what the watch streams showed", drift)

    async def once(self) -> int:
        """Update the cache, and queue every Job that differs or is not settled. Returns how many differ."""
        profile = self.rules.profile
        lists = (
            (JobView, *await self._list(JobView, JOBS, JobView.parse)),
            (Workload, *await self._list(Workload, workloads(profile), profile.read_workload)),
            (PodGroup, *await self._list(PodGroup, pod_groups(profile), profile.read_pod_group)),
        )
        for kind, listed, listed_at in lists:
            for item in self.cache.unlisted(kind, listed, listed_at):
                self._changed |= self.intake.deleted(item)
        for key in self._changed | await self._unsettled():
            self.queue.add(key)
        changed, self._changed = self._changed, set()
        return len(changed)

    async def _list(
        self, kind: type[CachedObject], resource: Resource, parse: Callable[[object], CachedObject]
    ) -> tuple[set[Uid], str]:
        """Pass all objects to the intake. Returns their UIDs, and the revision that the list shows."""
        cache, newest = self.cache, self.cache.newest[kind]
        uids: set[Uid] = set()
        listed_at = ""
        async for page in pages(self.client, resource):
            if not listed_at and cache.rewound(kind, page.revision, newest):
                logger.warning(
                    "the revisions of %s went back from %d to %s, as after a restore of etcd: replacing the cached "
                    "objects",
                    resource,
                    newest,
                    page.revision,
                )
            listed_at = listed_at or page.revision
            for raw in page.items:
                if (uid := self._take(raw, parse, resource)) is not None:
                    uids.add(uid)
            await asyncio.sleep(0)  # let admission requests run between two pages
        return uids, listed_at

    async def _unsettled(self) -> set[JobKey]:
        """Jobs that are not settled. This also finds Jobs whose key was lost from the queue."""
        keys = set()
        for number, key in enumerate(list(self.cache.jobs)):
            try:
                unsettled = not decide(self.observer.cached(key), self.rules).settled
            except Exception as error:  # noqa: BLE001 - a bug that one Job meets concerns that Job alone
                unsettled = True
                self._bug(key, error)
            if unsettled:
                keys.add(key)
            if number % SLICE == 0:
                await asyncio.sleep(0)  # ten thousand Jobs must not hold up admission
        return keys

    def _bug(self, key: JobKey, error: Exception) -> None:
        self.recorder.internal_error(Task.RESYNC, key, self.cache.jobs.get(key), error)

    def _take(self, raw: Object, parse: Callable[[object], CachedObject], resource: Resource) -> Uid | None:
        try:
            item = parse(raw)
            self._changed |= self.intake.seen(item)
            return item.uid if isinstance(item, JobView) else item.metadata.uid
        except Unreadable as error:
            logger.warning("skipped an object that cannot be read: %s", error)
            return None
        except Exception as error:  # noqa: BLE001 - a bug that one object meets must not hide all the others
            self.errors.note(Task.RESYNC, f"{resource.plural} {name_of(raw)}", error)
            return uid_of(raw)  # it exists: what is known of it stays
