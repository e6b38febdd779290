"""What a watch event does: the cache learns of it, and the Jobs that it concerns are queued. No decision, no request.

The handlers run in kopf's thread. They parse there, so that the main loop, which answers admission, only has to put
the result in its place. They return None and touch no patch: anything else would make kopf write to the object.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import kopf

from muster.api.dialect import Dialect
from muster.api.job import JobView
from muster.api.keys import JobKey
from muster.api.podgroup import GangState, PodGroup
from muster.api.wire import Unreadable
from muster.api.workload import Workload
from muster.kube.credentials import Credentials
from muster.runtime.cache import Cache
from muster.runtime.formation import Formation
from muster.runtime.internal_errors import name_of
from muster.runtime.queue import WorkQueue
from muster.runtime.stopwatch import SCHEDULED
from muster.runtime.tasks import Task

logger = logging.getLogger(__name__)

Parsed = JobView | Workload | PodGroup


@dataclass(slots=True)
class Inbox:
    """The main loop's side: where parsed events arrive."""

    cache: Cache
    queue: WorkQueue[JobKey]
    formation: Formation
    on_pod_group: Callable[[tuple[str, str]], None] | None = None
    """Told of every change of a PodGroup."""
    on_job: Callable[[JobKey], None] | None = None
    """Told of every change of a Job, also such that change no decision."""

    def job(self, job: JobView, deleted: bool) -> None:
        if self.cache.trusted and not deleted and job.key not in self.cache.jobs:
            self.formation.stopwatch.start(job.uid)
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
            self.formation.stopwatch.stop(owner.uid, SCHEDULED)
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
            recorder = self.formation.recorder
            if isinstance(parsed, JobView):
                recorder.internal_error(Task.WATCH, parsed.key, parsed, error)
            else:
                recorder.errors.note(Task.WATCH, f"{parsed.metadata.namespace}/{parsed.metadata.name}", error)

    def _changed(self, *jobs: JobView) -> None:
        for job in jobs:
            self.formation.forget(job.uid)
            self.queue.add(job.key)


def build_registry(
    inbox: Inbox, main_loop: asyncio.AbstractEventLoop, dialect: Dialect, credentials: Credentials
) -> kopf.OperatorRegistry:
    registry, errors = kopf.OperatorRegistry(), inbox.formation.recorder.errors

    def listen(group: str, plural: str, parse: Callable[[object], Any], receive: Callable[[Any, bool], None]) -> None:
        version = "v1" if group == "batch" else dialect.version

        async def on_event(type: str | None, body: kopf.Body, **_: Any) -> None:  # noqa: A002 - kopf's name for it
            try:
                main_loop.call_soon_threadsafe(inbox.deliver, receive, parse(dict(body)), type == "DELETED")
            except Unreadable as error:
                logger.warning("passed over a %s event that cannot be read: %s", plural, error)
            except Exception as error:  # noqa: BLE001 - a bug that one object meets must not stop the stream
                errors.note(Task.WATCH, f"{plural} {name_of(body)}", error)

        # With its version: kopf would otherwise look only at the group's preferred one, which is PriorityClass's.
        kopf.on.event(group, version, plural, registry=registry, id=plural)(on_event)

    listen("batch", "jobs", JobView.parse, inbox.job)
    listen(dialect.group, "workloads", dialect.read_workload, inbox.workload)
    listen(dialect.group, "podgroups", dialect.read_pod_group, inbox.pod_group)

    @kopf.on.login(registry=registry)
    async def log_in(**_: Any) -> kopf.ConnectionInfo:
        scheme, _space, token = (await credentials.authorization()).partition(" ")
        endpoint = credentials.endpoint
        return kopf.ConnectionInfo(
            server=endpoint.server,
            ca_path=endpoint.ca_path,
            insecure=not endpoint.verify,
            certificate_path=endpoint.certificate_path,
            private_key_path=endpoint.private_key_path,
            scheme=scheme or None,
            token=token or None,
        )

    return registry
