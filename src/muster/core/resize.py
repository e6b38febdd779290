"""When a gang's PodGroup has to be replaced by one of another size."""

import math
from dataclasses import dataclass, replace

from muster.api.job import JobView
from muster.api.keys import Uid
from muster.api.v1alpha2.podgroup import PROTECTION, PodGroup
from muster.api.v1alpha2.workload import Workload
from muster.core.actions import (
    DeletePodGroup,
    Read,
    ReadEverything,
    ReadStoredPodGroup,
    ReadWaitingPods,
    RemoveProtection,
)
from muster.core.desired import workload_behind
from muster.core.eligibility import skip_reason
from muster.core.gang_size import describes_as_muster, group_size, whole_size
from muster.core.observed import Observed, Replaced, ResizeNeeded, Why
from muster.core.own_group import is_own_workload, own_pod_group
from muster.core.ownership import pod_groups_of, template_for, workloads_of
from muster.core.policy import Policy, Rules
from muster.core.reasons import Reason


@dataclass(frozen=True, slots=True)
class Resized:
    """A resize that Muster has done."""

    done: ResizeNeeded
    pod_group: Uid
    """The new PodGroup."""


def resize_needed(seen: Observed, rules: Rules) -> ResizeNeeded | None:
    """Also None while every pod has a node: the scheduler does not use the size then.

    A resize because of ended indexes needs a pod that waits. Muster lists the waiting pods only if the Job's own status
    says that some pods are not ready. The Job need not have lost one: if the API server fails while the scheduler binds
    a gang, only some of its pods get their nodes, and these may end before the others are tried again.
    """
    needed = _wrong_size(seen, rules)
    if needed is None or (needed.why is Why.INDEXES_ENDED and seen.members_wait is False):
        return None
    stored = seen.stored
    if not needed.can_proceed:
        return needed
    if stored is not None and stored.name == needed.group.metadata.name and stored.requested_size == needed.size:
        # Another webhook changes the size: Muster would replace the PodGroup again and again.
        return replace(needed, obstacle=Reason.SIZE_NOT_STORED)
    return replace(needed, obstacle=Reason.POD_GROUP_HELD) if needed.obstacle is None and _is_held(needed) else needed


def resize_read(needed: ResizeNeeded, seen: Observed) -> Read | None:
    """What Muster reads before it replaces the PodGroup: a waiting pod, everything, and the PodGroup as it is stored.

    Most often no pod waits: pods that start at different times end at different times. Then one list is all it costs.
    """
    name = needed.group.metadata.name
    if not needed.can_proceed:
        return None
    if needed.why is Why.INDEXES_ENDED and seen.members_wait is None:
        return ReadWaitingPods(name)
    if not seen.proof.by_name:
        return ReadEverything(by_name=True)
    if seen.stored is None or seen.stored.name != name:
        return ReadStoredPodGroup(needed)
    return None


def resize_step(needed: ResizeNeeded, seen: Observed, rules: Rules) -> DeletePodGroup | RemoveProtection | None:
    """Delete the PodGroup, then remove its protection: running pods are not affected, since they name it.

    Each step depends only on what is stored, so any replica continues after a crash. When the PodGroup is gone, it is
    created again like every PodGroup that is missing, with the size that the Job has then.
    """
    if needed.obstacle is not None:
        return None
    metadata = needed.group.metadata
    body = rules.profile.resized(seen.stored.body, needed.size) if seen.stored is not None else None
    replaced = Replaced(needed, body)
    if metadata.deletion_timestamp is None:
        return DeletePodGroup(needed.group, replaced)
    return RemoveProtection(needed.group, replaced) if PROTECTION in metadata.finalizers else None


def _is_held(needed: ResizeNeeded) -> bool:
    """Another client's finalizer keeps the PodGroup. When it is removed, the PodGroup's deletion wakes Muster."""
    metadata = needed.group.metadata
    held = metadata.deletion_timestamp is not None and len(metadata.finalizers) > 0
    return held and PROTECTION not in metadata.finalizers


def resize_ended(seen: Observed) -> tuple[Observed, Resized | None]:
    """The resize has ended when another PodGroup has the name of the one that this run replaces."""
    replaced = seen.replaced
    now = seen.pod_group(replaced.name) if replaced is not None else None
    if replaced is None or now is None or now.metadata.uid == replaced.resize.group.metadata.uid:
        return seen, None
    ended = replace(seen, replaced=None, stored=None, members_wait=None)
    return ended, Resized(replaced.resize, now.metadata.uid) if replaced.by_us else None


def _wrong_size(seen: Observed, rules: Rules) -> ResizeNeeded | None:
    job = seen.job
    if job is None or not job.gets_pods or job.ending or job.key.namespace in rules.policy.excluded_namespaces:
        return None
    # Muster maintains the PodGroups that it created, also those that it would no longer create.
    found = _own(job, seen) or (_strange(job, seen) if skip_reason(job, rules.policy) is None else None)
    if found is None:
        return None
    group, workload, obstacle = found
    if group.gang is None:
        return None
    size = _size_of(group, job, workload, rules.policy)
    if size is None or size == group.gang.min_count:
        return None
    asked = size > group.gang.min_count or _whole(job, workload, rules.policy) < group.gang.min_count
    if asked and workload is not None and describes_as_muster(job, workload) and obstacle in _PASSING:
        return ResizeNeeded(job, group, size, Why.ASKED, obstacle)
    held = size < group.gang.min_count and job.unready > 0
    return ResizeNeeded(job, group, size, Why.INDEXES_ENDED, obstacle) if held else None


def _size_of(group: PodGroup, job: JobView, workload: Workload | None, policy: Policy) -> int | None:
    if workload is not None:
        return group_size(job, workload, policy)
    return min(group.gang.min_count, max(1, job.unfinished)) if group.gang else None


def _whole(job: JobView, workload: Workload | None, policy: Policy) -> float:
    size = whole_size(job, workload, policy) if workload is not None else None
    return math.inf if size is None else size


_PASSING = {None, Reason.WORKLOAD_BEING_DELETED}
"""With another obstacle, Muster does not follow a Job that asks for another size."""
_Found = tuple[PodGroup, Workload | None, Reason | None]


def _own(job: JobView, seen: Observed) -> _Found | None:
    """The PodGroup that Muster created, and the obstacle to replacing it, if any."""
    group = own_pod_group(seen)
    if group is None:
        return None
    workload = _workload_of(group, job, seen)
    if workload is None:
        return group, None, Reason.WORKLOAD_GONE
    if workload.metadata.deletion_timestamp is not None:
        return group, workload, Reason.WORKLOAD_BEING_DELETED  # the server would refuse the new PodGroup
    # Deleting the PodGroup deletes its claims, and with them the devices of running pods.
    return group, workload, Reason.HAS_RESOURCE_CLAIMS if group.spec.resource_claims else None


def _workload_of(group: PodGroup, job: JobView, seen: Observed) -> Workload | None:
    """If it no longer exists and Muster created it, Muster recreates it together with the PodGroup."""
    name = group.workload_name
    found = next((workload for workload in seen.workloads if workload.metadata.name == name), None)
    if found is None and is_own_workload(group, job):
        return workload_behind(job, group)
    usable = found is not None and workloads_of(job, [found]) and template_for(job, found) is not None
    return found if usable else None


def _strange(job: JobView, seen: Observed) -> _Found | None:
    """A PodGroup that Muster did not create, and never changes."""
    for workload in workloads_of(job, seen.workloads)[:1]:
        for group in pod_groups_of(job, workload, seen.pod_groups)[:1]:
            if own_pod_group(seen) is None and template_for(job, workload) is not None:
                return group, workload, Reason.POD_GROUP_OF_ANOTHER
    return None
