"""The loop: observe, decide, perform, report, until a decision needs no further read and no further write.

The controller runs it for a Job, the pod webhook for a pod. All rules are in `core.decide`.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from muster.api.job import JobView
from muster.api.keys import JobRef, Uid
from muster.controllers.job.executor import Executor
from muster.controllers.job.job_reader import JobReader
from muster.controllers.job.observer import Observer
from muster.controllers.job.reporter import Reporter
from muster.core import messages
from muster.core.actions import Read, Write
from muster.core.decide import decide
from muster.core.decision import Decision
from muster.core.observed import GONE, Observed
from muster.core.outcome import Written
from muster.core.policy import Rules
from muster.core.witness import CachedDecision, answers, cacheable
from muster.kube.errors import Forbidden
from muster.runtime.background import BackgroundTasks
from muster.runtime.health import API, Health
from muster.runtime.singleflight import SingleFlight
from muster.runtime.ttl_cache import TtlCache
from muster.runtime.worker import TryAgain

MAX_STEPS = 32
"""Two writes and a few reads are enough; more are needed only when names are taken. No Job can keep Muster forever."""
CACHED_SECONDS = 5.0


class Unsettled(TryAgain):
    """The Job kept changing, or its names are all taken: try again later."""


@dataclass(slots=True)
class GangFormer:
    """Forms gangs. Owns the runs under way and the cached decisions; reads and writes through observer and executor."""

    jobs: JobReader
    observer: Observer
    executor: Executor
    rules: Rules
    reporter: Reporter
    health: Health
    background: BackgroundTasks
    draining: Callable[[], bool]
    """Called at each step: a replica can notice `muster leave` while it works."""
    _flights: SingleFlight[Uid, Decision] = field(default_factory=SingleFlight)
    _cached: TtlCache[Uid, CachedDecision] = field(default_factory=lambda: TtlCache(CACHED_SECONDS))

    async def ensure(self, ref: JobRef) -> Decision:
        """Form the Job's gang if it should have one. Callers for the same Job share one run."""
        came = self._flights.ticket()
        while True:
            if (decision := await self._recent_decision(ref)) is not None:
                return decision
            flight = self._flights.under_way(ref.uid)
            if flight is None:
                job = None
                if self.jobs.cached(ref) is None and (job := await self.jobs.look_up(ref)) is None:
                    return decide(GONE, self.rules)  # made up, or gone: Muster begins and remembers nothing
                flight = self._flights.under_way(ref.uid)
            if flight is None:
                self.reporter.began(ref.uid)
                flight = self._flights.start(self.background, ref.uid, self._form(ref, job), f"form {ref.key}")
            decision = await flight.result()
            if answers(decision, flight.ticket, came):
                return decision

    async def resize(self, ref: JobRef) -> None:
        """Give the Job's PodGroup its size, if that is needed. If the caller is cancelled, the resize continues."""
        self.forget(ref.uid)
        work = self._settle(ref, self.observer.known(ref))
        await asyncio.shield(self.background.begin(work, f"resize {ref.key}"))

    async def preview(self, ref: JobRef) -> Decision:
        """What `ensure` would write next, without writing it. A Job that does not exist costs one request at most."""
        if await self.jobs.find(ref) is None:
            return decide(GONE, self.rules)
        return await self._settle(ref, Observed(None, form_only=True, will_write=False))

    def forget(self, uid: Uid) -> None:
        """Something about the Job changed: the next pod needs a new decision."""
        self._cached.forget(uid)

    async def _form(self, ref: JobRef, job: JobView | None) -> Decision:
        known = self.observer.known(ref)
        return await self._settle(ref, replace(known, job=known.job or job, form_only=True))

    async def _settle(self, ref: JobRef, seen: Observed) -> Decision:
        for _ in range(MAX_STEPS):
            seen = replace(seen, draining=self.draining())
            decision = decide(seen, self.rules)
            action = decision.action
            if isinstance(action, Read):
                seen = await self.observer.read(action, seen, ref)
            elif action is not None and seen.will_write:
                written = await self._write(action, seen)
                self.reporter.written(action, written)
                seen = written.seen
            else:
                if seen.will_write:
                    self._end(ref.uid, seen, decision)
                return decision
        raise Unsettled(messages.kept_changing(MAX_STEPS))

    async def _write(self, write: Write, seen: Observed) -> Written:
        try:
            return await self.executor.execute(write, seen)
        except Forbidden as error:
            if error.lacks_right:
                self.health.problem(API, str(error))
            raise

    def _end(self, uid: Uid, seen: Observed, decision: Decision) -> None:
        self.reporter.decided(seen, decision)
        if seen.form_only and (cached := cacheable(seen, decision)) is not None:
            self._cached.remember(uid, cached)

    async def _recent_decision(self, ref: JobRef) -> Decision | None:
        """Many pods of a Job arrive together: the first answer applies to the next pods while its witness exists."""
        cached = self._cached.recall(ref.uid)
        confirmed = await self.observer.ask_witness(ref, cached) if cached is not None else None
        if cached is None or confirmed is None:
            self.forget(ref.uid)
            return None
        if confirmed is not cached:
            self._cached.remember(ref.uid, confirmed)
        return confirmed.decision
