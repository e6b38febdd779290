"""Reading Jobs that no watch stream has shown yet.

Usually the Job is so new that its first pod arrives before its own watch event. It can also be made up: any client that
reaches admission can name any Job. So Muster reads each of them once, and limits the number of these reads.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from muster.api.job import JobView
from muster.api.keys import JobRef
from muster.core import messages
from muster.kube.errors import RetryLater
from muster.runtime.ttl_cache import TtlCache

ReadJob = Callable[[JobRef], Awaitable[JobView | None]]

AT_A_TIME = 32
PER_SECOND = 200.0
BURST = 400.0
GONE_SECONDS = 2.0
MAX_GONE = 1_000


class Busy(RetryLater):
    """Clients ask about more unknown Jobs than Muster reads."""


@dataclass(slots=True)
class Lookup:
    """Reads each unknown Job once, within limits of rate and number.

    Owns the reads under way and the memory of Jobs that do not exist. It reads Jobs with the given function, and writes
    nothing.
    """

    clock: Callable[[], float] = time.monotonic
    _under_way: dict[JobRef, asyncio.Task[JobView | None]] = field(default_factory=dict)
    _gone: TtlCache[JobRef, bool] = field(default_factory=lambda: TtlCache(GONE_SECONDS, MAX_GONE))
    """A UID is never reused: a Job that does not exist now will never exist."""
    _left: float = BURST
    """Reads that may begin now."""
    _counted_at: float = 0.0

    async def find(self, ref: JobRef, read: ReadJob) -> JobView | None:
        """The Job with exactly this UID, if it exists. Raises Busy instead of waiting."""
        if self._gone.recall(ref):
            return None
        task = self._under_way.get(ref)
        if task is None:
            self._count()
            task = asyncio.create_task(self._find(ref, read), name=f"look {ref.key} up")
            self._under_way[ref] = task
            task.add_done_callback(lambda done: self._end(ref, done))
        return await asyncio.shield(task)  # pods of one Job come in bursts, and wait for the same read

    async def _find(self, ref: JobRef, read: ReadJob) -> JobView | None:
        job = await read(ref)
        if job is None:
            self._gone.remember(ref, True)
        return job

    def _count(self) -> None:
        now = self.clock()
        self._left = min(BURST, self._left + (now - self._counted_at) * PER_SECOND)
        self._counted_at = now
        if len(self._under_way) >= AT_A_TIME or self._left < 1:
            raise Busy(messages.TOO_MANY_UNKNOWN_JOBS)
        self._left -= 1

    def _end(self, ref: JobRef, task: asyncio.Task[JobView | None]) -> None:
        del self._under_way[ref]
        if not task.cancelled():
            task.exception()  # all who waited may have left
