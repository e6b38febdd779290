"""Lanes: calls of different urgency never wait for each other.

Each lane has its own connections and its own limit of concurrent calls. `CONTROL` is for the Lease, the probes, the
certificate and the webhook configurations; `ADMISSION` is for the calls of a webhook before it answers; `BACKGROUND` is
for everything else: workers, resync, events, reflectors.

A call belongs to the `LaneWork` of its task, and child tasks inherit the `LaneWork`. If two callers share one, it uses
the lane of the more urgent one: an admission request that waits for work of a worker calls `hurry`.
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
    """Most urgent first."""

    CONTROL = 0
    ADMISSION = 1
    BACKGROUND = 2


CALLS_AT_ONCE = {Lane.CONTROL: 16, Lane.ADMISSION: 64, Lane.BACKGROUND: 64}
"""Concurrent calls per replica. 64 workers with up to three calls each could use 192, but that is not faster."""


@dataclass(eq=False, slots=True)
class LaneWork:
    lane: Lane = Lane.BACKGROUND
    _hurried: asyncio.Event = field(default_factory=asyncio.Event)

    def hurry(self, lane: Lane) -> None:
        """Move this work to a more urgent lane, because a caller in that lane waits for it."""
        if lane < self.lane:
            self.lane = lane
            self._hurried.set()
            self._hurried = asyncio.Event()

    async def hurried(self) -> None:
        """Return when the work moves to a more urgent lane."""
        await self._hurried.wait()


_current: ContextVar[LaneWork | None] = ContextVar("work", default=None)


def current_work() -> LaneWork:
    return _current.get() or LaneWork()


@asynccontextmanager
async def in_lane(lane: Lane) -> AsyncIterator[None]:
    """Calls inside the block (or the decorated coroutine) use this lane, and so do the tasks that it starts."""
    before = _current.get()
    _current.set(LaneWork(lane))
    try:
        yield
    finally:
        _current.set(before)


async def within(work: LaneWork, coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Await the coroutine as part of `work`. Call this in a new task, since it sets the task's `LaneWork`."""
    _current.set(work)
    return await coroutine


class Places:
    """The slots of each lane. Time spent waiting for a slot does not count as time of the API server."""

    def __init__(self) -> None:
        self._free = {lane: asyncio.Semaphore(count) for lane, count in CALLS_AT_ONCE.items()}

    @asynccontextmanager
    async def take(self, work: LaneWork) -> AsyncIterator[Lane]:
        """Hold a slot of the work's lane, or of the more urgent lane that it moves to while it waits."""
        lane = await self._next(work)
        try:
            yield lane
        finally:
            self._free[lane].release()

    async def _next(self, work: LaneWork) -> Lane:
        while True:
            lane = work.lane
            free = self._free[lane]
            if not free.locked():
                await free.acquire()
                return lane
            if await self._wait(free, work):
                return lane

    async def _wait(self, free: asyncio.Semaphore, work: LaneWork) -> bool:
        """Wait for a slot. False if the work moved to another lane first."""
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
