"""What Muster deletes of a suspended Job's pair: the PodGroup, then the Workload (KEP-5547, beta)."""

from collections.abc import Iterable
from dataclasses import dataclass

from muster.api.job import JobView
from muster.api.v1alpha2.podgroup import PodGroup
from muster.api.v1alpha2.workload import Workload
from muster.core.ownership import is_own
from muster.core.policy import Policy, ReleaseOnSuspend


@dataclass(frozen=True, slots=True)
class DeleteObject:
    """Deletes exactly that object."""

    thing: Workload | PodGroup

    @property
    def name(self) -> str:
        return self.thing.metadata.name


def next_to_delete(
    job: JobView, groups: Iterable[PodGroup], workloads: Iterable[Workload], policy: Policy
) -> DeleteObject | None:
    """Only what Muster made for this Job. The caller has seen that no pod of it lives."""
    if not job.at_rest or job.finished or not releases_pod_group(job, policy):
        return None
    things: tuple[Workload | PodGroup, ...] = (*groups,)
    if policy.release_on_suspend is ReleaseOnSuspend.PAIR:
        things += (*workloads,)
    staying = (thing for thing in things if thing.metadata.deletion_timestamp is None)
    return next((DeleteObject(thing) for thing in staying if is_own(job, thing)), None)


def releases_pod_group(job: JobView, policy: Policy) -> bool:
    """Whether the Job's PodGroup goes when the Job is suspended."""
    if policy.release_on_suspend is ReleaseOnSuspend.AUTO:
        return job.in_queue
    return policy.release_on_suspend is not ReleaseOnSuspend.NOTHING


def may_begin_again(job: JobView, policy: Policy) -> bool:
    """Its pods were deleted when it was suspended, and so was its Workload: pods that ended do not count."""
    return policy.release_on_suspend is ReleaseOnSuspend.PAIR and job.suspended_once
