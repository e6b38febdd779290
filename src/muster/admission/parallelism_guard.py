"""The parallelism guard: a gang's size does not change under it."""

import asyncio
import logging
from dataclasses import dataclass, field, replace

from muster.admission.review import Review
from muster.api.job import JobView
from muster.api.keys import Uid
from muster.api.wire import Unreadable
from muster.controllers.job.observer import Observer
from muster.core import messages
from muster.core.admit import ALLOWED, Verdict, admit_parallelism, cannot_tell, refused
from muster.core.decide import Rules
from muster.core.eligibility import preset_group
from muster.core.observed import Observed
from muster.core.reasons import EventReason, Reason, SilenceReason
from muster.kube.errors import KubeError
from muster.runtime.event_recorder import EventRecorder
from muster.runtime.internal_errors import kind_of
from muster.runtime.tasks import Task
from muster.runtime.ttl_cache import TtlCache

logger = logging.getLogger(__name__)

MOST_EVENTS = 20
"""Refusals of one Job that are posted within an hour: anybody on the network can ask for one more number."""
EVENT_SECONDS = 3600.0


@dataclass(slots=True)
class ParallelismGuard:
    """Answers the API server, and posts each refusal on the Job.

    Anybody who reaches the port can send a review. One about a Job that does not exist, or has another UID, costs one
    request at most, and its answer depends on nothing but the review.
    """

    observer: Observer
    rules: Rules
    recorder: EventRecorder
    _posted: TtlCache[Uid, int] = field(default_factory=lambda: TtlCache(EVENT_SECONDS))

    async def review(self, review: Review, seconds: float) -> Verdict:
        old, new = JobView.parse(review.old), JobView.parse(review.new)
        if old.parallelism == new.parallelism:
            return ALLOWED
        job: JobView | None = None
        try:
            async with asyncio.timeout(seconds):
                job = await self.observer.find_job(old.ref)
                seen = await self._observe(job) if job is not None else Observed(None)
            verdict = admit_parallelism(old, new, seen, self.rules) if seen.job is not None else ALLOWED
        except (KubeError, TimeoutError) as error:
            verdict = cannot_tell(old, str(error))
        except Unreadable:
            raise  # not a bug: somebody wrote an object that cannot be read
        except Exception as error:  # noqa: BLE001 - a bug that one Job meets concerns that Job alone
            self.recorder.internal_error(Task.PARALLELISM_GUARD, old.key, None if review.dry_run else job, error)
            return refused(Reason.MUSTER_FAILED, messages.failed_on_change(old.key.name, kind_of(error)))
        if job is not None and not review.dry_run:
            self._report(job, new, verdict)
        return verdict

    async def _observe(self, job: JobView) -> Observed:
        """What there is for the stored Job: the review may name any PodGroup."""
        seen = await self.observer.live(job.ref, thorough=True)
        preset = preset_group(job, self.rules.policy)
        if not preset:
            return seen
        group = await self.observer.pod_group(job.key.namespace, preset)
        return seen if group is None else replace(seen, pod_groups=(*seen.pod_groups, group))

    def _report(self, job: JobView, new: JobView, verdict: Verdict) -> None:
        """Once for each number: a controller that tries again posts nothing more."""
        posted = self._posted.recall(job.uid) or 0
        if verdict.reason is None:
            return
        if posted >= MOST_EVENTS:
            text = messages.silence(SilenceReason.RATE_LIMITED, verdict.reason)
            logger.debug("%s: %s", job.key, text, extra={"job": job.key})
            return
        identity = f"{verdict.reason} {new.parallelism}"
        if self.recorder.warning(job, EventReason.PARALLELISM_REFUSED, verdict.message, identity):
            self._posted.remember(job.uid, posted + 1)
