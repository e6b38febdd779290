"""Reports the state of each gang in events on its Job. Runs only on the leader.

`core.gang_silence` decides which event to post and when to post none. If it posts none, the Reason is logged at debug.
The controller stores nothing in the cluster: the name of an event is derived from what it reports, so that after a
restart or on a new leader the API server answers AlreadyExists. In memory it keeps only since when each gang waits.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from muster.api.keys import JobKey, ObjectKey, Uid
from muster.api.pod import CONTROLLER_UID_LABEL, LIVE, PodView
from muster.api.profile import ApiProfile
from muster.api.wire import Unreadable
from muster.controllers.cache import Cache
from muster.controllers.podgroup.members import Members
from muster.core.decide import decide
from muster.core.gang_silence import (
    GangWait,
    Outcome,
    Pace,
    after_look,
    before_look,
    counted,
    half_started,
    has_ended,
    has_started,
    is_half_started,
    is_whole_again,
    may_not_report,
)
from muster.core.gang_status import Gang, GangEvent, MemberSummary, Silence, gang_of, summary_of
from muster.core.policy import Rules
from muster.core.reasons import EventReason, Reason, SilenceReason
from muster.kube.client import KubeClient, every_item
from muster.kube.resources import PODS
from muster.runtime.event_recorder import Event, EventRecorder, Subject
from muster.runtime.internal_errors import InternalErrors
from muster.runtime.tasks import Task
from muster.runtime.ttl_cache import TtlCache
from muster.runtime.worker import Workers
from muster.runtime.workqueue import WorkQueue

logger = logging.getLogger(__name__)

WORKERS = 2
"""Few: each look at members is a request, and events are not urgent."""
RECENT = timedelta(seconds=60)
"""A gang that was scheduled longer ago than this gets no event, so that a restart does not report all old gangs."""
CLAIM_PRECISION_SECONDS = 1.0
"""The API server stores times in whole seconds."""

Look = Callable[[Gang], Awaitable[MemberSummary | None]]
"""Returns the members of a gang; None if they are not known yet."""


@dataclass(slots=True)
class GangStatusController:
    """Posts an event when a gang waits, starts, or loses pods.

    Owns the memory of gangs that wait and of gangs that have started. It reads the cache, and the members of a gang
    that waits (`look`). It posts events on Jobs and changes no other object.
    """

    cache: Cache
    rules: Rules
    recorder: EventRecorder
    look: Look
    queue: WorkQueue[JobKey]
    errors: InternalErrors
    pace: Pace
    posted: TtlCache[Uid, float]
    """When each Job got its last GangWaiting. It forgets after `pace.between`."""
    native: bool = True
    """kube-scheduler sets the condition of the PodGroup. Otherwise Muster does, when enough pods are bound."""
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    _waits: dict[JobKey, GangWait] = field(default_factory=dict)
    _started: dict[JobKey, str] = field(default_factory=dict)
    """The run of each gang that has had all its nodes."""

    def job_changed(self, key: JobKey) -> None:
        if (silence := may_not_report(self.queue.is_open, has_synced=True)) is not None:
            self._stay_silent(key, silence)
        else:
            self.queue.add(key)

    def pod_group_changed(self, key: ObjectKey) -> None:
        group = self.cache.pod_group(*key)
        if group is None:
            logger.debug("%s/%s: %s", *key, Silence(SilenceReason.POD_GROUP_GONE))
            return
        for job in self.cache.jobs_of(group):
            self.job_changed(job)

    def forget(self) -> None:
        """Another replica leads, so the state of this one becomes outdated."""
        self._waits.clear()
        self._started.clear()

    def workers(self) -> Workers[JobKey]:
        return Workers(Task.GANG_STATUS, self.queue, self.consider, self.errors, count=WORKERS, on_bug=self._bug)

    async def consider(self, key: JobKey) -> None:
        """Handle one Job: at most one event, and one request only if the gang has waited for a while."""
        if (silence := may_not_report(self.queue.is_open, self.cache.has_synced)) is not None:
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

    def _wait(self, key: JobKey, gang: Gang) -> GangWait:
        """A gang that was scheduled and lost pods before this process started counts as one that had its nodes."""
        started = self._started.get(key) == gang.run or (gang.is_claimed and gang.lost_pods)
        wait = GangWait(gang.job.uid, started, _now(), watched=not gang.is_claimed, pause=self.pace.first_pause)
        if gang.is_claimed and not started:
            # The patience counts from the claim: an earlier leader may have died before it counted the pods.
            wait.claimed = wait.since - max(0.0, self._age(gang).total_seconds() - CLAIM_PRECISION_SECONDS)
        return wait

    def _is_proven(self, key: JobKey, gang: Gang, wait: GangWait | None) -> bool:
        """Whether the gang had its nodes, as far as is known without a look at its pods."""
        if not gang.is_claimed or self._started.get(key) == gang.run:
            return False
        long_ago = wait is None and not self._is_recent(gang)  # another process has reported it
        return gang.is_whole or not self.native or long_ago

    def _start(self, key: JobKey, gang: Gang, at_once: int) -> None:
        """This run had its nodes. `at_once`: the number of pods known to have a node at the same time."""
        wait = self._waits.get(key)
        if not self._perform(key, has_started(gang, wait, at_once, self._is_recent(gang))):
            return
        if wait is not None and not wait.started:
            del self._waits[key]
        self._started[key] = gang.run

    def _end(self, key: JobKey, gang: Gang) -> None:
        self._perform(key, is_whole_again(gang, self._waits.pop(key, None)))

    async def _ask_why(self, key: JobKey, gang: Gang, wait: GangWait) -> None:
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

    def _conclude(self, key: JobKey, gang: Gang, wait: GangWait, summary: MemberSummary) -> None:
        posted, now = self.posted.recall(gang.job.uid), _now()
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
            self.posted.remember(gang.job.uid, now)
            wait.posted = outcome
        if not gang.scheduler_message:
            self.queue.add_after(key, wait.pause)  # the scheduler reports nothing, so no watch event comes
            wait.pause = min(wait.pause * 2, self.pace.longest_pause)

    def _check_held(self, key: JobKey, gang: Gang, wait: GangWait, summary: MemberSummary) -> None:
        outcome = half_started(gang, wait, summary, self.native, _now(), self.pace)
        self._perform(key, outcome)
        if is_half_started(outcome) and wait.half[0] != gang.run:
            wait.half = (gang.run, _now())

    def _gang(self, key: JobKey) -> Gang | Silence:
        seen = self.cache.observe(key)
        return gang_of(seen, decide(seen, self.rules), self.rules)

    def _is_recent(self, gang: Gang) -> bool:
        return self._age(gang) < RECENT

    def _age(self, gang: Gang) -> timedelta:
        """How long ago the run began or got its nodes; a very long time if that is unknown."""
        with suppress(ValueError):
            return self.clock() - datetime.fromisoformat(gang.last_news)
        return timedelta.max

    def _perform(self, key: JobKey, outcome: Outcome) -> bool:
        """Act on the outcome. False if it was not reported, or must be reported later."""
        silence = outcome if isinstance(outcome, Silence) else self._post(key, outcome)
        if silence is not None:
            self._stay_silent(key, silence)
        return silence is None or (silence is outcome and silence.again_in is None)

    def _stay_silent(self, key: JobKey, silence: Silence) -> None:
        logger.debug("%s: %s", key, silence, extra={"job": key})
        if silence.again_in is not None:
            self.queue.add_after(key, silence.again_in)

    def _post(self, key: JobKey, event: GangEvent) -> Silence | None:
        """Post the event. None if the recorder accepts it or has posted it before, which the recorder logs itself."""
        job = self.cache.jobs.get(key)
        if job is None:
            return Silence(Reason.JOB_GONE)
        kind = "Normal" if event.reason is EventReason.GANG_SCHEDULED else "Warning"
        dropped = self.recorder.post(Event(Subject.of(job), kind, event.reason, event.message, event.identity))
        full = dropped is SilenceReason.EVENT_QUEUE_FULL
        return Silence(SilenceReason.EVENT_QUEUE_FULL, self.pace.between) if full else None

    def _bug(self, key: JobKey, error: BaseException) -> None:
        self.recorder.internal_error(Task.GANG_STATUS, key, self.cache.jobs.get(key), error)


def listed(client: KubeClient, profile: ApiProfile) -> Look:
    """Lists the Job's pods to find the members, where no reflector watches them."""

    async def look(gang: Gang) -> MemberSummary:
        ref, name = gang.job.ref, gang.group.metadata.name
        params = {"labelSelector": f"{CONTROLLER_UID_LABEL}={ref.uid}", "fieldSelector": LIVE}
        pods = []
        async for raw in every_item(client, PODS, ref.key.namespace, params):
            with suppress(Unreadable):
                pods.append(PodView.parse(raw))
        return summary_of(pod for pod in pods if pod.job == ref and profile.group_of(pod) == name)

    return look


def remembered(members: Members) -> Look:
    """Reads the members from the pod reflector."""

    async def look(gang: Gang) -> MemberSummary | None:
        metadata = gang.group.metadata
        return summary_of(members.of((metadata.namespace, metadata.name))) if members.has_synced else None

    return look


def _now() -> float:
    return asyncio.get_running_loop().time()
