"""How long it takes from a Job to its objects. Measured from the first sight of it here: creationTimestamp has whole
seconds, and another clock's."""

import time
from dataclasses import dataclass, field

from muster.api.keys import Uid
from muster.runtime.metrics import Metrics
from muster.runtime.ttl_cache import TtlCache

LONGEST_SECONDS = 3600.0

WORKLOAD, POD_GROUP, SCHEDULED = "workload", "podgroup", "scheduled"


@dataclass(slots=True)
class LatencyTracker:
    metrics: Metrics
    _seen: TtlCache[Uid, float] = field(default_factory=lambda: TtlCache(LONGEST_SECONDS))
    _done: TtlCache[tuple[Uid, str], bool] = field(default_factory=lambda: TtlCache(LONGEST_SECONDS))

    def start(self, uid: Uid) -> None:
        """The Job appeared; only its first sight counts."""
        if self._seen.recall(uid) is None:
            self._seen.remember(uid, time.monotonic())

    def stop(self, uid: Uid, stage: str) -> None:
        """It came this far, for the first time. What was there before Muster looked is not measured."""
        began = self._seen.recall(uid)
        if began is None or self._done.recall((uid, stage)):
            return
        self._done.remember((uid, stage), True)
        self.metrics.formation.labels(stage).observe(time.monotonic() - began)
