"""Decides whether a Job's pods get a group from Muster, and if not, why (KEP-5547)."""

from muster.api.job import JOB_CONTROLLER, JobView
from muster.core.policy import Policy
from muster.core.reasons import Reason
from muster.core.request import SchedulingRequest, request_of

SHAPES = frozenset({Reason.NOT_INDEXED, Reason.NOT_PARALLEL, Reason.COMPLETIONS_DIFFER})
"""The Job does not qualify by its parallelism, completions or completionMode (KEP-5547)."""
CHANGED_MIND = SHAPES | {Reason.OPTED_OUT, Reason.NOT_ASKED, Reason.OWNED_BY_CONTROLLER}
"""Reasons that may begin to apply after a Job got its group. The group stays valid as long as its pods live."""


def skip_reason(job: JobView, policy: Policy) -> Reason | None:
    """The first reason why the Job's pods get no group; None if they get one."""
    request = request_of(job, policy)
    return _not_ours(job, policy, request) or request.why or _not_schedulable_as_gang(job, policy, request)


def preset_group(job: JobView, policy: Policy) -> str | None:
    """The PodGroup that the pod template already names; None if there is none."""
    if policy.groups_by_annotation:
        return job.annotated_group if job.annotated_group is not None else job.scheduling_group
    return job.scheduling_group


def _not_ours(job: JobView, policy: Policy, request: SchedulingRequest) -> Reason | None:
    if job.key.namespace in policy.excluded_namespaces:
        return Reason.NAMESPACE_EXCLUDED
    if preset_group(job, policy) is not None:
        return Reason.GROUP_PRESET
    if job.managed_by not in {"", JOB_CONTROLLER}:
        return Reason.MANAGED_ELSEWHERE
    if job.owned and not request.asked:
        return Reason.OWNED_BY_CONTROLLER
    if job.finished:
        return Reason.JOB_FINISHED
    return None


def _not_schedulable_as_gang(job: JobView, policy: Policy, request: SchedulingRequest) -> Reason | None:
    why = None
    if job.node_name:
        why = Reason.NODE_NAME_PRESET
    elif job.scheduler_name not in policy.scheduler_names:
        why = Reason.OTHER_SCHEDULER
    return Reason.NOT_SCHEDULED_HERE if why and request.quiet else why
