"""Forming a gang: observe, decide, execute one write, report, until nothing is left to do.

The controller does it when a Job appears, the pod webhook when a pod does. Both come here; work on one Job is shared.
"""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count

from muster.api.job import JobView
from muster.api.keys import JobRef, Uid
from muster.controllers.job.executor import Executor, Written
from muster.controllers.job.observer import Observer
from muster.controllers.job.verdicts import CachedDecision, FailedAttempt, GroupWitness, PodWitness
from muster.core import messages
from muster.core.actions import Action, CreateWorkload
from muster.core.decide import Decision, Membership, Rules, decide, own_pod_group
from muster.core.observed import Observed
from muster.core.reasons import EventReason
from muster.core.suspension import DeleteObject
from muster.kube.errors import Forbidden
from muster.kube.lanes import Work, current_work, within
from muster.runtime.background import BackgroundTasks
from muster.runtime.event_recorder import EventRecorder
from muster.runtime.health import API, Health
from muster.runtime.latency import POD_GROUP, WORKLOAD, LatencyTracker
from muster.runtime.ttl_cache import TtlCache
from muster.runtime.worker import TryAgain

MAX_STEPS = 24
"""Two writes suffice; more are needed only when names are taken. A bound, so that no Job can keep us for ever."""
CACHED_SECONDS = 5.0
FAILED_SECONDS = 600.0
FAILED_ATTEMPTS = 1_000
"""Jobs; each attempt has up to `MAX_STEPS` names in it."""


def never() -> bool:
    return False


class Unsettled(TryAgain):
    """The Job kept changing, or its names are all taken: try again later."""


@dataclass(frozen=True, slots=True)
class _Proof:
    """What the last look proved, until the next step."""

    group_uid: Uid | None = None
    """This PodGroup was there before the pods were listed, and still was afterwards."""
    read_by_name: bool = False
    """After the pods were listed, Muster had made nothing for the Job."""
    at_rest: bool = False
    """The Job was suspended before its pods were listed, and still was afterwards."""


@dataclass(frozen=True, slots=True)
class _Flight:
    task: asyncio.Task[Decision]
    work: Work
    began: int


@dataclass(slots=True)
class GangFormer:
    observer: Observer
    executor: Executor
    rules: Rules
    recorder: EventRecorder
    health: Health
    draining: Callable[[], bool] = never
    """Asked at each decision: a replica learns of it in the middle of its work."""
    background: BackgroundTasks = field(default_factory=BackgroundTasks)
    _under_way: dict[Uid, _Flight] = field(default_factory=dict)
    _cached: TtlCache[Uid, CachedDecision] = field(default_factory=lambda: TtlCache(CACHED_SECONDS))
    _failed: TtlCache[Uid, FailedAttempt] = field(default_factory=lambda: TtlCache(FAILED_SECONDS, FAILED_ATTEMPTS))
    latency: LatencyTracker = field(init=False)
    _order: Iterator[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        self.latency = LatencyTracker(self.recorder.metrics)

    async def ensure(self, ref: JobRef) -> Decision:
        """Form the Job's gang if it should have one. Callers of the same Job wait for the same work."""
        came = next(self._order)
        while True:
            if (decision := await self._recent_verdict(ref)) is not None:
                return decision
            flight = self._under_way_for(ref)
            if flight is None:
                job = None
                if not self.observer.has_seen(ref):
                    job = await self.observer.lookup.find(ref)
                    if job is None:  # made up, or gone: nothing is begun, and nothing remembered
                        return self._decide(Observed(None))
                flight = self._under_way_for(ref) or self._start(ref, job)
            flight.work.hurry(current_work().lane)
            # Shielded: one caller's deadline must not cut the work off that others wait for.
            decision = await asyncio.shield(flight.task)
            if flight.began > came or decision.membership is Membership.HOLD:
                return decision
            # Work that began before this caller came may have missed the pod that was made just before it: check.

    def _under_way_for(self, ref: JobRef) -> _Flight | None:
        flight = self._under_way.get(ref.uid)
        return None if flight is None or flight.task.done() else flight  # its callbacks may still be on their way

    def _start(self, ref: JobRef, job: JobView | None = None) -> _Flight:
        self.latency.start(ref.uid)
        work = Work(current_work().lane)
        task = self.background.begin(within(work, self._form(ref, job)), f"form {ref.key}")
        self._under_way[ref.uid] = flight = _Flight(task, work, next(self._order))
        task.add_done_callback(lambda done: self._finish(ref.uid, done))
        return flight

    def forget(self, uid: Uid) -> None:
        """Something about the Job changed: the next pod is looked at afresh."""
        self._cached.forget(uid)

    async def _recent_verdict(self, ref: JobRef) -> Decision | None:
        """A Job's pods come in bursts: the answer to the first holds for the next ones, while its witness stands."""
        cached = self._cached.recall(ref.uid)
        if cached is None:
            return None
        confirmed = await self._ask_witness(ref, cached)
        if confirmed is None:
            self.forget(ref.uid)
            return None
        if confirmed is not cached:
            self._cached.remember(ref.uid, confirmed)
        return confirmed.decision

    async def _ask_witness(self, ref: JobRef, cached: CachedDecision) -> CachedDecision | None:
        group, witness = cached.decision.group, cached.witness
        if isinstance(witness, PodWitness):
            pod = await self.observer.pod(ref, witness.name)
            return cached if pod.live and pod.group == group else None
        # Pods that passed while no webhook was there or was asked (failurePolicy: Ignore) are only seen in a list.
        found, pods = await asyncio.gather(
            self.observer.pod_group(ref.key.namespace, group), self.observer.recent_pods(ref)
        )
        if found is None or found.metadata.uid != witness.uid or found.metadata.deletion_timestamp is not None:
            return None
        if not pods.live:
            return cached
        return (
            CachedDecision(replace(cached.decision, sticky=True), PodWitness(pods.name))
            if pods.group == group
            else None
        )

    def _finish(self, uid: Uid, task: asyncio.Task[Decision]) -> None:
        if (flight := self._under_way.get(uid)) is not None and flight.task is task:
            del self._under_way[uid]

    async def preview(self, ref: JobRef) -> Decision:
        """What `ensure` would do next, without doing it. A Job that does not exist costs one request at most."""
        if not await self.observer.exists(ref):
            return self._decide(Observed(None))
        seen = self._recall(await self.observer.live(ref, thorough=True))
        decision = self._decide(seen)
        if _is_open(decision) and seen.job is not None:
            decision = self._decide(await self.observer.with_own_pair(seen, seen.job))
        return decision

    def _decide(self, seen: Observed) -> Decision:
        return decide(seen, replace(self.rules, draining=True) if self.draining() else self.rules)

    async def _form(self, ref: JobRef, job: JobView | None) -> Decision:
        """Look, write what is missing, and look again, until the answer is proven."""
        seen, proven = await self._look(ref, job)
        made: set[str] = set()
        for _ in range(MAX_STEPS):
            decision = self._decide(seen)
            if decision.action is not None and decision.action.name in made:
                # What was just made is gone: it is the collector's, if the Job is gone too.
                seen, proven, made = self._recall(await self.observer.live(ref)), _Proof(), set()
            elif isinstance(decision.action, DeleteObject) and not proven.at_rest:
                seen, proven = await self.observer.at_rest(seen, ref), _Proof(at_rest=True)
            elif decision.action is not None:
                written = await self._write(decision.action, seen)
                self._report(decision, written)
                seen, proven, made = self._learn(written.seen), _Proof(), made | {written.created}
            elif _joins(decision) and not (decision.sticky or proven.group_uid):
                seen, proven = await self._confirm(seen, ref, decision.group)
            elif _is_open(decision) and not proven.read_by_name and seen.job is not None:
                seen, proven = await self.observer.with_own_pair(seen, seen.job), _Proof(read_by_name=True)
            else:
                self.recorder.decision(seen.job, decision)
                self._remember(ref.uid, seen, decision)
                return decision
        raise Unsettled(f"the gang of Job {ref.key} could not be formed in {MAX_STEPS} steps")

    async def _look(self, ref: JobRef, job: JobView | None) -> tuple[Observed, _Proof]:
        """A cached view may only say yes, and only to Muster's own PodGroup: of a stranger's there may be two by now.

        Anything else is looked at again, live.
        """
        known = self.observer.known(ref)
        decision, own_group = self._decide(known), own_pod_group(known)
        if _joins(decision) and own_group is not None and own_group.metadata.name == decision.group:
            seen, proven = await self._confirm(known, ref, decision.group)
            if _joins(self._decide(seen)):
                return seen, proven
        return self._recall(await self.observer.live(ref, job=job)), _Proof()

    async def _confirm(self, seen: Observed, ref: JobRef, group: str) -> tuple[Observed, _Proof]:
        uid = _uid_of(seen, group)
        seen = await self.observer.confirmed(seen, ref, group)
        return seen, _Proof(group_uid=uid if uid == _uid_of(seen, group) else None)

    def _remember(self, uid: Uid, seen: Observed, decision: Decision) -> None:
        own_group = own_pod_group(seen)
        if decision.sticky and seen.pods is not None:
            self._cached.remember(uid, CachedDecision(decision, PodWitness(seen.pods.name)))
        elif own_group is not None and _joins(decision) and own_group.metadata.name == decision.group:
            self._cached.remember(uid, CachedDecision(decision, GroupWitness(own_group.metadata.uid)))

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
        if written.dropped:
            self.recorder.warning(job, EventReason.POLICY_DROPPED, written.dropped)
        if written.taken:
            self.recorder.warning(job, EventReason.NAME_TAKEN, messages.name_taken(written.taken))
        elif written.released:
            self.recorder.normal(job, EventReason.PAIR_RELEASED, messages.pair_released(written.released))
        elif written.created and isinstance(decision.action, CreateWorkload):
            self.latency.stop(job.uid, WORKLOAD)
            self.recorder.normal(job, EventReason.WORKLOAD_CREATED, messages.workload_created(written.created))
        elif written.created:
            self.latency.stop(job.uid, POD_GROUP)
            self.recorder.normal(job, EventReason.POD_GROUP_CREATED, messages.pod_group_created(written.created))

    def _recall(self, seen: Observed) -> Observed:
        attempt = self._failed.recall(seen.job.uid) if seen.job else None
        return seen if attempt is None else replace(seen, taken=attempt.taken, rejected=attempt.rejected)

    def _learn(self, seen: Observed) -> Observed:
        if seen.job is not None and (seen.taken or seen.rejected):
            self._failed.remember(seen.job.uid, FailedAttempt(seen.taken, seen.rejected))
        return seen


def _joins(decision: Decision) -> bool:
    return decision.settled and decision.membership is Membership.JOIN


def _is_open(decision: Decision) -> bool:
    """Plain, and no living pod says so: another replica may have formed the gang meanwhile."""
    return decision.membership is Membership.PLAIN and not decision.sticky


def _uid_of(seen: Observed, group: str) -> Uid | None:
    return next((found.metadata.uid for found in seen.pod_groups if found.metadata.name == group), None)
