"""Events on Jobs, shown by `kubectl describe job`.

Each event is posted once. Its name is a hash of the Job's UID and the message (or of `identity`, if the message may
vary), so that after a restart, on a second replica or for a repeated decision the API server answers AlreadyExists.
Posting never delays or fails the work that the event is about.
"""

import asyncio
import contextlib
import hashlib
import logging
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Self

from muster.api.job import JobView
from muster.api.keys import JobKey, Uid
from muster.core import messages
from muster.core.decision import Decision, Membership
from muster.core.reasons import EventReason, SilenceReason
from muster.kube.client import KubeClient
from muster.kube.errors import AlreadyExists, KubeError, RetryLater, Terminating, plain_text
from muster.kube.resources import EVENTS
from muster.runtime.internal_errors import InternalErrors, kind_of
from muster.runtime.metrics import Metrics
from muster.runtime.tasks import Task

logger = logging.getLogger(__name__)

QUEUED = 2_000
"""Capacity of the queue. Further events are dropped and counted, so that many events cannot use up the memory."""
POSTERS = 4
REMEMBERED = 20_000
TRIES = 4
RETRY_SECONDS = 0.5
MAX_EVENT_MESSAGE = 1024


@dataclass(frozen=True, slots=True)
class Subject:
    """The Job that an event is about. Thousands of events can be queued, so it has only the posted fields."""

    key: JobKey
    uid: Uid
    resource_version: str

    @classmethod
    def of(cls, job: JobView) -> Self:
        return cls(job.key, job.uid, job.resource_version)


@dataclass(frozen=True, slots=True)
class Event:
    job: Subject
    type: str
    reason: EventReason
    message: str
    identity: str = ""
    """What identifies a repeated event; the message, if empty."""

    @property
    def name(self) -> str:
        said = self.identity or self.message
        digest = hashlib.sha256(f"{self.job.uid} {self.reason} {said}".encode()).hexdigest()[:16]
        return f"{self.job.key.name[:200]}.{digest}"

    def manifest(self, now: datetime, instance: str) -> dict[str, Any]:
        stamp = now.strftime("%Y-%m-%dT%H:%M:%SZ")
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": self.name, "namespace": self.job.key.namespace},
            "involvedObject": {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "namespace": self.job.key.namespace,
                "name": self.job.key.name,
                "uid": self.job.uid,
                "resourceVersion": self.job.resource_version,
            },
            "type": self.type,
            "reason": str(self.reason),
            "message": plain_text(self.message)[:MAX_EVENT_MESSAGE],
            "source": {"component": "muster"},
            "reportingComponent": "muster.dev/muster",
            "reportingInstance": instance,
            "firstTimestamp": stamp,
            "lastTimestamp": stamp,
            "count": 1,
        }


@dataclass(slots=True)
class EventRecorder:
    """Posts events on Jobs, each only once.

    Owns the queue of events and the memory of those that were posted. It creates Events, reads nothing from the API
    server, and counts in `metrics`. Callers never wait for the API server.
    """

    client: KubeClient
    instance: str
    metrics: Metrics
    errors: InternalErrors
    _queue: asyncio.Queue[Event] = field(default_factory=lambda: asyncio.Queue(QUEUED))
    _posted: OrderedDict[str, None] = field(default_factory=OrderedDict)

    def normal(self, job: JobView, reason: EventReason, message: str, identity: str = "") -> bool:
        return self.post(Event(Subject.of(job), "Normal", reason, message, identity)) is None

    def warning(self, job: JobView, reason: EventReason, message: str, identity: str = "") -> bool:
        return self.post(Event(Subject.of(job), "Warning", reason, message, identity)) is None

    def decision(self, job: JobView | None, decision: Decision) -> None:
        """Report why Muster skips the Job or what its pods wait for. Jobs that never concerned Muster get no event."""
        event = decision.reason.event
        if job is None:
            return
        if event is None:
            logger.debug("%s: %s", job.key, messages.silence(decision.reason), extra={"job": job.key})
            return
        message = messages.decided(decision.reason, decision.detail, decision.membership is Membership.PLAIN)
        if self.warning(job, event, message):
            self.metrics.skipped.labels(decision.reason.value).inc()

    def internal_error(self, task: Task, about: object, job: JobView | None, error: BaseException) -> None:
        """Record a bug in Muster that occurred on one item; if the item is a Job, post an event on it. Never raises."""
        self.errors.note(task, about, error)
        if job is not None:
            self.post_internal_error(job, error)

    def post_internal_error(self, job: JobView, error: BaseException) -> None:
        try:
            kind = kind_of(error)
            self.warning(job, EventReason.INTERNAL_ERROR, messages.internal_error(kind), kind)
        except Exception as another:  # noqa: BLE001 - a bug in reporting must not hide the first one
            self.errors.note(Task.EVENTS, job.key, another)

    def post(self, event: Event) -> SilenceReason | None:
        """Queue the event. Otherwise the Reason: it was posted before, or it is dropped and can be posted later."""
        if event.name in self._posted:
            return _log_silence(event, SilenceReason.ALREADY_POSTED)
        try:
            self._queue.put_nowait(event)
        except asyncio.QueueFull:
            self.metrics.events_dropped.inc()
            return _log_silence(event, SilenceReason.EVENT_QUEUE_FULL)
        self._posted[event.name] = None
        while len(self._posted) > REMEMBERED:
            self._posted.popitem(last=False)
        key, text = event.job.key, plain_text(event.message)
        logger.info("%s %s: %s", key, event.reason, text, extra={"job": key})
        self.metrics.events.labels(event.reason.value).inc()
        return None

    async def run(self) -> None:
        async with asyncio.TaskGroup() as posters:
            for number in range(POSTERS):
                posters.create_task(self._post_all(), name=f"event poster {number}")

    async def drain(self, seconds: float) -> None:
        """Wait up to `seconds` until the queued events are posted."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._queue.join(), seconds)

    async def _post_all(self) -> None:
        while True:
            event = await self._queue.get()
            try:
                await self._post(event)
            except Terminating:
                _log_silence(event, SilenceReason.NAMESPACE_TERMINATING)
            except KubeError as error:
                if isinstance(error, RetryLater):
                    self._posted.pop(event.name, None)  # the server did not answer: the event may be posted again
                key = event.job.key
                logger.warning("%s: the event %s was not posted: %s", key, event.reason, error, extra={"job": key})
            except Exception as error:  # noqa: BLE001 - a bug that one event meets must not end the posting of all others
                self.errors.note(Task.EVENTS, event.job.key, error)
            finally:
                self._queue.task_done()

    async def _post(self, event: Event) -> None:
        body = event.manifest(datetime.now(UTC), self.instance)
        for attempt in range(1, TRIES + 1):
            try:
                await self.client.create(EVENTS, event.job.key.namespace, body)
            except AlreadyExists:
                _log_silence(event, SilenceReason.ALREADY_POSTED)
                return
            except RetryLater:
                if attempt == TRIES:
                    raise
                await asyncio.sleep(RETRY_SECONDS * attempt)
            else:
                return


def _log_silence(event: Event, reason: SilenceReason) -> SilenceReason:
    if logger.isEnabledFor(logging.DEBUG):
        key = event.job.key
        logger.debug("%s: %s", key, messages.silence(reason, event.reason), extra={"job": key})
    return reason
