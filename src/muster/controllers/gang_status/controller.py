"""Tells the people of a gang what becomes of it, in events on its Job. The leader's work, like all that is eager.

Nothing is stored for it: an event's name is made from what it is about, so that a restart or a new leader that comes
to the same conclusion meets AlreadyExists. Only gangs that wait are remembered here, to know for how long already.
"""

import asyncio
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
from muster.core.gang_status import (
    Gang,
    GangEvent,
    MemberSummary,
    gang_event,
    gang_of,
    is_not_held,
    not_held_event,
    scheduled_event,
    summary_of,
)
from muster.core.ownership import has_ours
from muster.core.reasons import EventReason
from muster.kube.client import every_item
from muster.kube.resources import PODS
from muster.runtime.event_recorder import EventRecorder
from muster.runtime.tasks import Task
from muster.runtime.ttl_cache import TtlCache
from muster.runtime.worker import Workers
from muster.runtime.workqueue import WorkQueue

WORKERS = 2
"""Few: each look at members is a request, and nobody is in a hurry."""
PATIENCE_SECONDS = 5.0
"""How long a gang may be without its nodes before anybody is told. Most have them by then.

A gang that the scheduler calls scheduled has as long to show in the Job's own status. Then its pods are counted.
"""
SILENCE_SECONDS = 10.0
"""The same while the scheduler has said nothing: when many Jobs come at once, their pods take a while."""
LONGEST_PAUSE_SECONDS = 300.0
BETWEEN_WAITS_SECONDS = 30.0
"""At most one GangWaiting in that time per Job, whatever the scheduler says."""
RECENT = timedelta(seconds=60)
"""A gang that was scheduled longer ago, before anybody here looked, is no news: a restart does not tell of all."""
LISTING_SECONDS = 1.0

Look = Callable[[Gang], Awaitable[MemberSummary | None]]
"""The members of a gang; None if they are not known yet."""


@dataclass(slots=True)
class _Wait:
    job: Uid
    started: bool
    """It had its nodes, and lost some."""
    since: float
    watched: bool
    """It was seen before the scheduler called it scheduled, so that a loss cannot have been missed."""
    told: GangEvent | None = None
    pause: float = PATIENCE_SECONDS
    looked_at: object = None
    """What the last look at the members was about: nothing new, no new look."""
    claimed: float = 0.0
    """Since when the scheduler calls it scheduled."""
    counting: Gang | None = None
    """The gang, while its pods are to be counted."""
    half: tuple[str, float] = ("", 0.0)
    """The run in which some pods started without the others, and since when."""


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
    """The webhook is not asked about every pod: only of gangs that it has formed is it known that pods are in them."""
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    _waits: dict[JobKey, _Wait] = field(default_factory=dict)
    _started: dict[JobKey, str] = field(default_factory=dict)
    """The run of each gang that has had all its nodes."""
    _spoke: TtlCache[Uid, float] = field(default_factory=lambda: TtlCache(BETWEEN_WAITS_SECONDS))

    def pod_group_changed(self, key: ObjectKey) -> None:
        if (group := self.cache.pod_group(*key)) is not None:
            for job in self.cache.jobs_of(group):
                self.queue.add(job)

    def pause(self) -> None:
        self.queue.close()
        self._waits.clear()
        self._started.clear()

    def workers(self) -> Workers[JobKey]:
        errors = self.recorder.errors
        return Workers(Task.GANG_STATUS, self.queue, self.consider, errors, count=WORKERS, on_bug=self._bug)

    async def consider(self, key: JobKey) -> None:
        """One Job, one event at most, and one request only if it waits for a while already."""
        if not self.cache.has_synced:
            return  # a list of everything comes before it is
        gang, wait = self._gang(key), self._waits.get(key)
        if wait is not None and (gang is None or gang.job.uid != wait.job):
            self._finish(key, wait)
            del self._waits[key]
            wait = None
        if gang is None:
            self._started.pop(key, None)
            return
        if self._is_proven(key, gang, wait):
            self._start(key, gang, gang.job.ready if self.native else gang.needed)
        if gang.is_whole:
            self._end(key, gang)
        else:
            wait = self._waits.setdefault(key, self._wait(key, gang))
            await self._ask_why(key, gang, wait)

    def _wait(self, key: JobKey, gang: Gang) -> _Wait:
        """A gang that was scheduled and lost pods before this process saw it had its nodes then."""
        started = self._started.get(key) == gang.run or (gang.is_claimed and gang.lost_pods)
        return _Wait(gang.job.uid, started, _now(), watched=not gang.is_claimed)

    def _is_proven(self, key: JobKey, gang: Gang, wait: _Wait | None) -> bool:
        """The gang has had its nodes, as far as is known without a look at its pods."""
        if not gang.is_claimed or self._started.get(key) == gang.run:
            return False
        long_ago = wait is None and not self._is_news(gang)  # another process has looked at it
        return gang.is_whole or not self.native or long_ago

    def _start(self, key: JobKey, gang: Gang, at_once: int) -> None:
        """This run has had its nodes. `at_once`: how many pods are known to have one at the same time."""
        wait = self._waits.get(key)
        if wait is None or not wait.started:
            in_parts = wait is not None and wait.half[0] == gang.run and at_once < gang.needed
            news = not in_parts and (wait is not None or self._is_news(gang))  # seen here, or not long ago
            if news and not self._post(gang, scheduled_event(gang)):
                self.queue.add_after(key, BETWEEN_WAITS_SECONDS)
                return
            self._waits.pop(key, None)
        self._started[key] = gang.run

    def _finish(self, key: JobKey, wait: _Wait) -> None:
        """A Job that was done before its pods were counted: each of them had a node."""
        gang, job = wait.counting, self.cache.jobs.get(key)
        if gang is None or job is None or job.uid != wait.job or not job.finished or wait.half[0] == gang.run:
            return
        if job.succeeded >= gang.needed:
            self._post(gang, scheduled_event(gang))

    async def _ask_why(self, key: JobKey, gang: Gang, wait: _Wait) -> None:
        counting = gang.is_claimed and not wait.started
        wait.claimed, wait.counting = (wait.claimed or _now(), gang) if counting else (0.0, None)
        patience = PATIENCE_SECONDS if wait.started or counting or gang.verdict else SILENCE_SECONDS
        if (left := (wait.claimed or wait.since) + patience - _now()) > 0:
            self.queue.add_after(key, left)
            return
        job = gang.job
        about = (gang.run, gang.group.scheduled, job.active, job.ready, job.succeeded)
        if gang.verdict and wait.looked_at == about:
            return  # whatever changes, the streams tell
        summary = await self.look(gang)
        if summary is None:
            self.queue.add_after(key, LISTING_SECONDS)
        elif self._gang(key) == gang:  # else it changed meanwhile, and is queued for that
            wait.looked_at = about
            self._conclude(key, gang, wait, summary)

    def _conclude(self, key: JobKey, gang: Gang, wait: _Wait, summary: MemberSummary) -> None:
        event = gang_event(gang, summary, wait.started and gang.is_claimed)
        if event.reason is EventReason.GANG_SCHEDULED:
            self._start(key, gang, summary.bound)
            self._end(key, gang)
            return
        self._check_held(key, gang, wait, summary)
        if wait.told is None or wait.told.identity != event.identity:
            spoke = self._spoke.recall(gang.job.uid)
            if spoke is not None:
                wait.looked_at = None
                self.queue.add_after(key, max(0.1, spoke + BETWEEN_WAITS_SECONDS - _now()))
                return
            if self._post(gang, event):  # else it is posted at the next look
                self._spoke.remember(gang.job.uid, _now())
                wait.told = event
        if not gang.verdict:
            self.queue.add_after(key, wait.pause)  # the scheduler says nothing, so nothing comes by itself
            wait.pause = min(wait.pause * 2, LONGEST_PAUSE_SECONDS)

    def _check_held(self, key: JobKey, gang: Gang, wait: _Wait, summary: MemberSummary) -> None:
        """A gang that stays half bound proves that no scheduler holds it."""
        if wait.started or not wait.watched or not is_not_held(gang, summary):
            return
        run, since = wait.half
        if run != gang.run:
            wait.half = (gang.run, _now())
            self.queue.add_after(key, PATIENCE_SECONDS)
        elif _now() - since >= PATIENCE_SECONDS:
            self._post(gang, not_held_event(gang, summary, self.native))

    def _end(self, key: JobKey, gang: Gang) -> None:
        """It has all its nodes. Whoever was told that it lost some is told that, too."""
        wait = self._waits.pop(key, None)
        if wait is not None and wait.started and wait.told is not None:
            self._post(gang, scheduled_event(gang, wait.told.occasion))

    def _gang(self, key: JobKey) -> Gang | None:
        seen = self.cache.observe(key)
        if self.adopt_existing_only and not has_ours(seen.job, seen.pod_groups):
            return None
        return gang_of(seen, decide(seen, self.rules))

    def _is_news(self, gang: Gang) -> bool:
        with suppress(ValueError):
            return self.clock() - datetime.fromisoformat(gang.last_news) < RECENT
        return False

    def _post(self, gang: Gang, event: GangEvent) -> bool:
        """False if too many events wait: it is to be posted later."""
        dropped = self.recorder.is_full
        post = self.recorder.normal if event.reason is EventReason.GANG_SCHEDULED else self.recorder.warning
        post(gang.job, event.reason, event.message, event.identity)
        return not dropped

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
