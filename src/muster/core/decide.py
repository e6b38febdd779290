"""The decision: from what was seen of one Job to at most one write, and to what a pod created now should be.

The controller and the pod webhook both ask `decide`, so they cannot disagree. It is asked again after every write.
"""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import count

from muster.api.job import JobView
from muster.api.profile import ApiProfile
from muster.api.v1alpha2.podgroup import PodGroup
from muster.api.v1alpha2.workload import Workload
from muster.core.actions import Action, CreatePodGroup, CreateWorkload
from muster.core.desired import desired_pod_group, desired_workload, workload_behind
from muster.core.eligibility import CHANGED_MIND, SHAPES, Policy, skip_reason
from muster.core.gang_size import was_gang
from muster.core.naming import workload_name
from muster.core.observed import Observed
from muster.core.ownership import (
    controls,
    is_own_group,
    is_own_group_name,
    is_own_workload_name,
    own_group_name,
    pod_groups_of,
    template_for,
    workloads_of,
)
from muster.core.reasons import Reason
from muster.core.request import request_of
from muster.core.suspension import may_begin_again, next_to_delete
from muster.workloadbuilder import InvalidConfiguration

MAX_DETAIL = 400
MOST_NAMED = 4
"""Objects that a sentence names; the rest is a number."""


class Membership(Enum):
    """What a pod that is created now should be."""

    JOIN = "join"
    PLAIN = "plain"
    HOLD = "hold"
    """Neither yet: refuse it, and the Job controller tries again."""


@dataclass(frozen=True, slots=True)
class Decision:
    reason: Reason
    membership: Membership
    group: str = ""
    """The PodGroup to join, also while it is still to be made."""
    action: Action | None = None
    detail: str = ""
    sticky: bool = False
    """Living pods of the Job say so; what else is found does not matter."""

    @property
    def settled(self) -> bool:
        return self.action is None


@dataclass(frozen=True, slots=True)
class Rules:
    """What stays the same from one decision to the next."""

    profile: ApiProfile
    policy: Policy = field(default_factory=Policy)
    draining: bool = False
    """`muster leave` is at work: gangs that were formed are completed, and no new one is begun."""


def decide(seen: Observed, rules: Rules) -> Decision:
    """Read top to bottom: the first line that applies is the answer."""
    job = seen.job
    if job is None:
        return _hold(Reason.JOB_GONE)
    if job.being_deleted:
        return _hold(Reason.JOB_BEING_DELETED)
    if seen.pods is not None and seen.pods.live:
        return _follow(seen.pods.group, job, seen, rules)
    if (release := next_to_delete(job, seen.pod_groups, seen.workloads, rules.policy)) is not None:
        return Decision(Reason.RELEASED, Membership.HOLD, action=release)
    if not job.finished and (own_group := own_pod_group(seen)) is not None:
        return _keep(own_group, job, seen, rules)
    if (why := skip_reason(job, rules.policy)) is not None:
        return _plain(*_announced(why, job, seen))
    return _form(job, seen, rules)


def own_pod_group(seen: Observed) -> PodGroup | None:
    """The PodGroup that Muster made for this very Job, if there is one: it decides for every replica.

    What else is found, or how one replica is set up, changes nothing while it exists. It is looked for by name before
    any pod is let in plain, so no replica can let one in plain while another lets its siblings join.

    A user who writes Muster's label and the Job's controller reference into a PodGroup of their own does not get the
    Job's pods: the name must be one that Muster computes, and those of the Job's own Workload come first.
    """
    job = seen.job
    made = [group for group in seen.pod_groups if is_own_group(job, group)] if job is not None else []
    if job is None or len(made) < 2:
        return made[0] if made else None
    return min(made, key=lambda group: _rank(group, job, seen))


def _rank(group: PodGroup, job: JobView, seen: Observed) -> tuple[bool, bool, bool, str]:
    described = any(workload.metadata.name == group.workload_name for workload in workloads_of(job, seen.workloads))
    leaving = group.metadata.deletion_timestamp is not None
    return not is_own_workload(group, job), leaving, not described, group.metadata.name


def _keep(own_group: PodGroup, job: JobView, seen: Observed, rules: Rules) -> Decision:
    """The gang was formed. What is missing of its Workload is made again, since the scheduler asks for it."""
    name = own_group.metadata.name
    if own_group.metadata.deletion_timestamp is not None:
        return _hold(Reason.POD_GROUP_BEING_DELETED, name)
    described = any(workload.metadata.name == own_group.workload_name for workload in seen.workloads)
    if described or seen.rejected or own_group.workload_name in seen.taken or not is_own_workload(own_group, job):
        return _join(name, Reason.GANG_FORMED)
    if job.suspended:
        return _hold(Reason.SUSPENDED)
    if skip_reason(job, rules.policy) is not None:  # by now: it was not when the gang was formed
        return _create_workload(workload_behind(job, own_group), name)
    with suppress(InvalidConfiguration):
        return _create_workload(desired_workload(job, own_group.workload_name, rules.policy), name)
    return _join(name, Reason.GANG_FORMED)


def _follow(group: str, job: JobView, seen: Observed, rules: Rules) -> Decision:
    """Membership is sticky: no gang is ever half in and half out."""
    why = skip_reason(job, rules.policy)
    if not group:
        aside = _stand_aside(job, seen, rules) if why is None else None
        if aside is not None:  # still the cause: its plain pods are what came of it
            return replace(aside, sticky=True)
        reason, detail = _announced(why, job, seen) if why else (_told(Reason.PLAIN_PODS, job, rules), "")
        return Decision(reason, Membership.PLAIN, detail=detail, sticky=True)
    exists = any(found.metadata.name == group for found in seen.pod_groups)
    ours = any(_is_our_name(group, job, workload) for workload in workloads_of(job, seen.workloads))
    if exists or seen.rejected or not (why is None or (why in CHANGED_MIND and ours)):
        return _stay(group)  # it is there, or it is not ours to make again, or it cannot be made
    return _make_again(group, job, seen, rules)


def _make_again(group: str, job: JobView, seen: Observed, rules: Rules) -> Decision:
    """The living pods' group was deleted under them. Make it again under its name, if it was one of ours."""
    workloads = workloads_of(job, seen.workloads)
    candidates = workloads
    if not workloads and not job.delegated:
        with suppress(InvalidConfiguration):
            candidates = [desired_workload(job, _free_workload_name(job, seen), rules.policy)]
    workload = next((each for each in candidates if _is_our_name(group, job, each)), None)
    if workload is None:
        return Decision(Reason.GROUP_LOST, Membership.JOIN, group, detail=group, sticky=True)
    if not workloads:
        return _create_workload(workload, group)
    if workload.metadata.deletion_timestamp is not None:
        return Decision(Reason.WORKLOAD_BEING_DELETED, Membership.JOIN, group, sticky=True)
    return _create_pod_group(desired_pod_group(job, workload, group, rules.profile, rules.policy))


def _form(job: JobView, seen: Observed, rules: Rules) -> Decision:
    """No living pods: find or make the Workload, then the PodGroup."""
    if seen.rejected_now:
        return _hold(Reason.REJECTED_ONCE, seen.rejected)
    if (aside := _stand_aside(job, seen, rules)) is not None:
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


def _stand_aside(job: JobView, seen: Observed, rules: Rules) -> Decision | None:
    if (aside := _unusable(job, seen)) is not None:
        return aside
    return _plain(Reason.BEING_LEFT) if rules.draining and not job.suspended else None


def _unusable(job: JobView, seen: Observed) -> Decision | None:
    """Why there is no group that its pods should be in: none can be made, or what describes the Job leaves it open."""
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
        return _plain(_told(Reason.HAD_PODS_BEFORE, job, rules))
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


def is_own_workload(group: PodGroup, job: JobView) -> bool:
    """The PodGroup was made from a Workload that Muster makes for the Job."""
    return is_own_workload_name(job, group.workload_name)


def _free_pod_group_name(job: JobView, workload: Workload, seen: Observed) -> str:
    names = (own_group_name(job, workload.metadata.name, _template_name(job, workload), nth) for nth in count())
    return next(name for name in names if name not in seen.taken)


def _is_our_name(group: str, job: JobView, workload: Workload) -> bool:
    return is_own_group_name(job, workload.metadata.name, _template_name(job, workload), group)


def _template_name(job: JobView, workload: Workload) -> str:
    template = template_for(job, workload)
    return template.name if template else ""


def _told(reason: Reason, job: JobView, rules: Rules) -> Reason:
    """Nobody waits for a group that only the operator wanted: if it is too late for that, it is not told."""
    return Reason.STARTED_BEFORE if request_of(job, rules.policy).quiet else reason


def _announced(why: Reason, job: JobView, seen: Observed) -> tuple[Reason, str]:
    """A Job that was a gang and is none by its shape now (Kueue admitted a part of it): its user has to know."""
    lost = why in SHAPES and not job.suspended and was_gang(job, seen.workloads)
    return (Reason.NO_LONGER_A_GANG, why.sentence) if lost else (why, "")


def _names(things: list[Workload] | list[PodGroup]) -> str:
    """The first few: a user can make any number of them."""
    names = sorted(thing.metadata.name for thing in things)
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


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
