"""The four acts of the demo. Each ends with the check of its promises."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import yaml

from demo_show import promises
from demo_show.api import Api
from demo_show.promises import Promise, first_broken
from demo_show.record import JobFacts
from demo_show.setup import JOBS, PODS
from demo_show.show import Audience, Show

EXAMPLES = Path(__file__).parents[2] / "examples"
FITTING, WAITING, PLAIN = "train", "simulate", "report"
FILES = {FITTING: "gang.yaml", WAITING: "large-gang.yaml", PLAIN: "plain-job.yaml"}

_PATIENCE = 20.0
_EVENTS_PATIENCE = 5.0
_TICK = 0.1
_HOLD = 5.0
"""Seconds to wait for a gang without room to start by mistake."""


class Scenario:
    """Plays the four acts.

    Owns the time at which CPUs become free. It reads the record, creates, patches and deletes Jobs and pods with `api`,
    and writes the current act and the results into `show`.
    """

    def __init__(self, api: Api, show: Show, audience: Audience, check_record: Callable[[], None]) -> None:
        self._api = api
        self._show = show
        self._audience = audience
        self._check_record = check_record
        self._room_at: float | None = None

    async def run(self) -> None:
        """Runs to the end, or to the end of the act in which a promise is broken."""
        for act in (self._a_gang_that_fits, self._a_gang_that_does_not, self._room_is_made, self._jobs_are_deleted):
            await act()
            if self._show.broken:
                return

    async def _a_gang_that_fits(self) -> None:
        self._open_act(
            "Act 1: a gang that fits",
            "An ordinary Job of 8 pods. Muster creates its Workload, then its PodGroup, before the first pod "
            "(@: etcd's revision); kube-scheduler starts all 8 at once.",
        )
        submitted_at = time.monotonic()
        await self._submit(FITTING)
        await self._until(lambda: self._of(FITTING).started)
        gang = self._of(FITTING)
        self._conclude(Promise.AT_ONCE, promises.not_started_as_a_whole(gang))
        if gang.started:
            self._report_time(gang, submitted_at, "of being submitted")
        await self._hold(self._audience.reading_seconds)

    async def _a_gang_that_does_not(self) -> None:
        self._open_act(
            "Act 2: a gang that does not fit",
            "12 pods, but room for only 8. All 12 wait, and none takes a CPU, so a plain Job of 2 pods can run.",
        )
        await self._submit(WAITING)
        await self._until(lambda: promises.why_it_waits(self._of(WAITING)) is not None)
        await self._submit(PLAIN)
        await self._until(lambda: self._of(PLAIN).started)
        await self._hold(_HOLD)
        gangs, plain, waiting = self._gangs(), self._of(PLAIN), self._of(WAITING)
        ordered = (check(gang) for gang in gangs for check in (promises.not_one_pair, promises.out_of_order))
        self._conclude(Promise.ORDER, first_broken(ordered))
        self._conclude(Promise.MEMBERS, first_broken(map(promises.outside_its_group, gangs)))
        waited = (promises.started_too_soon(waiting, None), promises.waits_without_reason(waiting))
        self._conclude(Promise.WAITS, first_broken(waited))
        plain_ran = (promises.not_started_as_a_whole(plain), promises.has_a_group(plain))
        self._conclude(Promise.PLAIN, first_broken(plain_ran))

    async def _room_is_made(self) -> None:
        self._open_act(
            "Act 3: CPUs become free",
            "The first gang's pods end (the demo patches their status). The waiting gang starts, again as a whole.",
        )
        self._room_at = time.monotonic()
        pods = [f"{PODS}/{pod.name}" for pod in self._of(FITTING).pods]
        await asyncio.gather(*(self._api.patch_status(pod, {"phase": "Succeeded"}) for pod in pods))
        await self._until(lambda: self._of(WAITING).started)
        waiting = self._of(WAITING)
        started = (promises.started_too_soon(waiting, self._room_at), promises.not_started_as_a_whole(waiting))
        self._conclude(Promise.ROOM, first_broken(started))
        if waiting.started:
            self._report_time(waiting, self._room_at, "of the first CPU being freed")
        await self._until(self._events_posted, _EVENTS_PATIENCE)
        await self._hold(self._audience.reading_seconds)
        now = time.monotonic()
        self._conclude(Promise.NEVER_HALF, first_broken(promises.half_started(gang, now) for gang in self._gangs()))
        self._conclude(Promise.EVENTS, self._events_problem())

    async def _jobs_are_deleted(self) -> None:
        self._open_act(
            "Act 4: the gangs' Jobs are deleted",
            "One has finished, one runs. Their pods, PodGroups and Workloads are deleted too; the plain Job stays.",
        )
        jobs = [*self._gangs(), self._of(PLAIN)]
        self._conclude(Promise.UNTOUCHED, first_broken(map(promises.changed, jobs)))
        for name in (FITTING, WAITING):
            await self._api.delete(f"{JOBS}/{name}")
        await self._until(lambda: not any(gang.left for gang in self._gangs()))
        self._conclude(Promise.DELETED, first_broken(map(promises.left_behind, self._gangs())))
        await self._hold(self._audience.reading_seconds)

    def _open_act(self, title: str, narration: str) -> None:
        self._show.act, self._show.narration = title, narration
        self._audience.refresh()

    def _conclude(self, promise: Promise, problem: str | None) -> None:
        self._show.results[promise] = problem
        self._audience.checked(promise, problem)

    def _report_time(self, gang: JobFacts, since: float, since_what: str) -> None:
        seconds = promises.whole_after(gang, since)
        self._audience.report(f"{gang.name}: all {gang.parallelism} pods bound within {seconds:.2f} s {since_what}")

    async def _submit(self, job: str) -> None:
        await self._api.create(JOBS, yaml.safe_load((EXAMPLES / FILES[job]).read_text()))
        self._show.jobs.append(job)

    async def _until(self, condition: Callable[[], bool], seconds: float = _PATIENCE) -> None:
        """Wait for the condition or the timeout. The check of the promise then reports what is missing."""
        deadline = time.monotonic() + seconds
        while not condition() and time.monotonic() < deadline:
            await self._pass_time()

    async def _hold(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            await self._pass_time()

    async def _pass_time(self) -> None:
        self._check_record()
        self._audience.refresh()
        await asyncio.sleep(_TICK)

    def _of(self, job: str) -> JobFacts:
        return self._show.record.of_job(job)

    def _gangs(self) -> list[JobFacts]:
        return [self._of(FITTING), self._of(WAITING)]

    def _events_posted(self) -> bool:
        return self._events_problem() is None

    def _events_problem(self) -> str | None:
        missing = first_broken(map(promises.events_missing, self._gangs()))
        return missing or promises.unexpected_events(self._of(PLAIN))
