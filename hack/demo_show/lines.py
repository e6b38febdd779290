"""The demo as plain text for a log file or a pipe: one line per change."""

from __future__ import annotations

import time
from collections.abc import Callable

from demo_show.promises import Promise
from demo_show.show import Made, Row, Show


class Lines:
    reading_seconds = 0.5

    def __init__(self, show: Show, write: Callable[[str], None]) -> None:
        self._show = show
        self._write = write
        self._began = time.monotonic()
        self._shown: dict[str, Row] = {}
        self._act = ""
        self._words: str | None = None

    def refresh(self) -> None:
        if self._act != self._show.act:
            self._act = self._show.act
            self._line(f"== {self._act}: {self._show.narration}")
        for row in self._show.rows():
            if self._shown.get(row.job) != row:
                self._line(_news(row, self._shown.get(row.job)))
                self._shown[row.job] = row
        words = self._show.scheduler_words()
        if words and words != self._words:
            self._line(f"kube-scheduler on {words}")
        self._words = words

    def report(self, sentence: str) -> None:
        self.refresh()
        self._line(sentence)

    def checked(self, promise: Promise, problem: str | None) -> None:
        self.refresh()
        self._line(f"✗ {promise.sentence}: {problem}" if problem else f"✓ {promise.sentence}")

    def _line(self, text: str) -> None:
        self._write(f"{time.monotonic() - self._began:5.1f} s  {text}")


def _news(row: Row, before: Row | None) -> str:
    """Prints the long names only when they are new."""
    parts = [f"pods {row.created} created, {row.bound} bound"]
    if before is None or (before.workload, before.pod_group) != (row.workload, row.pod_group):
        parts.append(f"Workload {_named(row.workload)}, PodGroup {_named(row.pod_group)}")
    parts.append(row.state or f"waits for {row.waits_for}")
    return f"{row.job} ({row.what}): {'; '.join(parts)}"


def _named(made: Made) -> str:
    return f"{made.name} {made.note}".rstrip()
