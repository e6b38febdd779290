"""The work queue of keys, with client-go's semantics: one worker per key, no duplicates, backoff per key."""

import asyncio
import heapq
import random
from collections import Counter, deque
from collections.abc import Callable
from itertools import count
from typing import Generic, TypeVar

Key = TypeVar("Key")

FIRST_RETRY_SECONDS = 0.2
LONGEST_RETRY_SECONDS = 60.0


class WorkQueue(Generic[Key]):
    """Keys that wait for a worker.

    Owns the keys that are ready, busy or delayed, and the failures of each. Controllers, intake and resync add keys;
    `Workers` take them. Not thread-safe: all calls are made on the loop that runs the workers.
    """

    def __init__(
        self, on_retry: Callable[[], None] = lambda: None, on_ignored: Callable[[Key], None] = lambda _: None
    ) -> None:
        self._on_retry = on_retry
        self._on_ignored = on_ignored
        """Called with each key that comes while the queue is closed."""
        self._closed = False
        self._ready: deque[Key] = deque()
        self._dirty: set[Key] = set()
        self._busy: set[Key] = set()
        self._failures: Counter[Key] = Counter()
        self._delayed: list[tuple[float, int, Key]] = []
        self._due: dict[Key, float] = {}
        self._order = count()
        self._wake = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._ready)

    @property
    def is_open(self) -> bool:
        return not self._closed

    def open(self) -> None:
        self._closed = False

    def close(self) -> None:
        """Drop all keys and ignore new ones until `open`. No worker runs in the meantime."""
        self._closed = True
        for emptied in (self._ready, self._dirty, self._failures, self._delayed, self._due):
            emptied.clear()
        self._arm()

    def add(self, key: Key) -> None:
        """Queue the key. If a worker is handling it, queue it again when that worker is done."""
        if self._closed:
            self._on_ignored(key)
            return
        self._due.pop(key, None)
        if key in self._dirty:
            return
        self._dirty.add(key)
        if key not in self._busy:
            self._ready.append(key)
            self._wake.set()

    def add_after(self, key: Key, seconds: float) -> None:
        """Queue the key after a delay, unless it is already due earlier."""
        if self._closed:
            self._on_ignored(key)
        if self._closed or key in self._dirty:
            return
        due = asyncio.get_running_loop().time() + seconds
        if self._due.get(key, float("inf")) <= due:
            return
        self._due[key] = due
        heapq.heappush(self._delayed, (due, next(self._order), key))
        self._arm()

    def retry(self, key: Key, at_least_seconds: float = 0.0) -> None:
        """Queue the key with exponential backoff and jitter, and not before the server's Retry-After."""
        if self._closed:
            self._on_ignored(key)
            return
        self._on_retry()
        failures = self._failures[key]
        self._failures[key] += 1
        backoff = min(LONGEST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2 ** min(failures, 20))
        self.add_after(key, max(at_least_seconds, backoff * random.uniform(0.5, 1.0)))

    def forget(self, key: Key) -> None:
        """The key succeeded: reset its backoff."""
        self._failures.pop(key, None)

    async def get(self) -> Key:
        while not self._ready:
            self._wake.clear()
            await self._wake.wait()
        key = self._ready.popleft()
        self._dirty.discard(key)
        self._busy.add(key)
        return key

    def done(self, key: Key) -> None:
        self._busy.discard(key)
        if key in self._dirty:
            self._ready.append(key)
            self._wake.set()

    def _arm(self) -> None:
        while self._delayed and self._due.get(self._delayed[0][2]) != self._delayed[0][0]:
            heapq.heappop(self._delayed)
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if self._delayed:
            self._timer = asyncio.get_running_loop().call_at(self._delayed[0][0], self._fire)

    def _fire(self) -> None:
        now = asyncio.get_running_loop().time()
        while self._delayed and self._delayed[0][0] <= now:
            due, _, key = heapq.heappop(self._delayed)
            if self._due.get(key) == due:
                self.add(key)
        self._timer = None
        self._arm()
