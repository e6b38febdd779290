"""Maps the blocks that a user sets to the common representation of all levels.

An empty block requests nothing: it maps to nothing, and the default applies. If a block sets both members of a union,
which validation refuses, the first one is used, as upstream does.
"""

from collections.abc import Iterable

from muster.api import blocks
from muster.api.blocks import CompositePodGroupScheduling, PodGroupScheduling
from muster.workloadbuilder.config import (
    BasicPolicy,
    DisruptionMode,
    GangPolicy,
    ResourceClaim,
    SchedulingConfig,
    SchedulingConstraints,
    SchedulingPolicy,
)

AnyConstraints = blocks.WorkloadPodGroupSchedulingConstraints | blocks.WorkloadCompositePodGroupSchedulingConstraints
AnyDisruptionMode = blocks.WorkloadPodGroupDisruptionMode | blocks.WorkloadCompositePodGroupDisruptionMode
AnyPolicy = blocks.WorkloadPodGroupSchedulingPolicy | blocks.WorkloadCompositePodGroupSchedulingPolicy


def map_pod_group_config(
    policy: blocks.WorkloadPodGroupSchedulingPolicy | None = None,
    constraints: blocks.WorkloadPodGroupSchedulingConstraints | None = None,
    disruption_mode: blocks.WorkloadPodGroupDisruptionMode | None = None,
    resource_claims: Iterable[blocks.WorkloadPodGroupResourceClaim] | None = None,
) -> SchedulingConfig:
    """The request of a leaf's blocks."""
    return SchedulingConfig(
        policy=map_policy(policy),
        constraints=_constraints(constraints),
        disruption_mode=map_disruption_mode(disruption_mode),
        resource_claims=tuple(
            ResourceClaim(claim.name, claim.resource_claim_name, claim.resource_claim_template_name)
            for claim in resource_claims or ()
        ),
    )


def map_composite_group_config(
    policy: blocks.WorkloadCompositePodGroupSchedulingPolicy | None = None,
    constraints: blocks.WorkloadCompositePodGroupSchedulingConstraints | None = None,
    disruption_mode: blocks.WorkloadCompositePodGroupDisruptionMode | None = None,
) -> SchedulingConfig:
    """The request of a composite's blocks; minGroupCount becomes the gang's `min_count`."""
    return SchedulingConfig(
        policy=map_policy(policy),
        constraints=_constraints(constraints),
        disruption_mode=map_disruption_mode(disruption_mode),
    )


def mapped(asked: PodGroupScheduling | CompositePodGroupScheduling | SchedulingConfig) -> SchedulingConfig:
    match asked:
        case PodGroupScheduling():
            return map_pod_group_config(asked.policy, asked.constraints, asked.disruption_mode, asked.resource_claims)
        case CompositePodGroupScheduling():
            return map_composite_group_config(asked.policy, asked.constraints, asked.disruption_mode)
    return asked


def map_policy(policy: AnyPolicy | None) -> SchedulingPolicy | None:
    if policy is None:
        return None
    if policy.basic is not None:
        return BasicPolicy()
    match policy.gang:
        case None:
            return None
        case blocks.WorkloadPodGroupGangSchedulingPolicy() as gang:
            return GangPolicy(gang.min_count)
        case blocks.WorkloadCompositePodGroupGangSchedulingPolicy() as gang:
            return GangPolicy(gang.min_group_count)


def map_disruption_mode(mode: AnyDisruptionMode | None) -> DisruptionMode | None:
    if mode is None or (mode.single is None and mode.all is None):
        return None
    return DisruptionMode.SINGLE if mode.single is not None else DisruptionMode.ALL


def _constraints(constraints: AnyConstraints | None) -> SchedulingConstraints | None:
    if constraints is None or not constraints.topology:
        return None
    return SchedulingConstraints(tuple(constraint.key for constraint in constraints.topology))
