"""The minCount that a Job's PodGroup should have."""

from collections.abc import Iterable

from muster.api.job import JobView
from muster.api.v1alpha2.workload import Workload
from muster.core.ownership import controls, is_ours, template_for
from muster.core.policy import Policy
from muster.core.request import request_of


def group_size(job: JobView, workload: Workload, policy: Policy) -> int | None:
    """The minCount of the Job's PodGroup now; None if it is not a gang.

    Indexes that have ended have no pods, and the scheduler counts only pods that have not ended. So minCount must not
    be greater than the number of other indexes; otherwise a replacement of a lost pod never starts.
    """
    wanted = whole_size(job, workload, policy)
    nothing_ended = job.unfinished == (job.completions or 0)
    return wanted if wanted is None or nothing_ended else max(1, min(wanted, job.unfinished))


def whole_size(job: JobView, workload: Workload, policy: Policy) -> int | None:
    """The minCount as if no index had ended.

    If the Job no longer qualifies as a gang, Muster's own Workload still shows that it was one. The size is then at
    most the number of pods that the Job has at a time; otherwise none of them would start.
    """
    template = template_for(job, workload)
    gang = template.scheduling_policy.gang if template is not None else None
    if gang is None or not describes_as_muster(job, workload):
        return gang.min_count if gang else None
    return wanted_size(job, policy) or max(1, min(gang.min_count, 1 if job.parallelism is None else job.parallelism))


def describes_as_muster(job: JobView, workload: Workload) -> bool:
    """Whether Muster wrote the Workload from the Job, so that the Job's fields count. A user's own Workload counts as
    it is.
    """
    return is_ours(workload.metadata) and controls(job, workload.metadata)


def was_gang(job: JobView, workloads: Iterable[Workload]) -> bool:
    """Whether Muster has created a gang's Workload for the Job, even if the Job no longer qualifies."""
    own = [template_for(job, workload) for workload in workloads if describes_as_muster(job, workload)]
    return any(template is not None and template.scheduling_policy.gang is not None for template in own)


def wanted_size(job: JobView, policy: Policy) -> int | None:
    """The gang size that the Job requests, regardless of ended indexes; None if it is not a gang."""
    gang = request_of(job, policy).gang
    return gang.min_count if gang else None
