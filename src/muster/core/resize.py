"""When a gang's PodGroup has to be replaced by one of another size."""

import math
from dataclasses import dataclass
from enum import StrEnum

from muster.api.job import JobView
from muster.api.v1alpha2.podgroup import PodGroup
from muster.api.v1alpha2.workload import Workload
from muster.core import messages
from muster.core.decide import Rules, is_own_workload, own_pod_group
from muster.core.desired import workload_behind
from muster.core.eligibility import skip_reason
from muster.core.gang_size import describes_as_muster, group_size, whole_size
from muster.core.observed import Observed
from muster.core.ownership import pod_groups_of, template_for, workloads_of
from muster.core.policy import Policy


class Why(StrEnum):
    """Also the metric's label."""

    INDEXES_ENDED = "ended"
    """Some indexes have ended, and a pod of the others waits for them."""
    ASKED = "asked"
    """The Job asks for another number of pods."""


@dataclass(frozen=True, slots=True)
class ResizeNeeded:
    """A gang whose PodGroup has not the size that its Job needs."""

    job: JobView
    group: PodGroup
    size: int
    """What it should be."""
    why: Why
    obstacle: str = ""
    """Why Muster may not replace it."""

    @property
    def was(self) -> int:
        return self.group.gang.min_count if self.group.gang else 0

    @property
    def sentence(self) -> str:
        if self.why is Why.ASKED:
            return messages.size_asked_for(self.size)
        ended = (self.job.completions or 0) - self.job.unfinished
        return messages.indexes_ended(ended, self.job.completions or 0)


def resize_needed(seen: Observed, rules: Rules) -> ResizeNeeded | None:
    """None also where it does not matter: while every pod has its node, a number that nobody can reach harms nobody.

    With `INDEXES_ENDED` it is still to be seen whether a pod really waits. That is asked only if the Job's own status
    says that pods were lost and not all of them are back, so a cluster in which nothing goes wrong is not asked.
    """
    job = seen.job
    if job is None or not _gets_pods(job) or job.key.namespace in rules.policy.excluded_namespaces:
        return None
    # What Muster has made it looks after, also where by now it would not make it any more.
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
    if asked and workload is not None and describes_as_muster(job, workload) and not obstacle:
        return ResizeNeeded(job, group, size, Why.ASKED)
    held = size < group.gang.min_count and job.unready > 0
    return ResizeNeeded(job, group, size, Why.INDEXES_ENDED, obstacle) if held else None


def _size_of(group: PodGroup, job: JobView, workload: Workload | None, policy: Policy) -> int | None:
    if workload is not None:
        return group_size(job, workload, policy)
    return min(group.gang.min_count, max(1, job.unfinished)) if group.gang else None


def _whole(job: JobView, workload: Workload | None, policy: Policy) -> float:
    size = whole_size(job, workload, policy) if workload is not None else None
    return math.inf if size is None else size


def _gets_pods(job: JobView) -> bool:
    return not (job.being_deleted or job.suspended or job.ending or job.finished)


_Found = tuple[PodGroup, Workload | None, str]


def _own(job: JobView, seen: Observed) -> _Found | None:
    """The PodGroup that Muster made, with what keeps it from being made again."""
    group = own_pod_group(seen)
    if group is None:
        return None
    workload = _workload_of(group, job, seen)
    if workload is None:
        return group, None, messages.WORKLOAD_IS_GONE
    if workload.metadata.deletion_timestamp is not None:
        return None  # the server would refuse the new one; when the Workload is gone, it is made again with it
    # A claim that was made for a group goes with it, and with the claim the devices of pods that run.
    return group, workload, messages.HAS_RESOURCE_CLAIMS if group.spec.resource_claims else ""


def _workload_of(group: PodGroup, job: JobView, seen: Observed) -> Workload | None:
    """If it is gone and was Muster's, it is made again together with the PodGroup."""
    name = group.workload_name
    found = next((workload for workload in seen.workloads if workload.metadata.name == name), None)
    if found is None and is_own_workload(group, job):
        return workload_behind(job, group)
    usable = found is not None and workloads_of(job, [found]) and template_for(job, found) is not None
    return found if usable else None


def _strange(job: JobView, seen: Observed) -> _Found | None:
    """Somebody else's PodGroup, which Muster does not touch."""
    for workload in workloads_of(job, seen.workloads)[:1]:
        for group in pod_groups_of(job, workload, seen.pod_groups)[:1]:
            if own_pod_group(seen) is None and template_for(job, workload) is not None:
                return group, workload, messages.IS_NOT_OURS
    return None
