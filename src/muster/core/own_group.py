"""Finds the PodGroup that Muster made for a Job. All replicas follow it."""

from muster.api.job import JobView
from muster.api.v1alpha2.podgroup import PodGroup
from muster.core.observed import Observed
from muster.core.ownership import is_own_group, is_own_workload_name, workloads_of


def own_pod_group(seen: Observed) -> PodGroup | None:
    """The PodGroup that Muster made for this Job, if there is one.

    While it exists, other objects and the settings of one replica change nothing. Muster reads it by name before it
    admits a plain pod, so no replica admits a plain pod while another replica lets its siblings join.

    A user who writes Muster's label and the Job's controller reference into their own PodGroup does not get the Job's
    pods: the name must be one that Muster computes, and the names of the Job's own Workload come first.
    """
    job = seen.job
    made = [group for group in seen.pod_groups if is_own_group(job, group)] if job is not None else []
    if job is None or len(made) < 2:
        return made[0] if made else None
    return min(made, key=lambda group: _rank(group, job, seen))


def is_own_workload(group: PodGroup, job: JobView) -> bool:
    """The PodGroup was made from a Workload that Muster makes for the Job."""
    return is_own_workload_name(job, group.workload_name)


def _rank(group: PodGroup, job: JobView, seen: Observed) -> tuple[bool, bool, bool, str]:
    described = any(workload.metadata.name == group.workload_name for workload in workloads_of(job, seen.workloads))
    leaving = group.metadata.deletion_timestamp is not None
    return not is_own_workload(group, job), leaving, not described, group.metadata.name
