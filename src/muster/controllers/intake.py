"""An object was seen, or is gone: the cache learns of it, and the Jobs that it concerns are queued. No decision."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from muster.api.job import JobView
from muster.api.keys import JobKey, ObjectKey
from muster.api.v1alpha2.podgroup import GangState, PodGroup
from muster.api.v1alpha2.workload import Workload
from muster.controllers.job.gang_former import GangFormer
from muster.controllers.store import Cache
from muster.runtime.latency import SCHEDULED
from muster.runtime.tasks import Task
from muster.runtime.workqueue import WorkQueue

Parsed = JobView | Workload | PodGroup


@dataclass(slots=True)
class Intake:
    """The main loop's side: where parsed events arrive."""

    cache: Cache
    queue: WorkQueue[JobKey]
    gang_former: GangFormer
    on_pod_group: Callable[[ObjectKey], None] | None = None
    """Told of every change of a PodGroup."""
    on_job: Callable[[JobKey], None] | None = None
    """Told of every change of a Job, also such that change no decision."""

    def job(self, job: JobView, deleted: bool) -> None:
        if self.cache.has_synced and not deleted and job.key not in self.cache.jobs:
            self.gang_former.latency.start(job.uid)
        if self.cache.drop_job(job.key, job.uid, for_good=True) if deleted else self.cache.put_job(job):
            self._changed(job)
        if self.on_job is not None:
            self.on_job(job.key)

    def workload(self, workload: Workload, deleted: bool) -> None:
        concerned = self.cache.jobs_of(workload)
        if self.cache.drop_workload(workload.metadata, True) if deleted else self.cache.put_workload(workload):
            self._changed(*(self.cache.jobs[key] for key in concerned if key in self.cache.jobs))

    def pod_group(self, group: PodGroup, deleted: bool) -> None:
        if not deleted and group.state is GangState.SCHEDULED and (owner := group.metadata.controller) is not None:
            self.gang_former.latency.stop(owner.uid, SCHEDULED)
        concerned = self.cache.jobs_of(group)
        if self.cache.drop_pod_group(group.metadata, True) if deleted else self.cache.put_pod_group(group):
            self._changed(*(self.cache.jobs[key] for key in concerned if key in self.cache.jobs))
        if self.on_pod_group is not None:
            self.on_pod_group((group.metadata.namespace, group.metadata.name))

    def deliver(self, receive: Callable[[Any, bool], None], parsed: Parsed, deleted: bool) -> None:
        """A bug that one object meets concerns that object alone."""
        try:
            receive(parsed, deleted)
        except Exception as error:  # noqa: BLE001
            recorder = self.gang_former.recorder
            if isinstance(parsed, JobView):
                recorder.internal_error(Task.WATCH, parsed.key, parsed, error)
            else:
                recorder.errors.note(Task.WATCH, f"{parsed.metadata.namespace}/{parsed.metadata.name}", error)

    def _changed(self, *jobs: JobView) -> None:
        for job in jobs:
            self.gang_former.forget(job.uid)
            self.queue.add(job.key)
