"""The demo on a terminal: a table that updates, the act above it, the promises below."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from demo_show.promises import Promise
from demo_show.show import NOTHING, Made, Row, Show

_ROOMY = 110
"""Terminal width from which the full names of the objects fit."""
_NARROW_NAME = 11
"""Characters of a PodGroup's name on a narrow terminal: the last ones, since it begins with its Workload's name."""


class Screen:
    reading_seconds = 4.0

    def __init__(self, show: Show, console: Console) -> None:
        self._show = show
        self._console = console
        # The demo refreshes the screen itself: a thread would read the record while it changes.
        self._live = Live(console=console, auto_refresh=False, vertical_overflow="crop")

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._live.stop()

    def refresh(self) -> None:
        self._live.update(self.picture(), refresh=True)

    def report(self, sentence: str) -> None:
        self._console.print(Text(f"  {sentence}", style="dim"))
        self.refresh()

    def checked(self, promise: Promise, problem: str | None) -> None:
        if problem:
            self._console.print(Text(f"✗ {promise.sentence}: {problem}", style="bold red"))
        self.refresh()

    def picture(self) -> RenderableType:
        words = self._show.scheduler_words()
        said = Text.assemble(("kube-scheduler on ", "dim"), (words, "yellow")) if words else Text("")
        return Group(
            Text(),
            self._headline(),
            Padding(Text(self._show.narration), (0, 0, 1, 2)),
            self._jobs(),
            Padding(said, (0, 0, 0, 2)),
            Text(),
            Padding(self._promises(), (0, 0, 0, 2)),
        )

    def _headline(self) -> RenderableType:
        taken, cpus = self._show.cpus_taken, self._show.cpus
        line = Table.grid(expand=True)
        line.add_column(ratio=1)
        line.add_column(justify="right")
        bar = Text.assemble(("█" * taken, "cyan"), ("░" * (cpus - taken), "dim"), f" {taken}/{cpus} CPUs taken")
        line.add_row(Text(self._show.act, style="bold cyan"), bar)
        return line

    def _jobs(self) -> Table:
        roomy = self._console.width >= _ROOMY
        table = Table(box=SIMPLE_HEAD, expand=True, pad_edge=False, show_edge=False)
        table.add_column("Job", no_wrap=True)
        table.add_column("Workload", overflow="ellipsis", no_wrap=True, ratio=20)
        table.add_column("PodGroup", overflow="ellipsis", no_wrap=True, ratio=46 if roomy else 20)
        table.add_column("created", justify="right", no_wrap=True)
        table.add_column("bound", justify="right", no_wrap=True)
        table.add_column("waits for", ratio=20, overflow="fold")
        for row in self._show.rows():
            table.add_row(
                Text.assemble((row.job, "bold"), "\n", (row.what, "dim")),
                _made(row.workload, row.workload.name),
                _made(row.pod_group, row.pod_group.name if roomy else f"…{row.pod_group.name[-_NARROW_NAME:]}"),
                Text.assemble(row.created, "\n", (row.created_revisions, "dim")),
                _bound(row),
                _waiting(row),
            )
        return table

    def _promises(self) -> Table:
        grid = Table.grid(expand=True, padding=(0, 2, 0, 0))
        grid.add_column(ratio=1)
        grid.add_column(ratio=1)
        cells = [self._promise(promise) for promise in Promise]
        half = (len(cells) + 1) // 2
        for left, right in zip(cells[:half], [*cells[half:], Text()], strict=False):
            grid.add_row(left, right)
        return grid

    def _promise(self, promise: Promise) -> Text:
        if promise not in self._show.results:
            return Text(f"· {promise.brief}", style="dim")
        if self._show.results[promise]:
            return Text(f"✗ {promise.brief}", style="bold red")
        return Text.assemble(("✓ ", "bold green"), promise.brief)


def _made(made: Made, name: str) -> Text:
    return Text("none", style="dim") if made == NOTHING else Text.assemble(name, "\n", (made.note, "dim"))


def _bound(row: Row) -> Text:
    number, _, size = row.bound.partition("/")
    return Text(row.bound, style="bold green" if number == size else "bold yellow" if number == "0" else "bold red")


def _waiting(row: Row) -> Text:
    if row.waits_for:
        return Text(row.waits_for, style="yellow")
    return Text.assemble("nothing: ", (row.state, "green"))
