"""Is this Job Muster's to form into a gang, and if not, why not (KEP-5547)."""

from dataclasses import dataclass

from muster.api.job import DEFAULT_SCHEDULER, JOB_CONTROLLER, JobView
from muster.core.reasons import Reason


@dataclass(frozen=True, slots=True)
class Policy:
    """What the operator of the cluster decided, as far as it changes decisions."""

    excluded_namespaces: frozenset[str] = frozenset({"kube-system", "muster-system"})
    scheduler_names: frozenset[str] = frozenset({DEFAULT_SCHEDULER})
    """Schedulers that hold a gang together."""
    groups_by_annotation: bool = False
    """Pods name their group in an annotation: so may a template that has one already."""
    elastic: bool = False
    """A gang's Job may change its parallelism, together with its completions."""


def left_alone(job: JobView, policy: Policy) -> Reason | None:
    """The first reason why the Job's pods stay plain; None if the Job becomes a gang."""
    return _not_ours(job, policy) or _not_a_gang(job) or _not_schedulable_as_gang(job, policy)


def preset_group(job: JobView, policy: Policy) -> str | None:
    """The PodGroup that the pod template names already; None if it names none."""
    if policy.groups_by_annotation:
        return job.annotated_group if job.annotated_group is not None else job.scheduling_group
    return job.scheduling_group


def _not_ours(job: JobView, policy: Policy) -> Reason | None:
    if job.key.namespace in policy.excluded_namespaces:
        return Reason.NAMESPACE_EXCLUDED
    if preset_group(job, policy) is not None:
        return Reason.GROUP_PRESET
    if job.managed_by not in {"", JOB_CONTROLLER}:
        return Reason.MANAGED_ELSEWHERE
    if job.controller is not None and not (job.controller.kind == "CronJob" and job.controller.group == "batch"):
        return Reason.OWNED_BY_CONTROLLER
    if job.finished:
        return Reason.JOB_FINISHED
    return None


def _not_a_gang(job: JobView) -> Reason | None:
    if not job.indexed:
        return Reason.NOT_INDEXED
    if job.parallelism is None or job.parallelism <= 1:
        return Reason.NOT_PARALLEL
    if job.completions != job.parallelism:
        return Reason.COMPLETIONS_DIFFER
    return None


def _not_schedulable_as_gang(job: JobView, policy: Policy) -> Reason | None:
    if job.node_name:
        return Reason.NODE_NAME_PRESET
    if job.scheduler_name not in policy.scheduler_names:
        return Reason.OTHER_SCHEDULER
    return None
