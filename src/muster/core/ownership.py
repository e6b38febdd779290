"""Which of the objects that were found belong to the Job: by reference, and never by name alone."""

from collections.abc import Iterable
from functools import lru_cache
from typing import TypeVar

from muster.api.job import JobView
from muster.api.keys import Uid
from muster.api.meta import MANAGED_BY, MANAGED_BY_LABEL, ObjectMeta
from muster.api.v1alpha2.podgroup import PodGroup
from muster.api.v1alpha2.workload import PodGroupTemplate, Workload
from muster.core.naming import pod_group_name, workload_name

Thing = TypeVar("Thing", Workload, PodGroup)

TRIED_NAMES = 16
"""How far down the series of names an object is still recognised as ours."""
REMEMBERED = 8_192
"""Names whose series was looked through: it takes up to sixteen hashes, and every decision asks."""


def workloads_of(job: JobView, found: Iterable[Workload]) -> list[Workload]:
    """Those that describe the Job, without what an earlier Job of that name left behind."""
    named = [workload for workload in found if describes(workload, job) and not is_leftover(workload.metadata, job)]
    return _prefer_staying(named)


def describes(workload: Workload, job: JobView) -> bool:
    """Its controllerRef names the Job or, for a Job of whose groups a controller decides, that controller."""
    ref, owner = workload.spec.controller_ref, job.controller
    if not job.delegated or owner is None:
        return workload.job_key == job.key
    return ref is not None and (ref.api_group, ref.kind, ref.name) == (owner.group, owner.kind, owner.name)


def template_for(job: JobView, workload: Workload) -> PodGroupTemplate | None:
    """The template of the Job's PodGroup; None if it is not there, or not clear."""
    templates = workload.spec.pod_group_templates
    if job.delegated:
        return next((each for each in templates if each.name == job.group_template), None)
    return templates[0] if len(templates) == 1 else None


def own_group_name(job: JobView, workload: str, template: str, collision: int = 0) -> str:
    """The name of the Job's PodGroup. Many Jobs of one controller can have theirs from one template."""
    return pod_group_name(workload, template, collision, job.uid if job.delegated else "")


def pod_groups_of(job: JobView, workload: Workload, found: Iterable[PodGroup]) -> list[PodGroup]:
    """Those made from the Workload, without what an earlier Job left behind, or what is another Job's."""
    name = workload.metadata.name
    made = [group for group in found if group.workload_name == name and not is_leftover(group.metadata, job)]
    return _prefer_staying([group for group in made if not job.delegated or controls(job, group.metadata)])


def is_leftover(metadata: ObjectMeta, job: JobView) -> bool:
    """Controlled by a Job, and not by this one: identity is the UID."""
    owner = metadata.controller
    return owner is not None and owner.is_job and owner.uid != job.uid


def is_ours(metadata: ObjectMeta) -> bool:
    """Made by Muster, by its label. It tells who made an object, never whose it is."""
    return metadata.labels.get(MANAGED_BY_LABEL) == MANAGED_BY


def controls(job: JobView, metadata: ObjectMeta) -> bool:
    owner = metadata.controller
    return owner is not None and owner.uid == job.uid


def is_own(job: JobView, thing: Workload | PodGroup) -> bool:
    """Muster made the object for this Job."""
    if isinstance(thing, PodGroup):
        return is_own_group(job, thing)
    metadata = thing.metadata
    return controls(job, metadata) and is_ours(metadata) and is_own_workload_name(job, metadata.name)


def is_own_group(job: JobView, group: PodGroup) -> bool:
    """Muster made the PodGroup for this Job: by its controller, its label and its name.

    Anybody who may create PodGroups can write the first two. The name follows from the Workload and the template that
    the PodGroup itself refers to, so that a replica with another view of the Workloads says the same.
    """
    ref = group.spec.pod_group_template_ref
    if ref is None or ref.workload is None or not (controls(job, group.metadata) and is_ours(group.metadata)):
        return False
    workload, template = ref.workload.workload_name, ref.workload.pod_group_template_name
    return is_own_group_name(job, workload, template, group.metadata.name)


def is_own_group_name(job: JobView, workload: str, template: str, name: str) -> bool:
    return bool(template) and _in_group_series(name, workload, template, job.uid if job.delegated else "")


def is_own_workload_name(job: JobView, name: str) -> bool:
    """The name is one that Muster gives to a Workload that it makes for the Job."""
    return _in_workload_series(name, job.key.name, job.uid)


@lru_cache(REMEMBERED)
def _in_group_series(name: str, workload: str, template: str, member: str) -> bool:
    return any(name == pod_group_name(workload, template, nth, member) for nth in range(TRIED_NAMES))


@lru_cache(REMEMBERED)
def _in_workload_series(name: str, job: str, uid: Uid) -> bool:
    return any(name == workload_name(job, uid, nth) for nth in range(TRIED_NAMES))


def has_ours(job: JobView | None, things: Iterable[Workload | PodGroup]) -> bool:
    """Muster has made something for the Job already."""
    return job is not None and any(is_own(job, each) for each in things)


def _prefer_staying(things: list[Thing]) -> list[Thing]:
    """What is being deleted counts only if nothing else is there."""
    return [thing for thing in things if thing.metadata.deletion_timestamp is None] or things
