"""What admission answers: the pod webhook's verdict on a pod, the guard's on a change of parallelism."""

from dataclasses import dataclass

from muster.api.job import JobView
from muster.api.v1alpha2.podgroup import PodGroup
from muster.core import messages
from muster.core.decide import Decision, Membership, Rules, decide
from muster.core.eligibility import preset_group, skip_reason
from muster.core.gang_size import describes_as_muster, wanted_size
from muster.core.observed import Observed
from muster.core.ownership import controls, is_own_group, template_for, workloads_of
from muster.core.reasons import Reason
from muster.core.request import not_a_gang
from muster.core.suspension import releases_pod_group


@dataclass(frozen=True, slots=True)
class Verdict:
    allowed: bool
    join: str = ""
    """The PodGroup that the pod is made a member of; empty: untouched."""
    message: str = ""
    warnings: tuple[str, ...] = ()
    """Shown to whoever sent the object; they change nothing."""
    reason: Reason | None = None
    """Why it is refused; every refusal has one."""


ALLOWED = Verdict(allowed=True)


def admit_pod(decision: Decision) -> Verdict:
    """The pod webhook, once nothing more can be written (a dry run, or a settled decision)."""
    if decision.membership is Membership.PLAIN:
        return ALLOWED
    if decision.membership is Membership.JOIN or decision.action is not None:
        return Verdict(allowed=True, join=decision.group)
    return refused(decision.reason, messages.not_yet(decision.reason, decision.detail))


def refused(reason: Reason, text: str) -> Verdict:
    return Verdict(allowed=False, message=messages.refusal(reason, text), reason=reason)


def refused_as_built_in(words: str) -> Verdict:
    """In the words of the built-in server, and nothing else: people search for them."""
    return Verdict(allowed=False, message=words, reason=Reason.POD_GROUP_INVALID)


def admit_parallelism(old: JobView, new: JobView, seen: Observed, rules: Rules) -> Verdict:
    """The parallelism guard. `seen` holds what was found for the Job, with its pods read live."""
    if (old.parallelism or 1) == (new.parallelism or 1):
        return ALLOWED
    group = _group_of(old, seen, rules)
    if group is not None and group.gang is None:
        return ALLOWED
    if old.suspended and not (seen.pods and seen.pods.live):
        return _at_rest(old, new, group, seen, rules)
    if group is not None:
        return _sized(old, new, group, seen, rules)
    if rules.policy.elastic and skip_reason(old, rules.policy) is None and _in_tandem(new, rules):
        return ALLOWED  # what is made of the old number is resized to the new one
    if preset_group(old, rules.policy) is not None or not _may_be_forming(old, new, seen, rules):
        return ALLOWED
    return _unchanged(old, Reason.GANG_FORMING, messages.WHILE_FORMING, messages.TRY_AGAIN_OR_DELETE)


def cannot_tell(job: JobView, why: str) -> Verdict:
    """The guard could not look."""
    return refused(Reason.GANG_UNKNOWN, messages.gang_unknown(job.key.name, why))


def _group_of(job: JobView, seen: Observed, rules: Rules) -> PodGroup | None:
    """The PodGroup of the Job's pods: the preset one, the one its living pods name, or the one made for it."""
    named = preset_group(job, rules.policy) or (seen.pods.group if seen.pods else "")
    if named:
        return next((group for group in seen.pod_groups if group.metadata.name == named), None)
    workloads = {workload.metadata.name for workload in workloads_of(job, seen.workloads) if not job.delegated}
    ours = [g for g in seen.pod_groups if controls(job, g.metadata) or g.workload_name in workloads]
    return next((group for group in ours if group.gang), next(iter(ours), None))


def _at_rest(old: JobView, new: JobView, group: PodGroup | None, seen: Observed, rules: Rules) -> Verdict:
    """Suspended and without pods, as Kueue changes a Job: refused only if the gang could not start in its new size.

    Muster gives a PodGroup that it made the Job's size at resume, or makes it again in that size.
    """
    if group is not None and not _is_replaceable(old, group):
        return _fixed(old, group, messages.DELETE)
    if preset_group(old, rules.policy) is not None:
        return ALLOWED
    for workload in workloads_of(old, seen.workloads):
        template = template_for(old, workload)
        gang = template.scheduling_policy.gang if template and not describes_as_muster(old, workload) else None
        if gang is not None and gang.min_count > (new.parallelism or 1) and _may_be_forming(old, new, seen, rules):
            why = messages.since_workload(workload.metadata.name, gang.min_count)
            return _unchanged(old, Reason.GANG_SIZE_FIXED, why, messages.REPLACE_WORKLOAD)
    return ALLOWED


def _may_be_forming(old: JobView, new: JobView, seen: Observed, rules: Rules) -> bool:
    """No PodGroup yet, but the Job qualifies before or after the change, and nothing says that it stays plain."""
    if skip_reason(old, rules.policy) is not None and skip_reason(new, rules.policy) is not None:
        return False
    qualifying = old if skip_reason(old, rules.policy) is None else new
    if wanted_size(qualifying, rules.policy) is None:
        return False  # a Basic group has no size
    decision = decide(Observed(qualifying, seen.workloads, seen.pod_groups, seen.pods, rejected=seen.rejected), rules)
    return decision.membership is not Membership.PLAIN


def _sized(old: JobView, new: JobView, group: PodGroup, seen: Observed, rules: Rules) -> Verdict:
    """A gang changes its size only where Muster can give its PodGroup the new one."""
    elastic = rules.policy.elastic and _can_be_resized(old, group, seen)
    if elastic and _in_tandem(new, rules):
        return ALLOWED
    return _fixed(old, group, _remedy(old, group, elastic, rules))


def _remedy(job: JobView, group: PodGroup, elastic: bool, rules: Rules) -> str:
    if elastic:
        return messages.CHANGE_BOTH
    if not _is_replaceable(job, group):
        return messages.DELETE
    if job.suspended:
        return messages.PODS_STILL_THERE
    if rules.profile.native and not releases_pod_group(job, rules.policy):
        return messages.DELETE  # the API server's own JobValidation plugin refuses as long as the PodGroup exists
    return messages.SUSPEND_OR_DELETE


def _fixed(job: JobView, group: PodGroup, remedy: str) -> Verdict:
    size = group.gang.min_count if group.gang else 0
    return _unchanged(job, Reason.GANG_SIZE_FIXED, messages.since_gang(group.metadata.name, size), remedy)


def _unchanged(job: JobView, reason: Reason, why: str, remedy: str) -> Verdict:
    return refused(reason, messages.parallelism_kept(job.key.name, why, remedy))


def _in_tandem(new: JobView, rules: Rules) -> bool:
    """Completions change with parallelism: it is a gang as before, of another size."""
    return not_a_gang(new) is None and skip_reason(new, rules.policy) is None


def _is_replaceable(job: JobView, group: PodGroup) -> bool:
    """Muster made it for the Job, and no claim goes with it."""
    return is_own_group(job, group) and not group.spec.resource_claims


def _can_be_resized(job: JobView, group: PodGroup, seen: Observed) -> bool:
    """Muster made the pair, from the Job, and no claim hangs on it."""
    described = [workload for workload in seen.workloads if workload.metadata.name == group.workload_name]
    return _is_replaceable(job, group) and any(describes_as_muster(job, workload) for workload in described)
