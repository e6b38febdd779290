"""The building blocks that Workload templates and PodGroups share."""

from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict, Field

from muster.api.meta import Wire
from muster.api.schema import (
    COUNT,
    DNS_LABEL,
    DNS_SUBDOMAIN,
    DNS_SUBDOMAIN_OR_EMPTY,
    IMMUTABLE,
    LABEL_KEY,
    Schema,
    atomic,
    by_key,
    exactly_one,
)


class BasicPolicy(Wire):
    """Each pod is scheduled on its own; the group has no effect on scheduling."""


class GangPolicy(Wire):
    """All or nothing: no pod is bound until minCount pods can be bound."""

    min_count: Annotated[int, Field(ge=1), COUNT]
    """How many pods must be schedulable, or scheduled, at the same time for the group to be admitted."""


class SchedulingPolicy(Wire):
    """Exactly one of the two is set; the API server enforces it."""

    model_config = ConfigDict(json_schema_extra=exactly_one("basic", "gang"))

    basic: BasicPolicy | None = None
    gang: GangPolicy | None = None


class TopologyConstraint(Wire):
    """All pods of the group run in one domain: on nodes that share one value of a label."""

    key: Annotated[str, LABEL_KEY]
    """Key of the node label whose values are the domains, such as topology.kubernetes.io/zone."""


class SchedulingConstraints(Wire):
    """Where the pods of the group may run, as a whole."""

    topology: Annotated[tuple[TopologyConstraint, ...], atomic(maxItems=1)] = ()
    """The topology domain that the whole group shares. One constraint at most."""


class DisruptionMode(StrEnum):
    POD = "Pod"
    POD_GROUP = "PodGroup"


class ResourceClaim(Wire):
    """One ResourceClaim that the pods of the group share: an existing one, or one created for the group."""

    model_config = ConfigDict(json_schema_extra=exactly_one("resourceClaimName", "resourceClaimTemplateName"))

    name: Annotated[str, DNS_LABEL]
    """Identifies the claim inside the group. A DNS label."""
    resource_claim_name: Annotated[str | None, DNS_SUBDOMAIN] = None
    """Name of a ResourceClaim in the same namespace."""
    resource_claim_template_name: Annotated[str | None, DNS_SUBDOMAIN] = None
    """Name of a ResourceClaimTemplate in the same namespace. The claim is created for the group and deleted with it."""


class SchedulingSpec(Wire):
    """The fields of a template, which the PodGroup copies."""

    scheduling_policy: Annotated[SchedulingPolicy, IMMUTABLE]
    """How the pods of the group are scheduled: one by one, or all or none. Immutable."""
    scheduling_constraints: Annotated[SchedulingConstraints | None, IMMUTABLE] = None
    """Where the pods of the group may run, as a whole. Immutable."""
    resource_claims: Annotated[tuple[ResourceClaim, ...] | None, by_key("name", maxItems=4), IMMUTABLE] = None
    """The ResourceClaims that the pods of the group may share. At most 4, with unique names. Immutable."""
    disruption_mode: Annotated[DisruptionMode | None, IMMUTABLE] = None
    """Whether pods of the group may be disrupted one by one (Pod), or only all together (PodGroup). Immutable."""
    priority_class_name: Annotated[str | None, DNS_SUBDOMAIN_OR_EMPTY, IMMUTABLE] = None
    """Name of the PriorityClass that gives the group its priority. Immutable."""
    priority: Annotated[int | None, Schema(format="int32", minimum=-(2**31), maximum=10**9), IMMUTABLE] = None
    """The group's priority, from the PriorityClass. A higher value is scheduled first. Immutable."""
