"""When a gang's PodGroup has to be replaced by one of another size."""

from dataclasses import dataclass
from enum import StrEnum

from muster.api.job import JobView
from muster.api.podgroup import PodGroup
from muster.api.workload import Workload
from muster.core.decide import Observed, Rules, anchor_of, our_workload_names
from muster.core.desired import desired_workload
from muster.core.eligibility import left_alone
from muster.core.ownership import pod_groups_of, workloads_of
from muster.core.sizing import describes_as_muster, gang_size, group_size


class Why(StrEnum):
    """Also the metric's label."""

    ENDED = "ended"
    """Some indexes have ended, and a pod of the others waits for them."""
    ASKED = "asked"
    """The Job asks for another number of pods."""


@dataclass(frozen=True, slots=True)
class Misfit:
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
            return f"the Job asks for {self.job.parallelism} pods now"
        ended = (self.job.completions or 0) - self.job.unfinished
        return f"{ended} of {self.job.completions} indexes ended, and a pod of the others waits"


def misfit(seen: Observed, rules: Rules) -> Misfit | None:
    """None also where it does not matter: while every pod has its node, a number that nobody can reach harms nobody.

    With `ENDED` it is still to be seen whether a pod really waits. That is asked only if the Job's own status says that
    pods were lost and not all of them are back, so a cluster in which nothing goes wrong is not asked anything.
    """
    job = seen.job
    if job is None or job.being_deleted or job.suspended or job.ending or left_alone(job, rules.policy) is not None:
        return None
    found = _own(job, seen) or _strange(job, seen)
    if found is None:
        return None
    group, workload, obstacle = found
    if group.gang is None:
        return None
    size = group_size(job, workload) if workload is not None else min(group.gang.min_count, max(1, job.unfinished))
    if size is None or size == group.gang.min_count:
        return None
    asked = size > group.gang.min_count or gang_size(job) < group.gang.min_count
    if asked and workload is not None and describes_as_muster(job, workload) and not obstacle:
        return Misfit(job, group, size, Why.ASKED)
    held = size < group.gang.min_count and job.unready > 0
    return Misfit(job, group, size, Why.ENDED, obstacle) if held else None


_Found = tuple[PodGroup, Workload | None, str]


def _own(job: JobView, seen: Observed) -> _Found | None:
    """The PodGroup that Muster made, with what keeps it from being made again."""
    group = anchor_of(seen)
    if group is None:
        return None
    workload = _workload_of(group, job, seen)
    if workload is None:
        return group, None, "its Workload is gone"
    if workload.metadata.deletion_timestamp is not None:
        return None  # the server would refuse the new one; when the Workload is gone, it is made again with it
    # A claim that was made for a group goes with it, and with the claim the devices of pods that run.
    return group, workload, "it has resource claims" if group.spec.resource_claims else ""


def _workload_of(group: PodGroup, job: JobView, seen: Observed) -> Workload | None:
    """If it is gone and was Muster's, it is made again together with the PodGroup."""
    name = group.workload_name
    found = next((workload for workload in seen.workloads if workload.metadata.name == name), None)
    if found is None and name in our_workload_names(job):
        return desired_workload(job, name)
    usable = found is not None and workloads_of(job, [found]) and len(found.spec.pod_group_templates) == 1
    return found if usable else None


def _strange(job: JobView, seen: Observed) -> _Found | None:
    """Somebody else's PodGroup, which Muster does not touch."""
    for workload in workloads_of(job, seen.workloads)[:1]:
        for group in pod_groups_of(job, workload, seen.pod_groups)[:1]:
            if anchor_of(seen) is None and len(workload.spec.pod_group_templates) == 1:
                return group, workload, "it is not Muster's"
    return None
