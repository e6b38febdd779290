"""What admission answers: the pod gate's verdict on a pod, the guard's on a change of parallelism."""

from dataclasses import dataclass

from muster.api.job import JobView
from muster.api.podgroup import PodGroup
from muster.core.decide import Decision, Membership, Rules, decide
from muster.core.eligibility import left_alone, preset_group
from muster.core.observed import Observed
from muster.core.ownership import controls, is_ours, workloads_of
from muster.core.reasons import Reason
from muster.core.sizing import describes_as_muster, wanted_size
from muster.core.wish import not_a_gang


@dataclass(frozen=True, slots=True)
class Verdict:
    allowed: bool
    join: str = ""
    """The PodGroup that the pod is made a member of; empty: untouched."""
    message: str = ""
    warnings: tuple[str, ...] = ()
    """Shown to whoever sent the object; they change nothing."""


ALLOWED = Verdict(allowed=True)


def admit_pod(decision: Decision) -> Verdict:
    """The pod gate, once nothing more can be written (a dry run, or a settled decision)."""
    if decision.membership is Membership.PLAIN:
        return ALLOWED
    if decision.membership is Membership.JOIN or decision.action is not None:
        return Verdict(allowed=True, join=decision.group)
    return refused(decision.reason, decision.detail)


def refused(reason: Reason, detail: str = "") -> Verdict:
    about = f" ({detail})" if detail else ""
    return Verdict(allowed=False, message=f"muster: {reason.sentence}{about} [{reason}]")


def admit_parallelism(old: JobView, new: JobView, seen: Observed, rules: Rules) -> Verdict:
    """The parallelism guard. `seen` holds what was found for the Job, with its pods read live."""
    if (old.parallelism or 1) == (new.parallelism or 1):
        return ALLOWED
    group = _group_of(old, seen, rules)
    if group is not None:
        return _sized(old, new, group, seen, rules) if group.gang else ALLOWED
    if rules.policy.elastic and left_alone(old, rules.policy) is None and _in_tandem(new, rules):
        return ALLOWED  # what is made of the old number is resized to the new one
    if preset_group(old, rules.policy) is not None or not _may_be_forming(old, new, seen, rules):
        return ALLOWED
    return Verdict(
        allowed=False,
        message=(
            f"muster: cannot change parallelism of Job {old.key.name!r} while its gang is being formed. "
            "Try again in a moment, or delete the Job and create it with the new parallelism"
        ),
    )


def _group_of(job: JobView, seen: Observed, rules: Rules) -> PodGroup | None:
    """The PodGroup of the Job's pods: the preset one, the one its living pods name, or the one made for it."""
    named = preset_group(job, rules.policy) or (seen.pods.group if seen.pods else "")
    if named:
        return next((group for group in seen.pod_groups if group.metadata.name == named), None)
    workloads = {workload.metadata.name for workload in workloads_of(job, seen.workloads) if not job.delegated}
    ours = [g for g in seen.pod_groups if controls(job, g.metadata) or g.workload_name in workloads]
    return next((group for group in ours if group.gang), next(iter(ours), None))


def _may_be_forming(old: JobView, new: JobView, seen: Observed, rules: Rules) -> bool:
    """No PodGroup yet, but the Job qualifies before or after the change, and nothing says that it stays plain."""
    if left_alone(old, rules.policy) is not None and left_alone(new, rules.policy) is not None:
        return False
    qualifying = old if left_alone(old, rules.policy) is None else new
    if wanted_size(qualifying, rules.policy) is None:
        return False  # a Basic group has no size
    decision = decide(Observed(qualifying, seen.workloads, seen.pod_groups, seen.pods, rejected=seen.rejected), rules)
    if decision.membership is Membership.PLAIN:
        return False
    never_begun = old.suspended and not workloads_of(old, seen.workloads)
    return not never_begun


def _sized(old: JobView, new: JobView, group: PodGroup, seen: Observed, rules: Rules) -> Verdict:
    """A gang changes its size only where Muster can give its PodGroup the new one."""
    elastic = rules.policy.elastic and _can_be_resized(old, group, seen)
    if elastic and _in_tandem(new, rules):
        return ALLOWED
    remedy = (
        "Change completions together with it, to the same number greater than 1"
        if elastic
        else "Delete the Job and create it with the new parallelism"
    )
    gang = group.gang
    return Verdict(
        allowed=False,
        message=(
            f"muster: cannot change parallelism of Job {old.key.name!r}: its gang-scheduled PodGroup "
            f"{group.metadata.name!r} holds {gang.min_count if gang else 0} pods together. {remedy}"
        ),
    )


def _in_tandem(new: JobView, rules: Rules) -> bool:
    """Completions change with parallelism: it is a gang as before, of another size."""
    return not_a_gang(new) is None and left_alone(new, rules.policy) is None


def _can_be_resized(job: JobView, group: PodGroup, seen: Observed) -> bool:
    """Muster made the pair, from the Job, and no claim hangs on it."""
    described = [workload for workload in seen.workloads if workload.metadata.name == group.workload_name]
    made = controls(job, group.metadata) and is_ours(group.metadata) and not group.spec.resource_claims
    return made and any(describes_as_muster(job, workload) for workload in described)
