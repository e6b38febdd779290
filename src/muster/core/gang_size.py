"""How many pods a gang holds together: the number that its PodGroup should have, from the Job alone."""

from collections.abc import Iterable

from muster.api.job import JobView
from muster.api.v1alpha2.workload import Workload
from muster.core.ownership import controls, is_ours, template_for
from muster.core.policy import Policy
from muster.core.request import request_of


def group_size(job: JobView, workload: Workload, policy: Policy) -> int | None:
    """The minCount of the Job's PodGroup now; None if it is no gang.

    Indexes that have ended have no pods any more, and the scheduler counts only pods that have not: so many as there
    are of the others must suffice, or a lost pod never comes back.
    """
    wanted = whole_size(job, workload, policy)
    nothing_ended = job.unfinished == (job.completions or 0)
    return wanted if wanted is None or nothing_ended else max(1, min(wanted, job.unfinished))


def whole_size(job: JobView, workload: Workload, policy: Policy) -> int | None:
    """The same, as if no index had ended.

    Of a Job that is no gang by its numbers any more, Muster's own Workload still tells that it was one: never more pods
    than the Job has at a time, or none of them would start.
    """
    template = template_for(job, workload)
    gang = template.scheduling_policy.gang if template is not None else None
    if gang is None or not describes_as_muster(job, workload):
        return gang.min_count if gang else None
    return wanted_size(job, policy) or max(1, min(gang.min_count, 1 if job.parallelism is None else job.parallelism))


def describes_as_muster(job: JobView, workload: Workload) -> bool:
    """Muster wrote the Workload, from the Job: so the Job says more than it. Somebody else's is taken at its word."""
    return is_ours(workload.metadata) and controls(job, workload.metadata)


def was_gang(job: JobView, workloads: Iterable[Workload]) -> bool:
    """Muster has made a gang's Workload for the Job, whatever the Job is now."""
    own = [template_for(job, workload) for workload in workloads if describes_as_muster(job, workload)]
    return any(template is not None and template.scheduling_policy.gang is not None for template in own)


def wanted_size(job: JobView, policy: Policy) -> int | None:
    """As the Job asks for it, whatever has ended since; None if it is to be no gang."""
    gang = request_of(job, policy).gang
    return gang.min_count if gang else None
