"""The Job controller: takes keys from the queue and forms gangs before their first pod is created."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from muster.api.job import JobView
from muster.api.keys import JobKey, Uid
from muster.controllers.cache import Cache
from muster.controllers.job.gang_former import GangFormer
from muster.core import messages
from muster.core.decide import decide
from muster.core.decision import Decision, Membership
from muster.core.intent_warnings import intent_warnings
from muster.core.observed import Observed, ResizeNeeded
from muster.core.own_group import own_pod_group
from muster.core.policy import Rules
from muster.core.reasons import Reason, SilenceReason
from muster.kube.errors import Terminating
from muster.runtime.event_recorder import EventRecorder
from muster.runtime.internal_errors import InternalErrors
from muster.runtime.tasks import Task
from muster.runtime.ttl_cache import TtlCache
from muster.runtime.worker import Workers
from muster.runtime.workqueue import WorkQueue

logger = logging.getLogger(__name__)

SKIPPED_SECONDS = 3600.0


@dataclass(slots=True)
class Reconciler:
    """The controller of Jobs. Owns the memory of skipped Jobs; reads the cache, writes through the gang former."""

    cache: Cache
    observe: Callable[[JobKey], Observed]
    """What the cache shows of a Job. It costs no request."""
    queue: WorkQueue[JobKey]
    gang_former: GangFormer
    rules: Rules
    recorder: EventRecorder
    errors: InternalErrors
    _skipped: TtlCache[Uid, Decision] = field(default_factory=lambda: TtlCache(SKIPPED_SECONDS))
    """Cached decisions to skip a Job that a live read has confirmed."""

    def workers(self, count: int) -> Workers[JobKey]:
        return Workers(Task.JOBS, self.queue, self.handle, self.errors, count=count, on_bug=self._bug)

    async def reconcile(self, key: JobKey) -> Decision:
        """Form the gang, then resize its PodGroup if needed. A Job that is settled in the cache causes no request."""
        seen = self.observe(key)
        cached = answer = decide(seen, self.rules)
        if seen.job is None or cached.reason is Reason.LEFT_TO_WEBHOOK:
            return answer
        self._post_warnings(seen.job, seen)
        if self._wants_a_look(seen.job, cached):
            answer = await self._form(seen.job, cached)
            cached = decide(self.observe(key), self.rules)  # the run has changed what the cache shows
        if cached.resize is not None:
            await self._resize(cached.resize)
        return answer

    async def _resize(self, needed: ResizeNeeded) -> None:
        if needed.can_proceed:
            await self.gang_former.resize(needed.job.ref)
        elif needed.obstacle is not None:
            self._log(needed.job.key, messages.silence(needed.obstacle))

    async def _form(self, job: JobView, cached: Decision) -> Decision:
        self.gang_former.forget(job.uid)  # something is missing or wrong, whatever the last pod's answer was
        decision = await self.gang_former.ensure(job.ref)
        if cached.settled and decision.membership is Membership.PLAIN:
            self._skipped.remember(job.uid, cached)
        return decision

    def _wants_a_look(self, job: JobView, decision: Decision) -> bool:
        """A Job that Muster stands aside from is looked at live once per decision; its event is posted then."""
        if decision.forms:
            return True
        known = self.cache.has_synced and self._skipped.recall(job.uid) == decision
        return decision.reason.event is not None and not known

    def _post_warnings(self, job: JobView, seen: Observed) -> None:
        """Post a warning once if Muster does not apply the user's request."""
        for warning in intent_warnings(job, own_pod_group(seen), self.rules.policy):
            self.recorder.warning(job, warning.event, warning.sentence)

    async def handle(self, key: JobKey) -> None:
        try:
            decision = await self.reconcile(key)
        except Terminating:
            self._log(key, messages.not_handled(SilenceReason.NAMESPACE_TERMINATING))
            return
        self._log(key, decision.reason)

    def _log(self, key: JobKey, text: str) -> None:
        logger.debug("%s: %s", key, text, extra={"job": key})

    def _bug(self, key: JobKey, error: BaseException) -> None:
        self.recorder.internal_error(Task.JOBS, key, self.cache.jobs.get(key), error)
