"""What the API server did not keep of an object that it took: fields whose feature gate is off go without a word."""

from muster.api.v1alpha2.podgroup import PodGroup
from muster.api.v1alpha2.scheduling import SchedulingSpec
from muster.api.v1alpha2.workload import Workload

GATES = {
    "scheduling_constraints": "TopologyAwareWorkloadScheduling",
    "resource_claims": "DRAWorkloadResourceClaims",
    "disruption_mode": "WorkloadAwarePreemption",
    "priority_class_name": "WorkloadAwarePreemption",
    "priority": "WorkloadAwarePreemption",
}
"""The fields that a server may drop, and the gate that makes it keep them."""


def dropped_policy(sent: Workload | PodGroup, kept: Workload | PodGroup, native: bool) -> str:
    """One sentence on the fields that were sent and are not there, or are other than sent; empty if all is kept."""
    lost = {
        field: gate
        for part, answer in zip(_specs(sent), _specs(kept), strict=False)
        for field, gate in GATES.items()
        if (value := getattr(part, field)) and getattr(answer, field) != value
    }
    if not lost:
        return ""
    about = f"{type(kept).__name__} {kept.metadata.name}"
    return f"The API server did not keep {_listed(lost, native)} of {about}; the gang is scheduled without"


def _specs(thing: Workload | PodGroup) -> tuple[SchedulingSpec, ...]:
    return thing.spec.pod_group_templates if isinstance(thing, Workload) else (thing.spec,)


def _listed(lost: dict[str, str], native: bool) -> str:
    names = {field: str(SchedulingSpec.model_fields[field].alias) for field in lost}
    if native:
        return ", ".join(f"{names[field]} (feature gate {gate} is off)" for field, gate in lost.items())
    return f"{', '.join(names.values())} (the installed CRD is too old: `muster crds install`)"
