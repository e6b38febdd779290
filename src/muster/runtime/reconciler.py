"""The controller's side: keys come from the queue, gangs are formed before their first pod asks for one."""

import asyncio
import logging
from dataclasses import dataclass, field

from muster.api.keys import JobKey
from muster.core.complaints import complaints
from muster.core.decide import Decision, Rules, anchor_of, decide
from muster.core.observed import Observed
from muster.core.ownership import has_ours
from muster.core.resizing import misfit
from muster.kube.errors import KubeError, RetryLater, Terminating
from muster.runtime.cache import Cache
from muster.runtime.formation import Formation, Unsettled
from muster.runtime.queue import WorkQueue
from muster.runtime.resizing import Resizing

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Reconciler:
    cache: Cache
    queue: WorkQueue[JobKey]
    formation: Formation
    rules: Rules
    only_own: bool = False
    """The gate is not asked about every pod. What it has begun is kept up here, and nothing else is begun."""
    resizing: Resizing = field(init=False)

    def __post_init__(self) -> None:
        self.resizing = Resizing(self.formation, self.rules)

    async def run(self, workers: int) -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(workers):
                group.create_task(self._work(), name=f"worker {number}")

    async def reconcile(self, key: JobKey) -> Decision:
        """Bring one Job's objects to what it asks for. What the cache calls settled costs no request."""
        seen = self.cache.observe(key)
        decision = decide(seen, self.rules)
        if self.only_own and not has_ours(seen.job, (*seen.workloads, *seen.pod_groups)):
            return decision
        self._complain(seen)
        if seen.job is not None and (decision.reason.event or not decision.settled):
            self.formation.forget(seen.job.uid)  # something is missing or in the way, whatever the last pod was told
            decision = await self.formation.ensure(seen.job.ref)
            seen = self.cache.observe(key)
        if seen.job is not None and misfit(seen, self.rules) is not None:
            await self.resizing.resize(seen.job.ref)
        return decision

    def _complain(self, seen: Observed) -> None:
        """What a user asked for in vain is told, once; it changes nothing for the Job."""
        if seen.job is not None:
            for complaint in complaints(seen.job, anchor_of(seen), self.rules.policy):
                self.formation.recorder.warn(seen.job, complaint.event, complaint.sentence)

    async def _work(self) -> None:
        while True:
            key = await self.queue.get()
            try:
                await self._reconcile_or_retry(key)
            finally:
                self.queue.done(key)

    async def _reconcile_or_retry(self, key: JobKey) -> None:
        try:
            decision = await self.reconcile(key)
        except Terminating:
            self.queue.forget(key)  # the namespace goes, and everything in it
        except (KubeError, Unsettled) as error:
            logger.warning("%s: will try again: %s", key, error, extra={"job": key})
            self.queue.retry(key, error.after_seconds if isinstance(error, RetryLater) else 0.0)
        except Exception:
            # One Job that trips over a bug of ours must not end the work for all others.
            logger.exception("%s: unexpected error, will try again", key, extra={"job": key})
            self.queue.retry(key)
        else:
            logger.debug("%s: %s", key, decision.reason, extra={"job": key})
            self.queue.forget(key)
