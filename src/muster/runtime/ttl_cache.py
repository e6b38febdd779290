"""A cache with a limited age and number of entries.

The keys are UIDs and names, whose length `api.wire` limits when it parses them, so the number of entries also bounds
the memory. See "Memory" in docs/operations.md.
"""

import time
from collections import OrderedDict
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")

CAPACITY = 10_000


class TtlCache(Generic[Key, Value]):
    """A dict whose entries expire. When it is full, the oldest entry is removed."""

    def __init__(self, seconds: float, capacity: int = CAPACITY) -> None:
        self._seconds = seconds
        self._capacity = capacity
        self._entries: OrderedDict[Key, tuple[float, Value]] = OrderedDict()

    def remember(self, key: Key, value: Value) -> None:
        self._entries[key] = (time.monotonic() + self._seconds, value)
        self._entries.move_to_end(key)
        while len(self._entries) > self._capacity:
            self._entries.popitem(last=False)

    def recall(self, key: Key) -> Value | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry[0] < time.monotonic():
            del self._entries[key]
            return None
        return entry[1]

    def forget(self, key: Key) -> None:
        self._entries.pop(key, None)
