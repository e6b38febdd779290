"""What Muster deletes of a suspended Job's pair: the PodGroup, then the Workload (KEP-5547, beta)."""

from collections.abc import Iterable

from muster.api.job import JobView
from muster.api.v1alpha2.podgroup import PodGroup
from muster.api.v1alpha2.workload import Workload
from muster.core.actions import DeleteObject
from muster.core.ownership import is_own
from muster.core.policy import Policy, ReleaseOnSuspend


def next_to_delete(
    job: JobView, groups: Iterable[PodGroup], workloads: Iterable[Workload], policy: Policy
) -> DeleteObject | None:
    """The next object of Muster's own to delete. The caller has checked that no pod of the Job lives."""
    if not job.at_rest or job.finished or not releases_pod_group(job, policy):
        return None
    things: tuple[Workload | PodGroup, ...] = (*groups,)
    if policy.release_on_suspend is ReleaseOnSuspend.PAIR:
        things += (*workloads,)
    staying = (thing for thing in things if thing.metadata.deletion_timestamp is None)
    return next((DeleteObject(thing) for thing in staying if is_own(job, thing)), None)


def releases_pod_group(job: JobView, policy: Policy) -> bool:
    """Whether Muster deletes the Job's PodGroup when the Job is suspended."""
    if policy.release_on_suspend is ReleaseOnSuspend.AUTO:
        return job.in_queue
    return policy.release_on_suspend is not ReleaseOnSuspend.NOTHING


def may_begin_again(job: JobView, policy: Policy) -> bool:
    """The pods and the Workload were deleted when the Job was suspended, so pods that ended do not count."""
    return policy.release_on_suspend is ReleaseOnSuspend.PAIR and job.suspended_once
