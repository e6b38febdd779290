"""The demo: four acts, each ends with the promises that it was about."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import yaml

from demo_show import promises
from demo_show.api import Api
from demo_show.promises import Promise, first_complaint
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
"""Seconds in which a gang without room could start by mistake."""


class Scenario:
    def __init__(self, api: Api, show: Show, audience: Audience, check_record: Callable[[], None]) -> None:
        self._api = api
        self._show = show
        self._audience = audience
        self._check_record = check_record
        self._room_at: float | None = None

    async def run(self) -> None:
        """To the end, or to the end of the act in which a promise was broken."""
        for act in (self._a_gang_that_fits, self._a_gang_that_does_not, self._room_is_made, self._jobs_are_deleted):
            await act()
            if self._show.broken:
                return

    async def _a_gang_that_fits(self) -> None:
        self._open_act(
            "Act 1: a gang that fits",
            "An ordinary Job of 8 pods. Muster makes its Workload, then its PodGroup, before the first pod "
            "(@: etcd's revision); kube-scheduler starts all 8 at once.",
        )
        submitted_at = time.monotonic()
        await self._submit(FITTING)
        await self._until(lambda: self._of(FITTING).started)
        gang = self._of(FITTING)
        self._judge(Promise.AT_ONCE, promises.not_started_as_a_whole(gang))
        if gang.started:
            self._tell_how(gang, submitted_at, "of being submitted")
        await self._hold(self._audience.reading_seconds)

    async def _a_gang_that_does_not(self) -> None:
        self._open_act(
            "Act 2: a gang that does not fit",
            "12 pods, and room for 8. All wait, none takes a CPU: a plain Job of 2 pods still finds room beside them.",
        )
        await self._submit(WAITING)
        await self._until(lambda: promises.why_it_waits(self._of(WAITING)) is not None)
        await self._submit(PLAIN)
        await self._until(lambda: self._of(PLAIN).started)
        await self._hold(_HOLD)
        gangs, plain, waiting = self._gangs(), self._of(PLAIN), self._of(WAITING)
        ordered = (check(gang) for gang in gangs for check in (promises.not_one_pair, promises.out_of_order))
        self._judge(Promise.ORDER, first_complaint(ordered))
        self._judge(Promise.MEMBERS, first_complaint(map(promises.outside_its_group, gangs)))
        waited = (promises.started_too_soon(waiting, None), promises.waits_untold(waiting))
        self._judge(Promise.WAITS, first_complaint(waited))
        plain_ran = (promises.not_started_as_a_whole(plain), promises.drawn_into_a_gang(plain))
        self._judge(Promise.PLAIN, first_complaint(plain_ran))

    async def _room_is_made(self) -> None:
        self._open_act(
            "Act 3: room is made",
            "The first gang's pods end, as their kubelets would tell. The waiting gang starts, again as a whole.",
        )
        self._room_at = time.monotonic()
        pods = [f"{PODS}/{pod.name}" for pod in self._of(FITTING).pods]
        await asyncio.gather(*(self._api.patch_status(pod, {"phase": "Succeeded"}) for pod in pods))
        await self._until(lambda: self._of(WAITING).started)
        waiting = self._of(WAITING)
        started = (promises.started_too_soon(waiting, self._room_at), promises.not_started_as_a_whole(waiting))
        self._judge(Promise.ROOM, first_complaint(started))
        if waiting.started:
            self._tell_how(waiting, self._room_at, "of the first CPU being freed")
        await self._until(self._events_told, _EVENTS_PATIENCE)
        await self._hold(self._audience.reading_seconds)
        now = time.monotonic()
        self._judge(Promise.NEVER_HALF, first_complaint(promises.half_started(gang, now) for gang in self._gangs()))
        self._judge(Promise.EVENTS, self._events_complaint())

    async def _jobs_are_deleted(self) -> None:
        self._open_act(
            "Act 4: the gangs' Jobs are deleted",
            "One has finished, one runs. Their pods, PodGroups and Workloads go with them; the plain Job stays.",
        )
        jobs = [*self._gangs(), self._of(PLAIN)]
        self._judge(Promise.UNTOUCHED, first_complaint(map(promises.changed_by_somebody, jobs)))
        for name in (FITTING, WAITING):
            await self._api.delete(f"{JOBS}/{name}")
        await self._until(lambda: not any(gang.left for gang in self._gangs()))
        self._judge(Promise.DELETED, first_complaint(map(promises.left_behind, self._gangs())))
        await self._hold(self._audience.reading_seconds)

    def _open_act(self, title: str, narration: str) -> None:
        self._show.act, self._show.narration = title, narration
        self._audience.refresh()

    def _judge(self, promise: Promise, complaint: str | None) -> None:
        self._show.verdicts[promise] = complaint
        self._audience.judged(promise, complaint)

    def _tell_how(self, gang: JobFacts, since: float, since_what: str) -> None:
        seconds = promises.whole_after(gang, since)
        self._audience.tell(f"{gang.name}: all {gang.parallelism} pods bound within {seconds:.2f} s {since_what}")

    async def _submit(self, job: str) -> None:
        await self._api.create(JOBS, yaml.safe_load((EXAMPLES / FILES[job]).read_text()))
        self._show.jobs.append(job)

    async def _until(self, condition: Callable[[], bool], seconds: float = _PATIENCE) -> None:
        """Or until patience ends: then the promise is checked all the same, and its complaint tells what is missing."""
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

    def _events_told(self) -> bool:
        return self._events_complaint() is None

    def _events_complaint(self) -> str | None:
        missing = first_complaint(map(promises.events_missing, self._gangs()))
        return missing or promises.events_unasked(self._of(PLAIN))
