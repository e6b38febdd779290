"""How long Muster takes from a Job to its objects.

It measures from the moment this replica first sees the Job. The creationTimestamp is not usable: it has whole seconds
and comes from another clock.
"""

import time
from dataclasses import dataclass, field

from muster.api.keys import Uid
from muster.runtime.metrics import Metrics
from muster.runtime.ttl_cache import TtlCache

LONGEST_SECONDS = 3600.0

WORKLOAD, POD_GROUP, SCHEDULED = "workload", "podgroup", "scheduled"


@dataclass(slots=True)
class LatencyTracker:
    """Owns when this replica first saw each Job, and which stages it reached. It writes `muster_formation_seconds`."""

    metrics: Metrics
    _seen: TtlCache[Uid, float] = field(default_factory=lambda: TtlCache(LONGEST_SECONDS))
    _done: TtlCache[tuple[Uid, str], bool] = field(default_factory=lambda: TtlCache(LONGEST_SECONDS))

    def start(self, uid: Uid) -> None:
        """This replica sees the Job. Only the first call for a Job counts."""
        if self._seen.recall(uid) is None:
            self._seen.remember(uid, time.monotonic())

    def stop(self, uid: Uid, stage: str) -> None:
        """The Job reached this stage; only the first time counts. A Job without `start` is not measured."""
        began = self._seen.recall(uid)
        if began is None or self._done.recall((uid, stage)):
            return
        self._done.remember((uid, stage), True)
        self.metrics.formation.labels(stage).observe(time.monotonic() - began)
