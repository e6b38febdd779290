"""Reports what becomes of each gang, in events on its Job. Only the leader does.

`core.gang_silence` decides what to say, and when to say nothing. Each silence is logged at debug, with its Reason.
Nothing is stored for it: an event's name is made from what it is about, so that a restart or a new leader that comes
to the same conclusion meets AlreadyExists. Only gangs that wait are remembered here, to know for how long already.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from muster.api.keys import JobKey, ObjectKey, Uid
from muster.api.pod import CONTROLLER_UID_LABEL, PodView
from muster.api.wire import Unreadable
from muster.controllers.job.observer import LIVE, Observer
from muster.controllers.podgroup.members import Members
from muster.controllers.store import Cache
from muster.core.decide import Rules, decide
from muster.core.gang_silence import (
    Outcome,
    Pace,
    Wait,
    after_look,
    before_look,
    counted,
    half_started,
    has_ended,
    has_started,
    is_whole_again,
    not_the_one,
)
from muster.core.gang_status import Gang, GangEvent, MemberSummary, Silence, gang_of, summary_of
from muster.core.reasons import EventReason, SilenceReason
from muster.kube.client import every_item
from muster.kube.resources import PODS
from muster.runtime.event_recorder import EventRecorder
from muster.runtime.tasks import Task
from muster.runtime.ttl_cache import TtlCache
from muster.runtime.worker import Workers
from muster.runtime.workqueue import WorkQueue

logger = logging.getLogger(__name__)

WORKERS = 2
"""Few: each look at members is a request, and nobody is in a hurry."""
RECENT = timedelta(seconds=60)
"""A gang that was scheduled longer ago, before anybody here looked, is no news: a restart does not tell of all."""

Look = Callable[[Gang], Awaitable[MemberSummary | None]]
"""The members of a gang; None if they are not known yet."""


@dataclass(slots=True)
class GangStatusController:
    cache: Cache
    rules: Rules
    recorder: EventRecorder
    look: Look
    queue: WorkQueue[JobKey]
    native: bool = True
    """kube-scheduler sets the PodGroup's condition. Elsewhere Muster does, after it has counted the bound pods."""
    adopt_existing_only: bool = False
    """The pod webhook is not asked about every pod: only of gangs that it formed is it known that pods are in them."""
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    pace: Pace = field(default_factory=Pace)
    _waits: dict[JobKey, Wait] = field(default_factory=dict)
    _started: dict[JobKey, str] = field(default_factory=dict)
    """The run of each gang that has had all its nodes."""
    _posted: TtlCache[Uid, float] = field(init=False)
    """When each Job got its last GangWaiting."""

    def __post_init__(self) -> None:
        self._posted = TtlCache(self.pace.between)

    def job_changed(self, key: JobKey) -> None:
        if (silence := not_the_one(self.queue.is_open, has_synced=True)) is not None:
            self._stay_silent(key, silence)
        else:
            self.queue.add(key)

    def pod_group_changed(self, key: ObjectKey) -> None:
        if (group := self.cache.pod_group(*key)) is not None:
            for job in self.cache.jobs_of(group):
                self.job_changed(job)

    def pause(self) -> None:
        self.queue.close()
        self._waits.clear()
        self._started.clear()

    def workers(self) -> Workers[JobKey]:
        errors = self.recorder.errors
        return Workers(Task.GANG_STATUS, self.queue, self.consider, errors, count=WORKERS, on_bug=self._bug)

    async def consider(self, key: JobKey) -> None:
        """One Job, one event at most, and one request only if it waits for a while already."""
        if (silence := not_the_one(self.queue.is_open, self.cache.has_synced)) is not None:
            self._stay_silent(key, silence)
            return
        gang, wait = self._gang(key), self._waits.get(key)
        if wait is not None and (isinstance(gang, Silence) or gang.job.uid != wait.job):
            self._perform(key, has_ended(wait, self.cache.jobs.get(key)))
            del self._waits[key]
            wait = None
        if isinstance(gang, Silence):
            self._started.pop(key, None)
            self._stay_silent(key, gang)
            return
        if self._is_proven(key, gang, wait):
            self._start(key, gang, gang.job.ready if self.native else gang.needed)
        if gang.is_whole:
            self._end(key, gang)
        else:
            wait = self._waits.setdefault(key, self._wait(key, gang))
            await self._ask_why(key, gang, wait)

    def _wait(self, key: JobKey, gang: Gang) -> Wait:
        """A gang that was scheduled and lost pods before this process saw it had its nodes then."""
        started = self._started.get(key) == gang.run or (gang.is_claimed and gang.lost_pods)
        return Wait(gang.job.uid, started, _now(), watched=not gang.is_claimed, pause=self.pace.first_pause)

    def _is_proven(self, key: JobKey, gang: Gang, wait: Wait | None) -> bool:
        """The gang has had its nodes, as far as is known without a look at its pods."""
        if not gang.is_claimed or self._started.get(key) == gang.run:
            return False
        long_ago = wait is None and not self._is_recent(gang)  # another process has looked at it
        return gang.is_whole or not self.native or long_ago

    def _start(self, key: JobKey, gang: Gang, at_once: int) -> None:
        """This run has had its nodes. `at_once`: how many pods are known to have one at the same time."""
        wait = self._waits.get(key)
        if wait is None or not wait.started:
            if not self._perform(key, has_started(gang, wait, at_once, self._is_recent(gang))):
                return
            self._waits.pop(key, None)
        self._started[key] = gang.run

    def _end(self, key: JobKey, gang: Gang) -> None:
        self._perform(key, is_whole_again(gang, self._waits.pop(key, None)))

    async def _ask_why(self, key: JobKey, gang: Gang, wait: Wait) -> None:
        wait.note(gang, _now())
        if (silence := before_look(gang, wait, _now(), self.pace)) is not None:
            self._stay_silent(key, silence)
            return
        looked = await self.look(gang)
        summary = counted(looked, self._gang(key) != gang, self.pace)
        if isinstance(summary, Silence):
            self._stay_silent(key, summary)
            return
        wait.looked_at = gang.shown
        self._conclude(key, gang, wait, summary)

    def _conclude(self, key: JobKey, gang: Gang, wait: Wait, summary: MemberSummary) -> None:
        posted, now = self._posted.recall(gang.job.uid), _now()
        outcome = after_look(gang, wait, summary, posted, now, self.pace)
        if isinstance(outcome, GangEvent) and outcome.reason is EventReason.GANG_SCHEDULED:
            self._start(key, gang, summary.bound)
            self._end(key, gang)
            return
        self._check_held(key, gang, wait, summary)
        if not self._perform(key, outcome):
            wait.looked_at = None
            return
        if isinstance(outcome, GangEvent):
            self._posted.remember(gang.job.uid, now)
            wait.posted = outcome
        if not gang.verdict:
            self.queue.add_after(key, wait.pause)  # the scheduler says nothing, so nothing comes by itself
            wait.pause = min(wait.pause * 2, self.pace.longest_pause)

    def _check_held(self, key: JobKey, gang: Gang, wait: Wait, summary: MemberSummary) -> None:
        outcome = half_started(gang, wait, summary, self.native, _now(), self.pace)
        if outcome is not None:
            self._perform(key, outcome)
            if wait.half[0] != gang.run:
                wait.half = (gang.run, _now())

    def _gang(self, key: JobKey) -> Gang | Silence:
        seen = self.cache.observe(key)
        return gang_of(seen, decide(seen, self.rules), self.adopt_existing_only)

    def _is_recent(self, gang: Gang) -> bool:
        with suppress(ValueError):
            return self.clock() - datetime.fromisoformat(gang.last_news) < RECENT
        return False

    def _perform(self, key: JobKey, outcome: Outcome) -> bool:
        """False if it has to be said later."""
        silence = outcome if isinstance(outcome, Silence) else self._post(key, outcome)
        if silence is not None:
            self._stay_silent(key, silence)
        return silence is None or silence.again_in is None

    def _stay_silent(self, key: JobKey, silence: Silence) -> None:
        logger.debug("%s: %s", key, silence, extra={"job": key})
        if silence.again_in is not None:
            self.queue.add_after(key, silence.again_in)

    def _post(self, key: JobKey, event: GangEvent) -> Silence | None:
        """None if the recorder has it, now or since before. It logs by itself what it has posted before."""
        is_full, job = self.recorder.is_full, self.cache.jobs.get(key)
        if job is not None:
            post = self.recorder.normal if event.reason is EventReason.GANG_SCHEDULED else self.recorder.warning
            post(job, event.reason, event.message, event.identity)
        return Silence(SilenceReason.EVENT_QUEUE_FULL, self.pace.between) if is_full else None

    def _bug(self, key: JobKey, error: BaseException) -> None:
        self.recorder.internal_error(Task.GANG_STATUS, key, self.cache.jobs.get(key), error)


def listed(observer: Observer) -> Look:
    """Members by a list of the Job's pods, where nobody watches them."""

    async def look(gang: Gang) -> MemberSummary:
        ref, name = gang.job.ref, gang.group.metadata.name
        params = {"labelSelector": f"{CONTROLLER_UID_LABEL}={ref.uid}", "fieldSelector": LIVE}
        pods = []
        async for raw in every_item(observer.client, PODS, ref.key.namespace, params):
            with suppress(Unreadable):
                pods.append(PodView.parse(raw))
        return summary_of(pod for pod in pods if pod.job == ref and observer.profile.group_of(pod) == name)

    return look


def remembered(members: Members) -> Look:
    """Members as the stream of pods shows them."""

    async def look(gang: Gang) -> MemberSummary | None:
        metadata = gang.group.metadata
        return summary_of(members.of((metadata.namespace, metadata.name))) if members.has_synced else None

    return look


def _now() -> float:
    return asyncio.get_running_loop().time()
