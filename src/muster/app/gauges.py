"""Gauges that are computed on each scrape. They show the generation that runs then."""

from collections.abc import Mapping, Sized
from functools import partial

from muster.api.v1alpha2.podgroup import GangState
from muster.controllers.cache import Cache
from muster.controllers.gang_status.split_check import SplitCheck
from muster.runtime.metrics import Metrics


def measure_generation(metrics: Metrics, cache: Cache, split: SplitCheck, queues: Mapping[str, Sized]) -> None:
    for state in GangState:
        metrics.measure(metrics.gangs.labels(state.value), partial(cache.gangs.__getitem__, state))
    metrics.measure(metrics.split_gangs, split.count)
    for name, queue in queues.items():
        metrics.measure(metrics.queue_depth.labels(name), partial(len, queue))
