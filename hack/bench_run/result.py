"""What a run says: ratios of Muster to the in-tree controller, by work and quantity. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from bench_run.measure import Measurement
from bench_run.work import Work


@dataclass(frozen=True, slots=True)
class Ratio:
    """Muster's number through the in-tree controller's, of each round."""

    rounds: tuple[float, ...]

    @property
    def middle(self) -> float:
        return median(self.rounds)

    def __str__(self) -> str:
        return f"{self.middle:.2f}  ({min(self.rounds):.2f} to {max(self.rounds):.2f})"


@dataclass(frozen=True, slots=True)
class Row:
    work: str
    quantity: str
    in_tree: float
    muster: float
    """Medians over the rounds, in seconds."""
    ratio: Ratio


@dataclass(frozen=True, slots=True)
class Round:
    """Both sides did the same work, one after the other."""

    in_tree: Measurement
    muster: Measurement


QUANTITIES: dict[str, Callable[[Measurement], float | None]] = {
    "until all pods are bound": lambda one: one.bound,
    "Job to PodGroup, median": lambda one: one.grouped,
    "CPU of all processes": lambda one: sum(one.cpu.values()),
}


def rows(work: Work, rounds: Sequence[Round]) -> list[Row]:
    found = []
    for quantity, of in QUANTITIES.items():
        pairs = [(of(each.in_tree), of(each.muster)) for each in rounds]
        known = [(ours, theirs) for theirs, ours in pairs if ours is not None and theirs]
        if len(known) == len(rounds):
            ratio = Ratio(tuple(ours / theirs for ours, theirs in known))
            found.append(Row(work.name, quantity, median(t for _, t in known), median(o for o, _ in known), ratio))
    return found


def as_json(work: Work, rounds: Sequence[Round]) -> dict[str, Any]:
    ratios = {row.quantity: {"median": row.ratio.middle, "rounds": row.ratio.rounds} for row in rows(work, rounds)}
    return {"work": asdict(work), "ratios": ratios, "rounds": [asdict(each) for each in rounds]}
