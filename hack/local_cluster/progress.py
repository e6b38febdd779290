"""Progress messages for the user. They go to standard error, since standard output is for results."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

_BEAT = 10.0


def say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


class Heartbeat:
    """Prints a sentence with the elapsed time at intervals."""

    def __init__(self, sentence: Callable[[], str]) -> None:
        self._sentence = sentence
        self._began = time.monotonic()
        self._next = self._began + _BEAT

    @property
    def elapsed(self) -> str:
        minutes, seconds = divmod(int(time.monotonic() - self._began), 60)
        return f"{minutes}m{seconds:02d}s"

    def beat(self) -> None:
        if time.monotonic() >= self._next:
            self._next += _BEAT
            say(f"  {self._sentence()} ({self.elapsed})")
