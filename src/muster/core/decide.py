"""The decision: from what is known of one Job to one action, and to what a pod created now should be.

The controller, the pod webhook, the dry run, the parallelism guard and the resync all ask `decide`, so they cannot
disagree. An action is a write, or a read that is still needed; Muster performs it and asks again.
"""

from contextlib import suppress
from dataclasses import replace
from itertools import count

from muster.api.job import JobView
from muster.api.v1alpha2.podgroup import PodGroup
from muster.api.v1alpha2.workload import Workload
from muster.core import messages
from muster.core.actions import CreatePodGroup, CreateWorkload, RecreatePodGroup
from muster.core.decision import Decision, Membership
from muster.core.desired import desired_pod_group, desired_workload, workload_behind
from muster.core.eligibility import CHANGED_MIND, SHAPES, skip_reason
from muster.core.gang_size import was_gang
from muster.core.naming import workload_name
from muster.core.observed import Observed
from muster.core.own_group import is_own_workload, own_pod_group
from muster.core.ownership import (
    controls,
    has_own,
    is_own_group_name,
    own_group_name,
    pod_groups_of,
    template_for,
    workloads_of,
)
from muster.core.policy import Rules
from muster.core.proof import missing_read
from muster.core.reasons import Reason
from muster.core.request import request_of
from muster.core.resize import resize_needed, resize_step
from muster.core.suspension import may_begin_again, next_to_delete
from muster.workloadbuilder import InvalidConfiguration

MAX_DETAIL = 400
MOST_NAMED = 4
"""Objects that a sentence names; the rest is a number."""


def decide(seen: Observed, rules: Rules) -> Decision:
    """Decide what the Job needs, then whether its PodGroup has the right size, then which read must come first."""
    if rules.adopt_existing_only and seen.job and not has_own(seen.job, (*seen.workloads, *seen.pod_groups)):
        return _hold(Reason.LEFT_TO_WEBHOOK)
    decision = _conclude(seen, rules)
    if not seen.form_only and (needed := resize_needed(seen, rules)) is not None:
        decision = replace(decision, resize=needed, write=decision.write or resize_step(needed, seen, rules))
    read = missing_read(decision, seen)
    return decision if read is None else replace(decision, read=read)


def _conclude(seen: Observed, rules: Rules) -> Decision:
    """Read top to bottom: the first line that applies is the answer."""
    job, replaced = seen.job, seen.replaced
    if job is None:
        return _hold(Reason.JOB_GONE)
    if job.being_deleted:
        return _hold(Reason.JOB_BEING_DELETED)
    if replaced is not None and replaced.body is not None and seen.pod_group(replaced.name) is None:
        again = RecreatePodGroup(replaced.name, replaced.body)  # finish a resize that this run has begun
        return Decision(Reason.POD_GROUP_MISSING, Membership.HOLD, again.name, again)
    if seen.pods is not None and seen.pods.live:
        return _follow(seen.pods.group, job, seen, rules)
    if (release := next_to_delete(job, seen.pod_groups, seen.workloads, rules.policy)) is not None:
        return Decision(Reason.RELEASED, Membership.HOLD, write=release)
    if not job.finished and (own_group := own_pod_group(seen)) is not None:
        return _keep(own_group, job, seen, rules)
    if (why := skip_reason(job, rules.policy)) is not None:
        return _plain(*_announced(why, job, seen))
    return _form(job, seen, rules)


def _keep(own_group: PodGroup, job: JobView, seen: Observed, rules: Rules) -> Decision:
    """The gang was formed. Muster recreates a missing Workload: the API server refuses a PodGroup without its Workload,
    so a resize needs it."""
    name = own_group.metadata.name
    if own_group.metadata.deletion_timestamp is not None:
        return _hold(Reason.POD_GROUP_BEING_DELETED, name)
    described = any(workload.metadata.name == own_group.workload_name for workload in seen.workloads)
    if described or seen.rejected or own_group.workload_name in seen.taken or not is_own_workload(own_group, job):
        return _join(name, Reason.GANG_FORMED)
    if job.suspended:
        return _hold(Reason.SUSPENDED)
    if skip_reason(job, rules.policy) is not None:  # the Job no longer qualifies, but it did when the gang was formed
        return _create_workload(workload_behind(job, own_group), name)
    with suppress(InvalidConfiguration):
        return _create_workload(desired_workload(job, own_group.workload_name, rules.policy), name)
    return _join(name, Reason.GANG_FORMED)


def _follow(group: str, job: JobView, seen: Observed, rules: Rules) -> Decision:
    """Membership is sticky: no gang is ever half in and half out."""
    why = skip_reason(job, rules.policy)
    if not group:
        aside = _stand_aside(job, seen) if why is None else None
        if aside is not None:  # this is still the reason why its pods have no group
            return replace(aside, sticky=True)
        reason, detail = _announced(why, job, seen) if why else (_announced_late(Reason.PLAIN_PODS, job, rules), "")
        return Decision(reason, Membership.PLAIN, detail=detail, sticky=True)
    ours = any(_is_our_name(group, job, workload) for workload in workloads_of(job, seen.workloads))
    if seen.pod_group(group) is not None or not (why is None or (why in CHANGED_MIND and ours)):
        return _stay(group)  # the PodGroup exists, or Muster must not recreate it
    return _make_again(group, job, seen, rules)


def _make_again(group: str, job: JobView, seen: Observed, rules: Rules) -> Decision:
    """The group of running or pending pods was deleted. Muster recreates it under its name, if Muster created it."""
    workloads = workloads_of(job, seen.workloads)
    candidates = workloads
    if not workloads and not job.delegated:
        with suppress(InvalidConfiguration):
            candidates = [desired_workload(job, _free_workload_name(job, seen), rules.policy)]
    workload = next((each for each in candidates if _is_our_name(group, job, each)), None)
    if workload is None:
        return Decision(Reason.GROUP_LOST, Membership.JOIN, group, detail=group, sticky=True)
    if seen.rejected:
        return Decision(Reason.GROUP_REJECTED, Membership.JOIN, group, detail=seen.rejected, sticky=True)
    if not workloads:
        return _create_workload(workload, group)
    if workload.metadata.deletion_timestamp is not None:
        return Decision(Reason.WORKLOAD_BEING_DELETED, Membership.JOIN, group, sticky=True)
    return _create_pod_group(desired_pod_group(job, workload, group, rules.profile, rules.policy))


def _form(job: JobView, seen: Observed, rules: Rules) -> Decision:
    """There are no running or pending pods: find or create the Workload, then the PodGroup."""
    if seen.rejected_now:
        return _hold(Reason.REJECTED_ONCE, seen.rejected)
    if (aside := _stand_aside(job, seen)) is not None:
        return aside
    workloads = workloads_of(job, seen.workloads)
    if not workloads:
        return _begin(job, seen, rules)
    (workload,) = workloads
    groups = pod_groups_of(job, workload, seen.pod_groups)
    if not groups:
        return _complete(job, workload, seen, rules)
    (group,) = groups
    if group.metadata.deletion_timestamp is not None:
        return _hold(Reason.POD_GROUP_BEING_DELETED, group.metadata.name)
    return _join(group.metadata.name, Reason.GANG_FORMED)


def _stand_aside(job: JobView, seen: Observed) -> Decision | None:
    if (aside := _unusable(job, seen)) is not None:
        return aside
    return _plain(Reason.UNINSTALLING) if seen.draining and not job.suspended else None


def _unusable(job: JobView, seen: Observed) -> Decision | None:
    """Why the pods get no group: none can be created, or the objects that describe the Job are ambiguous."""
    if seen.rejected:
        return _plain(Reason.REJECTED, seen.rejected)
    workloads = workloads_of(job, seen.workloads)
    if len(workloads) > 1:
        return _plain(Reason.AMBIGUOUS_WORKLOADS, _names(workloads))
    if job.delegated and not (workloads and template_for(job, workloads[0])):
        return _plain(Reason.PARENT_UNDESCRIBED, job.group_template)
    if workloads and template_for(job, workloads[0]) is None:
        return _plain(Reason.UNSUPPORTED_STRUCTURE, workloads[0].metadata.name)
    groups = pod_groups_of(job, workloads[0], seen.pod_groups) if workloads else []
    return _plain(Reason.AMBIGUOUS_POD_GROUPS, _names(groups)) if len(groups) > 1 else None


def _begin(job: JobView, seen: Observed, rules: Rules) -> Decision:
    had_pods = job.counted_pods or (seen.pods is not None and seen.pods.exist)
    if had_pods and not may_begin_again(job, rules.policy):
        return _plain(_announced_late(Reason.HAD_PODS_BEFORE, job, rules))
    if job.suspended:
        return _hold(Reason.SUSPENDED)
    try:
        planned = desired_workload(job, _free_workload_name(job, seen), rules.policy)
    except InvalidConfiguration as error:  # no API server stores such a Job; a review of one may still come
        return _plain(Reason.REJECTED, str(error)[:MAX_DETAIL])
    return _create_workload(planned, _free_pod_group_name(job, planned, seen))


def _complete(job: JobView, workload: Workload, seen: Observed, rules: Rules) -> Decision:
    if workload.metadata.deletion_timestamp is not None:
        return _hold(Reason.WORKLOAD_BEING_DELETED, workload.metadata.name)
    if job.suspended:
        return _hold(Reason.SUSPENDED)
    name = _free_pod_group_name(job, workload, seen)
    return _create_pod_group(desired_pod_group(job, workload, name, rules.profile, rules.policy))


def _free_workload_name(job: JobView, seen: Observed) -> str:
    """The name that a PodGroup of the Job still refers to, if its Workload was deleted; else the next free one."""
    referred = [group for group in seen.pod_groups if controls(job, group.metadata) and is_own_workload(group, job)]
    if lost := {group.workload_name for group in referred} - seen.taken:
        return min(lost)
    names = (workload_name(job.key.name, job.uid, collision) for collision in count())
    return next(name for name in names if name not in seen.taken)


def _free_pod_group_name(job: JobView, workload: Workload, seen: Observed) -> str:
    names = (own_group_name(job, workload.metadata.name, _template_name(job, workload), nth) for nth in count())
    return next(name for name in names if name not in seen.taken)


def _is_our_name(group: str, job: JobView, workload: Workload) -> bool:
    return is_own_group_name(job, workload.metadata.name, _template_name(job, workload), group)


def _template_name(job: JobView, workload: Workload) -> str:
    template = template_for(job, workload)
    return template.name if template else ""


def _announced_late(reason: Reason, job: JobView, rules: Rules) -> Reason:
    """Only the settings requested this group (basicForOthers), so Muster posts no event."""
    return Reason.STARTED_BEFORE if request_of(job, rules.policy).quiet else reason


def _announced(why: Reason, job: JobView, seen: Observed) -> tuple[Reason, str]:
    """A Job that was a gang no longer qualifies (say, Kueue admitted only some pods): the user gets an event."""
    lost = why in SHAPES and not job.suspended and was_gang(job, seen.workloads)
    return (Reason.NO_LONGER_A_GANG, why.sentence) if lost else (why, "")


def _names(things: list[Workload] | list[PodGroup]) -> str:
    """The first few: a user can make any number of them."""
    return messages.listed(sorted(thing.metadata.name for thing in things), MOST_NAMED)


def _plain(reason: Reason, detail: str = "") -> Decision:
    return Decision(reason, Membership.PLAIN, detail=detail)


def _hold(reason: Reason, detail: str = "") -> Decision:
    return Decision(reason, Membership.HOLD, detail=detail)


def _join(group: str, reason: Reason) -> Decision:
    return Decision(reason, Membership.JOIN, group)


def _stay(group: str) -> Decision:
    return Decision(Reason.GROUP_FOLLOWED, Membership.JOIN, group, sticky=True)


def _create_workload(workload: Workload, group: str) -> Decision:
    return Decision(Reason.WORKLOAD_MISSING, Membership.HOLD, group, CreateWorkload(workload))


def _create_pod_group(pod_group: PodGroup) -> Decision:
    return Decision(Reason.POD_GROUP_MISSING, Membership.HOLD, pod_group.metadata.name, CreatePodGroup(pod_group))
