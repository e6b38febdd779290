"""Forming a gang: observe, decide, execute one write, report, until nothing is left to do.

The controller does it when a Job appears, the pod gate when a pod does; both come here, and work on one Job is shared.
"""

import asyncio
from dataclasses import dataclass, field, replace

from muster.api.keys import JobRef, Uid
from muster.core.decide import Action, CreateWorkload, Decision, Membership, Observed, Rules, decide
from muster.core.reasons import EventReason
from muster.kube.errors import Forbidden
from muster.runtime.events import Recorder
from muster.runtime.executor import Executor, Written
from muster.runtime.health import API, Health
from muster.runtime.memory import Memory
from muster.runtime.observer import Observer

MAX_STEPS = 24
"""Two writes suffice; more are needed only when names are taken. A bound, so that no Job can keep us for ever."""
VERDICT_SECONDS = 5.0
LESSON_SECONDS = 600.0


class Unsettled(Exception):
    """The Job kept changing, or its names are all taken: try again later."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What earlier attempts for this Job taught: it costs a failed write to learn again."""

    taken: frozenset[str] = frozenset()
    rejected: str = ""


@dataclass(slots=True)
class Formation:
    observer: Observer
    executor: Executor
    rules: Rules
    recorder: Recorder
    health: Health
    _under_way: dict[Uid, asyncio.Task[Decision]] = field(default_factory=dict)
    _verdicts: Memory[Uid, Decision] = field(default_factory=lambda: Memory(VERDICT_SECONDS))
    _lessons: Memory[Uid, Lesson] = field(default_factory=lambda: Memory(LESSON_SECONDS))

    async def ensure(self, ref: JobRef) -> Decision:
        """Form the Job's gang if it should have one. Callers of the same Job wait for the same work."""
        while True:
            if (decision := await self._recent_verdict(ref)) is not None:
                return decision
            task, mine = self._under_way.get(ref.uid), False
            if task is None:
                task, mine = self._start(ref), True
            # Shielded: one caller's deadline must not cut the work off that others wait for.
            decision = await asyncio.shield(task)
            if mine or decision.membership is Membership.HOLD:
                return decision
            # Work that began before this caller came may have missed the pod that was made just before it: check.

    def _start(self, ref: JobRef) -> asyncio.Task[Decision]:
        task = asyncio.create_task(self._form(ref), name=f"form {ref.key}")
        self._under_way[ref.uid] = task
        task.add_done_callback(lambda done: self._finish(ref.uid, done))
        return task

    def forget(self, uid: Uid) -> None:
        """Something about the Job changed: the next pod is looked at afresh."""
        self._verdicts.forget(uid)

    async def _recent_verdict(self, ref: JobRef) -> Decision | None:
        """A Job's pods come in bursts: the answer to the first holds for the next ones, while they agree with it."""
        verdict = self._verdicts.recall(ref.uid)
        if verdict is None or verdict.sticky:
            return verdict
        pods = await self.observer.recent_pods(ref)
        if not pods.live:
            return verdict
        if pods.group != verdict.group:
            self.forget(ref.uid)
            return None
        followed = replace(verdict, sticky=True)
        self._verdicts.remember(ref.uid, followed)
        return followed

    def _finish(self, uid: Uid, task: asyncio.Task[Decision]) -> None:
        self._under_way.pop(uid, None)
        if not task.cancelled():
            task.exception()  # all who waited may have left; asyncio would complain that nobody looked

    async def preview(self, ref: JobRef) -> Decision:
        """What `ensure` would do next, without doing it."""
        return decide(self._recall(await self.observer.live(ref, thorough=True)), self.rules)

    async def _form(self, ref: JobRef) -> Decision:
        decision = await self._settle(ref)
        if decision.membership is not Membership.HOLD:
            self._verdicts.remember(ref.uid, decision)
        return decision

    async def _settle(self, ref: JobRef) -> Decision:
        known = self.observer.known(ref)
        if _joins(decide(known, self.rules)):
            decision = decide(await self.observer.with_pods(known, ref), self.rules)
            if _joins(decision):
                return decision
        # A cached view may only say yes. Anything else is looked at again, live.
        seen = self._recall(await self.observer.live(ref))
        for _ in range(MAX_STEPS):
            decision = decide(seen, self.rules)
            if decision.action is None:
                self.recorder.report(seen.job, decision)
                return decision
            written = await self._write(decision.action, seen)
            self._report(decision, written)
            seen = self._learn(written.seen)
        raise Unsettled(f"the gang of Job {ref.key} could not be formed in {MAX_STEPS} steps")

    async def _write(self, action: Action, seen: Observed) -> Written:
        try:
            return await self.executor.execute(action, seen)
        except Forbidden as error:
            if error.lacks_right:
                self.health.problem(API, str(error))
            raise

    def _report(self, decision: Decision, written: Written) -> None:
        job = written.seen.job
        if job is None:
            return
        if written.taken:
            self.recorder.warn(
                job, EventReason.NAME_TAKEN, f"{written.taken} belongs to somebody else; taking the next name"
            )
        elif written.created and isinstance(decision.action, CreateWorkload):
            self.recorder.tell(job, EventReason.WORKLOAD_CREATED, f"Created Workload {written.created}")
        elif written.created:
            self.recorder.tell(job, EventReason.POD_GROUP_CREATED, f"Created PodGroup {written.created}")

    def _recall(self, seen: Observed) -> Observed:
        lesson = self._lessons.recall(seen.job.uid) if seen.job else None
        return seen if lesson is None else replace(seen, taken=lesson.taken, rejected=lesson.rejected)

    def _learn(self, seen: Observed) -> Observed:
        if seen.job is not None and (seen.taken or seen.rejected):
            self._lessons.remember(seen.job.uid, Lesson(seen.taken, seen.rejected))
        return seen


def _joins(decision: Decision) -> bool:
    return decision.settled and decision.membership is Membership.JOIN
