"""Finds fields that the API server silently dropped from an object, because their feature gate is off."""

from muster.api.v1alpha2.podgroup import PodGroup
from muster.api.v1alpha2.scheduling import SchedulingSpec
from muster.api.v1alpha2.workload import Workload
from muster.core import messages

GATES = {
    "scheduling_constraints": "TopologyAwareWorkloadScheduling",
    "resource_claims": "DRAWorkloadResourceClaims",
    "disruption_mode": "WorkloadAwarePreemption",
    "priority_class_name": "WorkloadAwarePreemption",
    "priority": "WorkloadAwarePreemption",
}
"""The fields that a server may drop, and the feature gate of each."""


def dropped_policy(sent: Workload | PodGroup, kept: Workload | PodGroup, native: bool) -> str:
    """One sentence about the fields that are missing or changed in the stored object; empty if there are none."""
    lost = {
        field: gate
        for part, answer in zip(_specs(sent), _specs(kept), strict=False)
        for field, gate in GATES.items()
        if (value := getattr(part, field)) and getattr(answer, field) != value
    }
    if not lost:
        return ""
    gates = {str(SchedulingSpec.model_fields[field].alias): gate for field, gate in lost.items()}
    return messages.fields_dropped(type(kept).__name__, kept.metadata.name, gates, native)


def _specs(thing: Workload | PodGroup) -> tuple[SchedulingSpec, ...]:
    return thing.spec.pod_group_templates if isinstance(thing, Workload) else (thing.spec,)
