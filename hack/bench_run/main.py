"""The command line of `hack/bench`."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from rich.console import Console
from rich.table import Table

from bench_run.cluster import OWN_MUSTER, BenchError, Side, both_sides
from bench_run.measure import measure
from bench_run.picture import picture
from bench_run.result import Round, Row, as_json, rows
from bench_run.work import WORKS, Work
from local_cluster.errors import ClusterError
from local_cluster.progress import say


def main() -> int:
    arguments = _parser().parse_args()
    chosen = _chosen(arguments.only)
    if not chosen:
        say(f"hack/bench: no work has all of these words in its name: {' '.join(arguments.only)}.")
        return 2
    signal.signal(signal.SIGTERM, _interrupted)
    try:
        with both_sides(arguments.muster) as sides:
            measured = dict(_measured(sides, chosen, arguments.rounds))
    except (BenchError, ClusterError) as error:
        say(f"hack/bench: {error}")
        return 1
    found = [row for work, rounds in measured.items() for row in rows(work, rounds)]
    Console().print(_table(found))
    if arguments.save:
        _save(arguments.save, measured, found)
    return 0


def _chosen(words: Sequence[str]) -> list[Work]:
    """The work with exactly this name, else all with these words in their names."""
    exactly = [work for work in WORKS if work.name == " ".join(words)]
    return exactly or [work for work in WORKS if all(word in work.name for word in words)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hack/bench",
        description="Measures Muster beside the in-tree controller: the same work on two identical control planes.",
    )
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="rounds of each work (default: %(default)s)")
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="only work with these words in its name")
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="write bench.json and bench.svg into this folder")
    parser.add_argument(
        "--muster",
        type=Path,
        default=OWN_MUSTER,
        metavar="PROGRAM",
        help="another build of muster (default: the clone's)",
    )
    return parser


def _interrupted(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _measured(sides: tuple[Side, Side], chosen: Sequence[Work], count: int) -> Iterator[tuple[Work, list[Round]]]:
    """The sides alternate, and each begins half of the rounds: what disturbs the machine for a while meets both."""
    in_tree, muster = sides
    for work in chosen:
        for side in sides:
            side.set_request_rate(work.qps, work.burst)
        rounds = []
        for number in range(count):
            order = (in_tree, muster) if number % 2 == 0 else (muster, in_tree)
            taken = {side.name: measure(side, work) for side in order}
            rounds.append(Round(taken[in_tree.name], taken[muster.name]))
            last = rounds[-1]
            seconds = f"{last.in_tree.bound:.2f} s in tree, {last.muster.bound:.2f} s with Muster"
            say(f"{work.name}, round {number + 1}: {seconds}")
        yield work, rounds


def _table(found: Sequence[Row]) -> Table:
    table = Table(
        "work", "measured", "in tree", "Muster", "ratio (spread)", title="Muster beside the in-tree controller"
    )
    for row in found:
        table.add_row(row.work, row.quantity, f"{row.in_tree:.3f} s", f"{row.muster:.3f} s", str(row.ratio))
    return table


def _save(folder: Path, measured: dict[Work, list[Round]], found: Sequence[Row]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "bench.json").write_text(json.dumps([as_json(*each) for each in measured.items()], indent=1) + "\n")
    (folder / "bench.svg").write_text(picture(found))
    say(f"Saved {folder / 'bench.json'} and {folder / 'bench.svg'}.")


if __name__ == "__main__":
    sys.exit(main())
