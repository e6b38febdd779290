"""How many pods a gang holds together: the number that its PodGroup should have, from the Job alone."""

from muster.api.job import JobView
from muster.api.workload import Workload
from muster.core.ownership import controls, is_ours, template_for
from muster.core.policy import Policy
from muster.core.wish import wish_of


def group_size(job: JobView, workload: Workload, policy: Policy) -> int | None:
    """The minCount of the Job's PodGroup now; None if it is no gang.

    Indexes that have ended have no pods any more, and the scheduler counts only pods that have not: so many as there
    are of the others must suffice, or a lost pod never comes back.
    """
    template = template_for(job, workload)
    gang = template.scheduling_policy.gang if template is not None else None
    if gang is None:
        return None
    wanted = wanted_size(job, policy) if describes_as_muster(job, workload) else None
    wanted = wanted or gang.min_count
    nothing_ended = job.unfinished == (job.completions or 0)
    return wanted if nothing_ended else max(1, min(wanted, job.unfinished))


def describes_as_muster(job: JobView, workload: Workload) -> bool:
    """Muster wrote the Workload, from the Job: so the Job says more than it. Somebody else's is taken at its word."""
    return is_ours(workload.metadata) and controls(job, workload.metadata)


def wanted_size(job: JobView, policy: Policy) -> int | None:
    """As the Job asks for it, whatever has ended since; None if it is to be no gang."""
    gang = wish_of(job, policy).gang
    return gang.min_count if gang else None
