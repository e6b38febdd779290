"""Things worth remembering for a while, and only so many of them.

The bound in bytes follows from that of the entries: keys are UIDs and names, which are bounded where they are parsed
(`api.wire`). docs/operations.md, "Memory", has the sums.
"""

import time
from collections import OrderedDict
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")

CAPACITY = 10_000


class TtlCache(Generic[Key, Value]):
    """A dict with a limit: entries expire, and the oldest go when it is full."""

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
