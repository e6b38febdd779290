"""Decides which objects belong to a Job: by reference, never by name alone."""

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
"""How many names of the series (`collision`) are recognised as Muster's."""
REMEMBERED = 8_192
"""Names whose series was computed: this needs up to sixteen hashes, and every decision uses it."""


def workloads_of(job: JobView, found: Iterable[Workload]) -> list[Workload]:
    """The Workloads that describe the Job, without those of an earlier Job of the same name."""
    named = [workload for workload in found if describes(workload, job) and not is_leftover(workload.metadata, job)]
    return _prefer_staying(named)


def describes(workload: Workload, job: JobView) -> bool:
    """Its controllerRef names the Job or, if the Job delegates grouping to its controller, that controller."""
    ref, owner = workload.spec.controller_ref, job.controller
    if not job.delegated or owner is None:
        return workload.job_key == job.key
    return ref is not None and (ref.api_group, ref.kind, ref.name) == (owner.group, owner.kind, owner.name)


def template_for(job: JobView, workload: Workload) -> PodGroupTemplate | None:
    """The template of the Job's PodGroup; None if it is missing or ambiguous."""
    templates = workload.spec.pod_group_templates
    if job.delegated:
        return next((each for each in templates if each.name == job.group_template), None)
    return templates[0] if len(templates) == 1 else None


def own_group_name(job: JobView, workload: str, template: str, collision: int = 0) -> str:
    """The name of the Job's PodGroup. Many Jobs of one controller can use the same template."""
    return pod_group_name(workload, template, collision, job.uid if job.delegated else "")


def pod_groups_of(job: JobView, workload: Workload, found: Iterable[PodGroup]) -> list[PodGroup]:
    """The PodGroups created from the Workload, without those of an earlier Job or of another Job."""
    name = workload.metadata.name
    made = [group for group in found if group.workload_name == name and not is_leftover(group.metadata, job)]
    return _prefer_staying([group for group in made if not job.delegated or controls(job, group.metadata)])


def is_leftover(metadata: ObjectMeta, job: JobView) -> bool:
    """Controlled by another Job: the UID is the identity."""
    owner = metadata.controller
    return owner is not None and owner.is_job and owner.uid != job.uid


def serves(found: Workload | PodGroup, wanted: Workload | PodGroup, job: JobView | None) -> bool:
    """Whether the object that already has the name of the wanted one is as good: it is there for the same Job."""
    if job is None or is_leftover(found.metadata, job):
        return False
    if isinstance(found, Workload):
        return found.job_key == job.key
    return isinstance(wanted, PodGroup) and found.workload_name == wanted.workload_name


def is_ours(metadata: ObjectMeta) -> bool:
    """Created by Muster, according to its label. The label shows who created an object, not which Job it belongs to."""
    return metadata.labels.get(MANAGED_BY_LABEL) == MANAGED_BY


def controls(job: JobView, metadata: ObjectMeta) -> bool:
    owner = metadata.controller
    return owner is not None and owner.uid == job.uid


def is_own(job: JobView, thing: Workload | PodGroup) -> bool:
    """Muster created the object for this Job."""
    if isinstance(thing, PodGroup):
        return is_own_group(job, thing)
    metadata = thing.metadata
    return controls(job, metadata) and is_ours(metadata) and is_own_workload_name(job, metadata.name)


def is_own_group(job: JobView, group: PodGroup) -> bool:
    """Muster created the PodGroup for this Job: its controller, its label and its name match.

    Any user who may create PodGroups can set the first two. The name is computed from the Workload and the template
    that the PodGroup refers to, so that a replica with another view of the Workloads comes to the same result.
    """
    ref = group.spec.pod_group_template_ref
    if ref is None or ref.workload is None or not (controls(job, group.metadata) and is_ours(group.metadata)):
        return False
    workload, template = ref.workload.workload_name, ref.workload.pod_group_template_name
    return is_own_group_name(job, workload, template, group.metadata.name)


def is_own_group_name(job: JobView, workload: str, template: str, name: str) -> bool:
    return bool(template) and _in_group_series(name, workload, template, job.uid if job.delegated else "")


def is_own_workload_name(job: JobView, name: str) -> bool:
    """Whether Muster uses this name for a Workload of the Job."""
    return _in_workload_series(name, job.key.name, job.uid)


@lru_cache(REMEMBERED)
def _in_group_series(name: str, workload: str, template: str, member: str) -> bool:
    return any(name == pod_group_name(workload, template, nth, member) for nth in range(TRIED_NAMES))


@lru_cache(REMEMBERED)
def _in_workload_series(name: str, job: str, uid: Uid) -> bool:
    return any(name == workload_name(job, uid, nth) for nth in range(TRIED_NAMES))


def has_own(job: JobView | None, things: Iterable[Workload | PodGroup]) -> bool:
    """Whether Muster has already created an object for the Job."""
    return job is not None and any(is_own(job, each) for each in things)


def _prefer_staying(things: list[Thing]) -> list[Thing]:
    """Objects that are being deleted count only if there are no others."""
    return [thing for thing in things if thing.metadata.deletion_timestamp is None] or things
