"""Lanes: calls of different urgency never wait for each other.

Each lane has connections of its own and a limit of calls under way. `CONTROL` is for the Lease, the probes, the
certificate and the webhook configurations; `ADMISSION` for what a webhook asks before it answers; `EAGER` for
everything else: workers, resync, events, reflectors.

A call belongs to the `Work` of the task that makes it, which tasks inherit. Work that two callers share uses the lane
of the more urgent one: a request of the API server that waits for what a worker began calls `hurry`.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, TypeVar

Result = TypeVar("Result")


class Lane(IntEnum):
    """The most urgent first."""

    CONTROL = 0
    ADMISSION = 1
    EAGER = 2


CALLS_AT_ONCE = {Lane.CONTROL: 16, Lane.ADMISSION: 64, Lane.EAGER: 64}
"""Per replica. 64 workers with up to three calls each would ask for three times as many, and gain nothing."""


@dataclass(eq=False, slots=True)
class Work:
    lane: Lane = Lane.EAGER
    _hurried: asyncio.Event = field(default_factory=asyncio.Event)

    def hurry(self, lane: Lane) -> None:
        """Somebody waits for it who may use this lane."""
        if lane < self.lane:
            self.lane = lane
            self._hurried.set()
            self._hurried = asyncio.Event()

    async def hurried(self) -> None:
        """Returns when the lane becomes a more urgent one."""
        await self._hurried.wait()


_current: ContextVar[Work | None] = ContextVar("work", default=None)


def current_work() -> Work:
    return _current.get() or Work()


@asynccontextmanager
async def in_lane(lane: Lane) -> AsyncIterator[None]:
    """Inside the block (or the decorated coroutine) calls use this lane, also those of tasks that it starts."""
    before = _current.get()
    _current.set(Work(lane))
    try:
        yield
    finally:
        _current.set(before)


async def within(work: Work, coroutine: Coroutine[Any, Any, Result]) -> Result:
    """For a task of its own: the coroutine, as this piece of work."""
    _current.set(work)
    return await coroutine


class Places:
    """The limit of each lane. Waiting for a place does not count as waiting for the API server."""

    def __init__(self) -> None:
        self._free = {lane: asyncio.Semaphore(count) for lane, count in CALLS_AT_ONCE.items()}

    @asynccontextmanager
    async def take(self, work: Work) -> AsyncIterator[Lane]:
        """A place in the work's lane, or in the more urgent one that it gets while it waits."""
        lane = await self._next(work)
        try:
            yield lane
        finally:
            self._free[lane].release()

    async def _next(self, work: Work) -> Lane:
        while True:
            lane = work.lane
            free = self._free[lane]
            if not free.locked():
                await free.acquire()
                return lane
            if await self._wait(free, work):
                return lane

    async def _wait(self, free: asyncio.Semaphore, work: Work) -> bool:
        """False if the work was hurried first."""
        waiting, hurried = asyncio.ensure_future(free.acquire()), asyncio.ensure_future(work.hurried())
        try:
            await asyncio.wait({waiting, hurried}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            if waiting.done():
                free.release()
            raise
        finally:
            hurried.cancel()
            waiting.cancel()
        return waiting.done()
