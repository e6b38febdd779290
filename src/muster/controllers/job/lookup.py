"""Reading Jobs that no watch stream has shown yet.

Nearly always that is a Job so new that its first pod comes before its own event. It can also be made up: everybody who
reaches admission can name any Job. So each one costs one read, and there are only so many of them.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from muster.api.job import JobView
from muster.api.keys import JobRef
from muster.kube.errors import RetryLater
from muster.runtime.ttl_cache import TtlCache

AT_A_TIME = 32
PER_SECOND = 200.0
BURST = 400.0
GONE_SECONDS = 2.0
MAX_GONE = 1_000


class Busy(RetryLater):
    """More unknown Jobs are asked about than Muster looks up."""


@dataclass(slots=True)
class Lookup:
    read: Callable[[JobRef], Awaitable[JobView | None]]
    clock: Callable[[], float] = time.monotonic
    _under_way: dict[JobRef, asyncio.Task[JobView | None]] = field(default_factory=dict)
    _gone: TtlCache[JobRef, bool] = field(default_factory=lambda: TtlCache(GONE_SECONDS, MAX_GONE))
    """A UID is never given again: what was not there once never comes."""
    _left: float = BURST
    """Reads that may begin now."""
    _counted_at: float = 0.0

    async def find(self, ref: JobRef) -> JobView | None:
        """The Job with that very UID, if it is there. Raises Busy instead of waiting."""
        if self._gone.recall(ref):
            return None
        task = self._under_way.get(ref)
        if task is None:
            self._count()
            task = asyncio.create_task(self._find(ref), name=f"look {ref.key} up")
            self._under_way[ref] = task
            task.add_done_callback(lambda done: self._end(ref, done))
        return await asyncio.shield(task)  # pods of one Job come in bursts, and wait for the same read

    async def _find(self, ref: JobRef) -> JobView | None:
        job = await self.read(ref)
        if job is None:
            self._gone.remember(ref, True)
        return job

    def _count(self) -> None:
        now = self.clock()
        self._left = min(BURST, self._left + (now - self._counted_at) * PER_SECOND)
        self._counted_at = now
        if len(self._under_way) >= AT_A_TIME or self._left < 1:
            raise Busy("Muster is busy: it is asked about too many Jobs that it does not know")
        self._left -= 1

    def _end(self, ref: JobRef, task: asyncio.Task[JobView | None]) -> None:
        del self._under_way[ref]
        if not task.cancelled():
            task.exception()  # all who waited may have left
