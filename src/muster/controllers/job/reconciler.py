"""The controller's side: keys come from the queue, gangs are formed before their first pod asks for one."""

import logging
from dataclasses import dataclass, field

from muster.api.job import JobView
from muster.api.keys import JobKey, Uid
from muster.controllers.job.gang_former import GangFormer
from muster.controllers.job.resizing import Resizing
from muster.controllers.store import Cache
from muster.core.decide import Decision, Membership, Rules, decide, own_pod_group
from muster.core.intent_warnings import complaints
from muster.core.observed import Observed
from muster.core.ownership import has_ours
from muster.core.resize import resize_needed
from muster.kube.errors import Terminating
from muster.runtime.tasks import Task
from muster.runtime.ttl_cache import TtlCache
from muster.runtime.worker import Workers
from muster.runtime.workqueue import WorkQueue

logger = logging.getLogger(__name__)

SKIPPED_SECONDS = 3600.0


@dataclass(slots=True)
class Reconciler:
    cache: Cache
    queue: WorkQueue[JobKey]
    gang_former: GangFormer
    rules: Rules
    adopt_existing_only: bool = False
    """The webhook is not asked about every pod. What it has begun is kept up here, and nothing else is begun."""
    resizing: Resizing = field(init=False)
    _skipped: TtlCache[Uid, Decision] = field(default_factory=lambda: TtlCache(SKIPPED_SECONDS))
    """What the cache said about Jobs from which Muster stands aside, and the API server confirmed."""

    def __post_init__(self) -> None:
        self.resizing = Resizing(self.gang_former, self.rules)

    def workers(self, count: int) -> Workers[JobKey]:
        return Workers(
            Task.JOBS, self.queue, self.handle, self.gang_former.recorder.errors, count=count, on_bug=self._bug
        )

    async def reconcile(self, key: JobKey) -> Decision:
        """Bring one Job's objects to what it asks for. What the cache calls settled costs no request."""
        seen = self.cache.observe(key)
        decision = decide(seen, self.rules)
        if self.adopt_existing_only and not has_ours(seen.job, (*seen.workloads, *seen.pod_groups)):
            return decision
        self._complain(seen)
        if seen.job is not None and self._wants_a_look(seen.job, decision):
            self.gang_former.forget(seen.job.uid)  # something is missing or in the way, whatever the last pod was told
            cached, decision = decision, await self.gang_former.ensure(seen.job.ref)
            if cached.settled and decision.membership is Membership.PLAIN:
                self._skipped.remember(seen.job.uid, cached)
            seen = self.cache.observe(key)
        if seen.job is not None and resize_needed(seen, self.rules) is not None:
            await self.resizing.resize(seen.job.ref)
        return decision

    def _wants_a_look(self, job: JobView, decision: Decision) -> bool:
        """A Job that Muster stands aside from is looked at live once per decision; its event is posted then."""
        if not decision.settled:
            return True
        known = self.cache.has_synced and self._skipped.recall(job.uid) == decision
        return decision.reason.event is not None and not known

    def _complain(self, seen: Observed) -> None:
        """What a user asked for in vain is told, once; it changes nothing for the Job."""
        if seen.job is not None:
            for complaint in complaints(seen.job, own_pod_group(seen), self.rules.policy):
                self.gang_former.recorder.warning(seen.job, complaint.event, complaint.sentence)

    async def handle(self, key: JobKey) -> None:
        try:
            decision = await self.reconcile(key)
        except Terminating:
            return  # the namespace goes, and everything in it
        logger.debug("%s: %s", key, decision.reason, extra={"job": key})

    def _bug(self, key: JobKey, error: BaseException) -> None:
        self.gang_former.recorder.internal_error(Task.JOBS, key, self.cache.jobs.get(key), error)
