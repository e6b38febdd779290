"""The Workload and the PodGroup that a Job should have."""

from dataclasses import replace

from muster.api.job import JobView
from muster.api.meta import MANAGED_BY, MANAGED_BY_LABEL, ObjectMeta, OwnerReference
from muster.api.profile import ApiProfile
from muster.api.v1alpha2.podgroup import PodGroup, PodGroupSpec, PodGroupTemplateRef, WorkloadTemplateRef
from muster.api.v1alpha2.scheduling import GangPolicy, SchedulingPolicy, SchedulingSpec
from muster.api.v1alpha2.workload import ControllerRef, PodGroupTemplate, Workload, WorkloadSpec
from muster.core.gang_size import group_size
from muster.core.naming import template_name
from muster.core.ownership import controls, template_for
from muster.core.policy import Policy
from muster.core.request import ALLOWED, request_of
from muster.workloadbuilder import V1ALPHA2, WorkloadBuilder

_LABELS = {MANAGED_BY_LABEL: MANAGED_BY}
_DEFAULTS = Policy()


def desired_workload(job: JobView, name: str, policy: Policy = _DEFAULTS) -> Workload:
    item = request_of(job, policy).item
    if item is None:
        raise ValueError("a Job that is not a gang by its parallelism and requests nothing gets no Workload")
    options = replace(ALLOWED, name=name, namespace=job.key.namespace, owner=controlled_by(job), labels=dict(_LABELS))
    return WorkloadBuilder(item, options, V1ALPHA2).build_workload()


def workload_behind(job: JobView, group: PodGroup) -> Workload:
    """The Workload that a PodGroup of the Job was created from, reconstructed from the PodGroup."""
    shared = {field: getattr(group.spec, field) for field in SchedulingSpec.model_fields}
    template = PodGroupTemplate(name=template_name(job.key.name), **shared)
    controller = ControllerRef(api_group="batch", kind="Job", name=job.key.name)
    return Workload(
        metadata=_metadata(job, group.workload_name, controlled_by(job)),
        spec=WorkloadSpec(controller_ref=controller, pod_group_templates=(template,)),
    )


def desired_pod_group(
    job: JobView, workload: Workload, name: str, profile: ApiProfile, policy: Policy = _DEFAULTS
) -> PodGroup:
    """A copy of all fields of the template, with the Job's current size."""
    template = template_for(job, workload)
    if template is None:
        raise ValueError("the Workload must have exactly one template for the Job")
    shared = {
        field: getattr(template, field) for field in SchedulingSpec.model_fields if field in template.model_fields_set
    }
    if (size := group_size(job, workload, policy)) is not None:
        shared["scheduling_policy"] = SchedulingPolicy(gang=GangPolicy(min_count=size))
    ref = WorkloadTemplateRef(workload_name=workload.metadata.name, pod_group_template_name=template.name)
    # A user's own Workload may outlive the Job and would keep the PodGroup: then the Job is the only owner.
    owners = (controlled_by(job), *([_described_by(workload, profile)] if controls(job, workload.metadata) else []))
    return PodGroup(
        metadata=_metadata(job, name, *owners),
        spec=PodGroupSpec(pod_group_template_ref=PodGroupTemplateRef(workload=ref), **shared),
    )


def controlled_by(job: JobView) -> OwnerReference:
    return OwnerReference(
        api_version="batch/v1", kind="Job", name=job.key.name, uid=job.uid, controller=True, block_owner_deletion=True
    )


def _described_by(workload: Workload, profile: ApiProfile) -> OwnerReference:
    """An owner reference without `controller` and `blockOwnerDeletion`: the Workload does not control the PodGroup."""
    metadata = workload.metadata
    return OwnerReference(api_version=profile.api_version, kind="Workload", name=metadata.name, uid=metadata.uid)


def _metadata(job: JobView, name: str, *owners: OwnerReference) -> ObjectMeta:
    return ObjectMeta(name=name, namespace=job.key.namespace, labels=_LABELS, owner_references=owners)
