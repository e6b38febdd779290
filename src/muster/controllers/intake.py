"""The intake: the one place where an object arrives from a watch stream or a list, or is found to be deleted.

It updates the cache, drops the cached decisions about the Jobs that the change affects, and queues these Jobs. A
Workload or PodGroup that Muster itself reads or writes reaches the cache on a second path: `kube/objects.py` passes the
API server's answer to the cache. That queues nothing, because the run that made the request continues with the object.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from muster.api.job import JobView
from muster.api.keys import JobKey, ObjectKey, Uid
from muster.api.v1alpha2.podgroup import GangState, PodGroup
from muster.api.v1alpha2.workload import Workload
from muster.controllers.cache import Cache, CachedObject
from muster.runtime.event_recorder import EventRecorder
from muster.runtime.internal_errors import InternalErrors
from muster.runtime.latency import SCHEDULED, LatencyTracker
from muster.runtime.tasks import Task
from muster.runtime.workqueue import WorkQueue


@dataclass(slots=True)
class Intake:
    """Takes parsed objects on the main loop. It makes no decision and sends no request.

    `job`, `workload` and `pod_group` take watch events. The resync calls `seen` and `deleted`, and queues the Jobs
    itself once everything is listed.

    Owns nothing. It writes the cache, adds Jobs to the queue, drops cached decisions, and measures latency.
    """

    cache: Cache
    queue: WorkQueue[JobKey]
    forget: Callable[[Uid], None]
    """Drops the cached decision about a Job that changed."""
    recorder: EventRecorder
    errors: InternalErrors
    latency: LatencyTracker
    on_pod_group: Callable[[ObjectKey], None] | None = None
    """Called for every PodGroup that arrives, also where it changes no decision."""
    on_job: Callable[[JobKey], None] | None = None
    """Called for every watch event of a Job, also where it changes no decision."""

    def job(self, job: JobView, deleted: bool) -> None:
        if self.cache.has_synced and not deleted and job.key not in self.cache.jobs:
            self.latency.start(job.uid)
        self._event(job, deleted)
        if self.on_job is not None:
            self.on_job(job.key)

    def workload(self, workload: Workload, deleted: bool) -> None:
        self._event(workload, deleted)

    def pod_group(self, group: PodGroup, deleted: bool) -> None:
        if not deleted and group.state is GangState.SCHEDULED and (owner := group.metadata.controller) is not None:
            self.latency.stop(owner.uid, SCHEDULED)
        self._event(group, deleted)

    def seen(self, item: CachedObject) -> set[JobKey]:
        """The object exists. Returns the Jobs that this changes."""
        match item:
            case JobView():
                changed = self.cache.put_job(item)
            case Workload():
                changed = self.cache.put_workload(item)
            case PodGroup():
                changed = self.cache.put_pod_group(item)
        return self._affected(item, changed)

    def deleted(self, item: CachedObject, for_good: bool = False) -> set[JobKey]:
        """The object is gone. Returns the Jobs that this changes. `for_good`: a stream has shown the deletion."""
        match item:
            case JobView():
                changed = self.cache.drop_job(item.key, item.uid, for_good)
            case Workload():
                changed = self.cache.drop_workload(item.metadata, for_good)
            case PodGroup():
                changed = self.cache.drop_pod_group(item.metadata, for_good)
        return self._affected(item, changed)

    def deliver(self, receive: Callable[[Any, bool], None], parsed: CachedObject, deleted: bool) -> None:
        """Handle one event. A bug that occurs on one object must not affect other objects."""
        try:
            receive(parsed, deleted)
        except Exception as error:  # noqa: BLE001
            if isinstance(parsed, JobView):
                self.recorder.internal_error(Task.WATCH, parsed.key, parsed, error)
            else:
                self.errors.note(Task.WATCH, f"{parsed.metadata.namespace}/{parsed.metadata.name}", error)

    def _event(self, item: CachedObject, deleted: bool) -> None:
        for key in self.deleted(item, for_good=True) if deleted else self.seen(item):
            self.queue.add(key)

    def _affected(self, item: CachedObject, changed: bool) -> set[JobKey]:
        if isinstance(item, PodGroup) and self.on_pod_group is not None:
            self.on_pod_group((item.metadata.namespace, item.metadata.name))
        if not changed:
            return set()
        if isinstance(item, JobView):
            self.forget(item.uid)
            return {item.key}
        known = {key for key in self.cache.jobs_of(item) if key in self.cache.jobs}
        for key in known:
            self.forget(self.cache.jobs[key].uid)
        return known
