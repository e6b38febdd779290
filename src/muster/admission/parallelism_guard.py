"""The parallelism guard: refuses changes that would give a gang the wrong size."""

import asyncio
import logging
from dataclasses import dataclass, field

from muster.admission.review import Review
from muster.api.job import JobView
from muster.api.keys import Uid
from muster.api.wire import Unreadable
from muster.controllers.job.job_reader import JobReader
from muster.controllers.job.observer import Observer
from muster.core import messages
from muster.core.admit import (
    ALLOWED,
    Verdict,
    admit_parallelism,
    cannot_tell,
    changes_parallelism,
    parallelism_read,
    refused,
)
from muster.core.observed import Observed
from muster.core.policy import Rules
from muster.core.reasons import EventReason, Reason, SilenceReason
from muster.kube.errors import KubeError
from muster.runtime.event_recorder import EventRecorder
from muster.runtime.internal_errors import kind_of
from muster.runtime.tasks import Task
from muster.runtime.ttl_cache import TtlCache

logger = logging.getLogger(__name__)

MOST_EVENTS = 20
"""Refusals of one Job that are posted within an hour: any client on the network can send one more number."""
EVENT_SECONDS = 3600.0


@dataclass(slots=True)
class ParallelismGuard:
    """Answers the API server about one change of parallelism, and posts each refusal on the Job.

    Owns the number of refusals that it has posted on each Job. It reads the Job and its objects through the observer.

    Any client of the port can send a review. One about a Job that does not exist, or has another UID, costs one
    request at most, and its answer depends on nothing but the review.
    """

    jobs: JobReader
    observer: Observer
    rules: Rules
    recorder: EventRecorder
    _posted: TtlCache[Uid, int] = field(default_factory=lambda: TtlCache(EVENT_SECONDS))

    async def review(self, review: Review, seconds: float) -> Verdict:
        old, new = JobView.parse(review.old), JobView.parse(review.new)
        if not changes_parallelism(old, new):
            return ALLOWED
        job: JobView | None = None
        try:
            async with asyncio.timeout(seconds):
                job = await self.jobs.find(old.ref)
                seen = await self._observe(old, new, job)
            verdict = admit_parallelism(old, new, seen, self.rules)
        except (KubeError, TimeoutError) as error:
            verdict = cannot_tell(old, str(error))
        except Unreadable:
            raise  # not a bug: another client wrote an object that cannot be read
        except Exception as error:  # noqa: BLE001 - a bug that one Job meets concerns that Job alone
            self.recorder.internal_error(Task.PARALLELISM_GUARD, old.key, None if review.dry_run else job, error)
            return refused(Reason.MUSTER_FAILED, messages.failed_on_change(old.key.name, kind_of(error)))
        if job is not None and not review.dry_run:
            self._report(job, new, verdict)
        return verdict

    async def _observe(self, old: JobView, new: JobView, job: JobView | None) -> Observed:
        """Read what the verdict rests on. `job` is the stored one."""
        seen = Observed(job, form_only=True, will_write=False)
        while (read := parallelism_read(old, new, seen, self.rules)) is not None:
            seen = await self.observer.read(read, seen, old.ref)
        return seen

    def _report(self, job: JobView, new: JobView, verdict: Verdict) -> None:
        """Once for each number: a controller that tries again posts nothing more."""
        posted = self._posted.recall(job.uid) or 0
        if verdict.allowed or verdict.reason is None:
            return
        if posted >= MOST_EVENTS:
            text = messages.silence(SilenceReason.RATE_LIMITED, verdict.reason)
            logger.debug("%s: %s", job.key, text, extra={"job": job.key})
            return
        identity = f"{verdict.reason} {new.parallelism}"
        if self.recorder.warning(job, EventReason.PARALLELISM_REFUSED, verdict.message, identity):
            self._posted.remember(job.uid, posted + 1)
