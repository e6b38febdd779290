"""Compiles a controller's workload into a Workload and its PodGroups (KEP-6089). See docs/workloadbuilder.md.

Describe the workload as a tree of `WorkloadItem`s, each with the controller's default and the user's blocks, and pass
it to a `WorkloadBuilder` for one of the API versions `V1ALPHA2`, `V1ALPHA3`, `V1BETA1`. The library is pure: it sends
no requests.
"""

from muster.api.blocks import (
    CompositePodGroupScheduling,
    PodGroupScheduling,
    TopologyConstraint,
    WorkloadCompositePodGroupAllDisruptionMode,
    WorkloadCompositePodGroupBasicSchedulingPolicy,
    WorkloadCompositePodGroupDisruptionMode,
    WorkloadCompositePodGroupGangSchedulingPolicy,
    WorkloadCompositePodGroupSchedulingConstraints,
    WorkloadCompositePodGroupSchedulingPolicy,
    WorkloadCompositePodGroupSingleDisruptionMode,
    WorkloadPodGroupAllDisruptionMode,
    WorkloadPodGroupBasicSchedulingPolicy,
    WorkloadPodGroupDisruptionMode,
    WorkloadPodGroupGangSchedulingPolicy,
    WorkloadPodGroupResourceClaim,
    WorkloadPodGroupSchedulingConstraints,
    WorkloadPodGroupSchedulingPolicy,
    WorkloadPodGroupSingleDisruptionMode,
)
from muster.api.meta import OwnerReference
from muster.workloadbuilder.builder import Groups, WorkloadBuilder, group_name
from muster.workloadbuilder.callbacks import default_min_count
from muster.workloadbuilder.config import (
    BasicPolicy,
    DisruptionMode,
    GangPolicy,
    PolicyKind,
    ResourceClaim,
    SchedulingConfig,
    SchedulingConstraints,
    SchedulingPolicy,
)
from muster.workloadbuilder.errors import (
    ErrorKind,
    FieldError,
    FieldPath,
    InvalidConfiguration,
    NotBuilt,
    UnknownTemplate,
    WorkloadBuilderError,
)
from muster.workloadbuilder.flat import FlatTarget
from muster.workloadbuilder.mapping import map_composite_group_config, map_pod_group_config
from muster.workloadbuilder.merge import merge
from muster.workloadbuilder.nested import NestedTarget
from muster.workloadbuilder.parsing import (
    Parsed,
    parse_composite_scheduling,
    parse_pod_group_scheduling,
    read_composite_scheduling,
    read_pod_group_scheduling,
)
from muster.workloadbuilder.targets import Target
from muster.workloadbuilder.tree import BlockPaths, WorkloadItem, WorkloadItemFunc
from muster.workloadbuilder.validation import BuildOptions, validate_disruption_mode, validate_scheduling_policy

V1ALPHA2 = FlatTarget("v1alpha2")
"""Kubernetes 1.36, and Muster's CRDs: flat, at most 8 groups."""
V1ALPHA3 = NestedTarget("v1alpha3")
"""Kubernetes 1.37, with groups of groups."""
V1BETA1 = NestedTarget("v1beta1")
"""Kubernetes 1.37: the same Workload and PodGroup; their CompositePodGroups are v1alpha3."""
GROUP_TEMPLATE_NAME = "scheduling.k8s.io/group-template-name"
"""Annotation on a child object: the template of the parent's Workload that its pods belong to."""
PARENT_COMPOSITE_POD_GROUP = "scheduling.k8s.io/parent-composite-podgroup"
"""Annotation on a child object: the CompositePodGroup that its group is part of."""

__all__ = [
    "GROUP_TEMPLATE_NAME",
    "PARENT_COMPOSITE_POD_GROUP",
    "V1ALPHA2",
    "V1ALPHA3",
    "V1BETA1",
    "BasicPolicy",
    "BlockPaths",
    "BuildOptions",
    "CompositePodGroupScheduling",
    "DisruptionMode",
    "ErrorKind",
    "FieldError",
    "FieldPath",
    "GangPolicy",
    "Groups",
    "InvalidConfiguration",
    "NotBuilt",
    "OwnerReference",
    "Parsed",
    "PodGroupScheduling",
    "PolicyKind",
    "ResourceClaim",
    "SchedulingConfig",
    "SchedulingConstraints",
    "SchedulingPolicy",
    "Target",
    "TopologyConstraint",
    "UnknownTemplate",
    "WorkloadBuilder",
    "WorkloadBuilderError",
    "WorkloadCompositePodGroupAllDisruptionMode",
    "WorkloadCompositePodGroupBasicSchedulingPolicy",
    "WorkloadCompositePodGroupDisruptionMode",
    "WorkloadCompositePodGroupGangSchedulingPolicy",
    "WorkloadCompositePodGroupSchedulingConstraints",
    "WorkloadCompositePodGroupSchedulingPolicy",
    "WorkloadCompositePodGroupSingleDisruptionMode",
    "WorkloadItem",
    "WorkloadItemFunc",
    "WorkloadPodGroupAllDisruptionMode",
    "WorkloadPodGroupBasicSchedulingPolicy",
    "WorkloadPodGroupDisruptionMode",
    "WorkloadPodGroupGangSchedulingPolicy",
    "WorkloadPodGroupResourceClaim",
    "WorkloadPodGroupSchedulingConstraints",
    "WorkloadPodGroupSchedulingPolicy",
    "WorkloadPodGroupSingleDisruptionMode",
    "default_min_count",
    "group_name",
    "map_composite_group_config",
    "map_pod_group_config",
    "merge",
    "parse_composite_scheduling",
    "parse_pod_group_scheduling",
    "read_composite_scheduling",
    "read_pod_group_scheduling",
    "validate_disruption_mode",
    "validate_scheduling_policy",
]
