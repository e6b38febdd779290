"""What admission answers: the pod webhook's verdict on a pod, the guard's on a change of parallelism."""

from dataclasses import dataclass, replace

from muster.api.job import JobView
from muster.api.keys import JobRef
from muster.api.v1alpha2.podgroup import PodGroup
from muster.core import messages
from muster.core.actions import Read, ReadEverything
from muster.core.decide import decide
from muster.core.decision import Decision, Membership
from muster.core.eligibility import preset_group, skip_reason
from muster.core.gang_size import describes_as_muster, wanted_size
from muster.core.observed import GONE, Observed, Pods
from muster.core.ownership import controls, is_own_group, template_for, workloads_of
from muster.core.policy import Rules
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
    """Shown to the user who sent the object; they change nothing."""
    reason: Reason | None = None
    """Why it is refused or allowed. Only what Muster does not look at is allowed without one."""

    @property
    def outcome(self) -> str:
        """For the log."""
        if not self.allowed:
            return "refused"
        return f"admitted to {self.join}" if self.join else "admitted without a group"


ALLOWED = Verdict(allowed=True)


def needs_job(decision: Decision) -> bool:
    """Whether Muster must know that the Job still exists before a pod gets this answer."""
    return decision.membership is Membership.JOIN


def admit_pod(decision: Decision, job_exists: bool = True) -> Verdict:
    """The pod webhook, once nothing more can be written (a dry run, or a settled decision).

    The Job may be deleted while Muster forms its gang. Then a pod would do harm: the Job controller waits up to five
    minutes for it before it creates the pods of a new Job of the same name.
    """
    if needs_job(decision) and not job_exists:
        return refused(Reason.JOB_GONE, messages.not_yet(Reason.JOB_GONE, ""))
    if decision.membership is Membership.PLAIN:
        return Verdict(allowed=True, reason=decision.reason)
    if decision.membership is Membership.JOIN or decision.write is not None:
        return Verdict(allowed=True, join=decision.group, reason=decision.reason)
    return refused(decision.reason, messages.not_yet(decision.reason, decision.detail))


def admit_at_once(job: JobRef, group: str, rules: Rules) -> Verdict | None:
    """The verdict on a pod for which nothing needs to be read; None if it needs a decision about its Job.

    A pod that already names its group does not concern Muster.
    """
    if group:
        return ALLOWED
    return None if job.can_exist else admit_pod(decide(GONE, rules))


def admit_on_failure(reason: Reason, why: str, may_pass: bool, pods: Pods | None = None) -> Verdict:
    """Muster could not decide. A pod joins the group of the Job's running or pending pods, so that a failure splits no
    gang.

    If there are none, or they were not read (None), `may_pass` decides: failurePolicy, or that the webhook only warns.
    """
    group = pods.group if pods is not None else ""
    if group or may_pass:
        return Verdict(allowed=True, join=group, reason=reason)
    return refused(reason, why)


def admit_unreadable() -> Verdict:
    """A user wrote an object that Muster cannot read. That is not a bug, and Muster has nothing to say about it."""
    return Verdict(allowed=True, reason=Reason.OBJECT_UNREADABLE)


def admit_pod_of_unreadable(job: str, fail_open: bool, pods: Pods | None) -> Verdict:
    """Muster cannot read an object of the pod's Job. Its pods need no gang, unless one of them is a member."""
    if pods is None and not fail_open:
        return refused(Reason.NOT_FORMED_YET, messages.not_formed_yet(job, messages.PODS_NOT_LISTED))
    return admit_on_failure(Reason.OBJECT_UNREADABLE, "", may_pass=True, pods=pods)


def refused(reason: Reason, text: str) -> Verdict:
    return Verdict(allowed=False, message=messages.refusal(reason, text), reason=reason)


def refused_as_built_in(words: str) -> Verdict:
    """With the exact message of the built-in API server, because people search for it."""
    return Verdict(allowed=False, message=words, reason=Reason.POD_GROUP_INVALID)


def admit_parallelism(old: JobView, new: JobView, seen: Observed, rules: Rules) -> Verdict:
    """The parallelism guard, once `parallelism_read` asks for nothing more. No Job is stored: nothing to guard."""
    if seen.job is None or not changes_parallelism(old, new):
        return ALLOWED
    group = _group_of(old, seen, rules)
    if group is not None and group.gang is None:
        return ALLOWED
    if old.suspended and not (seen.pods and seen.pods.live):
        return _at_rest(old, new, group, seen, rules)
    if group is not None:
        return _sized(old, new, group, seen, rules)
    if rules.policy.elastic and skip_reason(old, rules.policy) is None and _in_tandem(new, rules):
        return ALLOWED  # Muster later resizes a PodGroup that has the old size
    if preset_group(old, rules.policy) is not None or not _may_be_forming(old, new, seen, rules):
        return ALLOWED
    return _unchanged(old, Reason.GANG_FORMING, messages.WHILE_FORMING, messages.TRY_AGAIN_OR_DELETE)


def changes_parallelism(old: JobView, new: JobView) -> bool:
    return (old.parallelism or 1) != (new.parallelism or 1)


def parallelism_read(old: JobView, new: JobView, seen: Observed, rules: Rules) -> Read | None:
    """What the guard must read first. It reads the group that the stored Job names: a review may name any PodGroup.

    That the pods get no group rests on the same proof as for a pod: Muster's own pair was read by name.
    """
    if seen.job is None or not changes_parallelism(old, new):
        return None
    if not seen.proof.complete:
        return ReadEverything(by_name=True, preset=preset_group(seen.job, rules.policy) or "")
    if _group_of(old, seen, rules) is not None:
        return None
    decision = _if_forming(old, new, seen, rules)
    return decision.read if decision is not None and decision.membership is Membership.PLAIN else None


def cannot_tell(job: JobView, why: str) -> Verdict:
    """The guard could not read the Job's objects."""
    return refused(Reason.GANG_UNKNOWN, messages.gang_unknown(job.key.name, why))


def _group_of(job: JobView, seen: Observed, rules: Rules) -> PodGroup | None:
    """The PodGroup of the Job's pods: the preset one, the one its running or pending pods name, or its own one.

    Not `decide(...).group`: that is the PodGroup that pods created now join, and the guard also protects those that no
    pod joins now. The built-in plugin, whose rows the guard keeps, follows any PodGroup that the Job controls, also one
    without a Workload (A36-07, A36-08). And a suspended Job that keeps its PodGroup, or releases it, decides to hold
    its pods, without a group.
    """
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
    """There is no PodGroup yet, but the Job qualifies before or after the change, and its pods may get a group."""
    decision = _if_forming(old, new, seen, rules)
    return decision is not None and decision.membership is not Membership.PLAIN


def _if_forming(old: JobView, new: JobView, seen: Observed, rules: Rules) -> Decision | None:
    """The decision on the Job as it qualifies, before or after the change; None if it cannot become a gang."""
    if skip_reason(old, rules.policy) is not None and skip_reason(new, rules.policy) is not None:
        return None
    qualifying = old if skip_reason(old, rules.policy) is None else new
    if wanted_size(qualifying, rules.policy) is None:
        return None  # a Basic group has no size
    return decide(replace(seen, job=qualifying, form_only=True, will_write=False), rules)


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
    """Completions change together with parallelism, so the Job stays a gang, with another size."""
    return not_a_gang(new) is None and skip_reason(new, rules.policy) is None


def _is_replaceable(job: JobView, group: PodGroup) -> bool:
    """Muster created it for the Job, and it has no resource claims."""
    return is_own_group(job, group) and not group.spec.resource_claims


def _can_be_resized(job: JobView, group: PodGroup, seen: Observed) -> bool:
    """Muster created the Workload and the PodGroup from the Job, and the PodGroup has no resource claims."""
    described = [workload for workload in seen.workloads if workload.metadata.name == group.workload_name]
    return _is_replaceable(job, group) and any(describes_as_muster(job, workload) for workload in described)
