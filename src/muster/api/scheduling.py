"""The building blocks that Workload templates and PodGroups share."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from muster.api.meta import Wire


class BasicPolicy(Wire):
    """Each pod is scheduled as it comes; the group is only a name."""


class GangPolicy(Wire):
    """All or nothing: no pod is bound until min_count pods can be."""

    min_count: Annotated[int, Field(ge=1)]


class SchedulingPolicy(Wire):
    """Exactly one of the two is set; the API server enforces it."""

    basic: BasicPolicy | None = None
    gang: GangPolicy | None = None


class TopologyConstraint(Wire):
    key: str


class SchedulingConstraints(Wire):
    topology: tuple[TopologyConstraint, ...] = ()


class DisruptionMode(StrEnum):
    POD = "Pod"
    POD_GROUP = "PodGroup"


class ResourceClaim(Wire):
    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class SchedulingSpec(Wire):
    """What a template says about its group, and a PodGroup copies, field by field."""

    scheduling_policy: SchedulingPolicy
    scheduling_constraints: SchedulingConstraints | None = None
    resource_claims: tuple[ResourceClaim, ...] | None = None
    disruption_mode: DisruptionMode | None = None
    priority_class_name: str | None = None
    priority: int | None = None
