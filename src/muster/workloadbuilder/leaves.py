"""The parts of a template that are the same in all versions of the API."""

from typing import Any

from muster.api.v1alpha2.scheduling import (
    BasicPolicy,
    GangPolicy,
    ResourceClaim,
    SchedulingConstraints,
    SchedulingPolicy,
    TopologyConstraint,
)
from muster.workloadbuilder import config
from muster.workloadbuilder.merge import ResolvedItem


def leaf_fields(resolved: ResolvedItem) -> dict[str, Any]:
    given = group_fields(resolved)
    given["scheduling_policy"] = _policy(resolved.policy)
    if resolved.config.resource_claims:
        given["resource_claims"] = tuple(map(_claim, resolved.config.resource_claims))
    return given


def group_fields(resolved: ResolvedItem) -> dict[str, Any]:
    """The fields of leaves and composites that are set."""
    asked = resolved.config
    given: dict[str, Any] = {"name": resolved.item.name}
    if asked.constraints is not None:
        topology = tuple(TopologyConstraint(key=key) for key in asked.constraints.topology)
        given["scheduling_constraints"] = SchedulingConstraints(topology=topology)
    if asked.priority_class_name:
        given["priority_class_name"] = asked.priority_class_name
    if asked.priority is not None:
        given["priority"] = asked.priority
    return given


def _policy(policy: config.SchedulingPolicy) -> SchedulingPolicy:
    match policy:
        case config.GangPolicy(min_count=int() as count):
            return SchedulingPolicy(gang=GangPolicy(min_count=count))
    return SchedulingPolicy(basic=BasicPolicy())


def _claim(claim: config.ResourceClaim) -> ResourceClaim:
    references = {
        "resource_claim_name": claim.resource_claim_name,
        "resource_claim_template_name": claim.resource_claim_template_name,
    }
    return ResourceClaim(name=claim.name, **{field: name for field, name in references.items() if name is not None})
