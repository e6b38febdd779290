"""One measurement: the work on one side, from the first request to the last bound pod."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field
from statistics import median

from bench_run.api import BOUND, POD_GROUPS, Stream, make_namespace, owner_of, remove_namespace, submit
from bench_run.cluster import Side
from bench_run.work import Work

BOUND_SECONDS = 600
SETTLE_SECONDS = 2.0
"""Events, and the last updates of status, come after the last pod is bound. Their CPU time counts."""
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Measurement:
    bound: float
    """Seconds from the first request to the last bound pod."""
    grouped: float | None
    """Median seconds from the request for a Job to its PodGroup; None for Jobs that get none."""
    cpu: dict[str, float] = field(default_factory=dict)
    """CPU seconds of each process."""


def measure(side: Side, work: Work) -> Measurement:
    """All repeats share a namespace: to remove one takes many seconds."""
    namespace = f"bench-{next(_numbers)}"
    make_namespace(side, namespace)
    pods, groups = Stream(side, BOUND.format(namespace)), Stream(side, POD_GROUPS.format(namespace), owner_of)
    try:
        taken = [_once(side, work, namespace, number, pods, groups) for number in range(work.repeats)]
    finally:
        pods.close()
        groups.close()
        remove_namespace(side, namespace)
    grouped = [one.grouped for one in taken if one.grouped is not None]
    return Measurement(
        bound=median(one.bound for one in taken),
        grouped=median(grouped) if grouped else None,
        cpu={name: sum(one.cpu[name] for one in taken) for name in taken[0].cpu},
    )


def _once(side: Side, work: Work, namespace: str, number: int, pods: Stream, groups: Stream) -> Measurement:
    time.sleep(SETTLE_SECONDS)
    before, began = side.cpu(), time.monotonic()
    sent = submit(side, namespace, work.manifests(number))
    ended = pods.wait_for(work.jobs * work.pods * (number + 1), BOUND_SECONDS)
    if work.gang:
        groups.wait_for(work.jobs * (number + 1), BOUND_SECONDS)
    time.sleep(SETTLE_SECONDS)
    after = side.cpu()
    waited = [when - sent[job] for when, job in groups.added if job in sent]
    used = {name: after[name] - before[name] for name in after}
    return Measurement(ended - began, median(waited) if waited else None, used)
