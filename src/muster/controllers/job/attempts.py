"""Remembers what failed for a Job. Without this memory, Muster would repeat a write that fails."""

from dataclasses import dataclass, field, replace

from muster.api.keys import Uid
from muster.core.observed import Observed
from muster.runtime.ttl_cache import TtlCache

SECONDS = 600.0
JOBS = 1_000
"""Maximum number of Jobs. Each one needs a few names that are taken."""


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    taken: frozenset[str] = frozenset()
    rejected: str = ""


@dataclass(slots=True)
class Attempts:
    """Owns the taken names and the rejections of each Job, and the size that Muster requested for each PodGroup."""

    _failed: TtlCache[Uid, FailedAttempt] = field(default_factory=lambda: TtlCache(SECONDS, JOBS))
    _sizes: TtlCache[Uid, int] = field(default_factory=lambda: TtlCache(SECONDS))

    def recall(self, seen: Observed) -> Observed:
        attempt = self._failed.recall(seen.job.uid) if seen.job else None
        return seen if attempt is None else replace(seen, taken=attempt.taken, rejected=attempt.rejected)

    def learn(self, seen: Observed) -> None:
        if seen.job is not None and (seen.taken or seen.lasting_rejection):
            self._failed.remember(seen.job.uid, FailedAttempt(seen.taken, seen.lasting_rejection))

    def requested_size(self, pod_group: Uid) -> int | None:
        return self._sizes.recall(pod_group)

    def resized(self, pod_group: Uid, size: int) -> None:
        self._sizes.remember(pod_group, size)
