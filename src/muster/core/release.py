"""What a suspended Job gives up, where the operator wants that: its PodGroup, then its Workload (KEP-5547, beta)."""

from collections.abc import Iterable
from dataclasses import dataclass

from muster.api.job import JobView
from muster.api.podgroup import PodGroup
from muster.api.workload import Workload
from muster.core.ownership import controls, is_ours
from muster.core.policy import Policy


@dataclass(frozen=True, slots=True)
class Release:
    """Deletes exactly that object."""

    thing: Workload | PodGroup

    @property
    def name(self) -> str:
        return self.thing.metadata.name


def released_next(
    job: JobView, groups: Iterable[PodGroup], workloads: Iterable[Workload], policy: Policy
) -> Release | None:
    """Only what Muster made for this very Job. Whoever asks has seen that no pod of it lives."""
    if not (policy.release_on_suspend and job.at_rest) or job.finished:
        return None
    things: tuple[Workload | PodGroup, ...] = (*groups, *workloads)
    for thing in things:
        staying = thing.metadata.deletion_timestamp is None
        if staying and controls(job, thing.metadata) and is_ours(thing.metadata):
            return Release(thing)
    return None


def may_begin_again(job: JobView, policy: Policy) -> bool:
    """Its pods were deleted when it was suspended, and so was its pair: those that ended do not count."""
    return policy.release_on_suspend and job.suspended_once
