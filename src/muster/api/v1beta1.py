"""Workload, PodGroup and CompositePodGroup of Kubernetes 1.37.

v1beta1 and v1alpha3 have the same Workload and PodGroup; only v1alpha3 has CompositePodGroup. `muster.workloadbuilder`
writes these objects; the operator does not support this version yet.
"""

from typing import Annotated, Self

from pydantic import ConfigDict, Field

from muster.api.meta import ObjectMeta, Wire
from muster.api.schema import (
    COUNT,
    DNS_LABEL,
    DNS_SUBDOMAIN,
    DNS_SUBDOMAIN_OR_EMPTY,
    IMMUTABLE,
    Schema,
    by_key,
    exactly_one,
)
from muster.api.v1alpha2.scheduling import ResourceClaim, SchedulingConstraints, SchedulingPolicy
from muster.api.v1alpha2.workload import ControllerRef

MAX_TEMPLATES = 8
"""Maximum length of each list of templates."""
MAX_DEPTH = 4
"""Maximum depth of the tree of templates, including the leaves."""


class SingleDisruptionMode(Wire):
    """The members can be disrupted one by one."""


class AllDisruptionMode(Wire):
    """The members are disrupted together."""


class DisruptionMode(Wire):
    """How the members of a group are disrupted. Exactly one is set."""

    model_config = ConfigDict(json_schema_extra=exactly_one("single", "all"))

    single: SingleDisruptionMode | None = None
    all: AllDisruptionMode | None = None


class CompositeBasicPolicy(Wire):
    """Each group is scheduled on its own."""


class CompositeGangPolicy(Wire):
    """All or nothing, for groups."""

    min_group_count: Annotated[int, Field(ge=1), COUNT]
    """How many groups must be schedulable, or scheduled, at the same time."""


class CompositeSchedulingPolicy(Wire):
    """Exactly one of the two is set; the API server enforces it."""

    model_config = ConfigDict(json_schema_extra=exactly_one("basic", "gang"))

    basic: CompositeBasicPolicy | None = None
    gang: CompositeGangPolicy | None = None


class GroupSpec(Wire):
    """The fields that both kinds of group have."""

    scheduling_constraints: Annotated[SchedulingConstraints | None, IMMUTABLE] = None
    disruption_mode: Annotated[DisruptionMode | None, IMMUTABLE] = None
    priority_class_name: Annotated[str | None, DNS_SUBDOMAIN_OR_EMPTY, IMMUTABLE] = None
    priority: Annotated[int | None, Schema(format="int32", maximum=10**9), IMMUTABLE] = None
    preemption_policy: Annotated[str | None, Schema(enum=["Never", "PreemptLowerPriority"]), IMMUTABLE] = None


class LeafSpec(GroupSpec):
    """The fields of a PodGroup template, which the PodGroup copies."""

    scheduling_policy: SchedulingPolicy
    """The kind of policy (basic or gang) is immutable; minCount may change."""
    resource_claims: Annotated[tuple[ResourceClaim, ...] | None, by_key("name", maxItems=4), IMMUTABLE] = None


class CompositeSpec(GroupSpec):
    """The fields of a CompositePodGroup template, which the CompositePodGroup copies."""

    scheduling_policy: CompositeSchedulingPolicy


class PodGroupTemplate(LeafSpec):
    name: Annotated[str, DNS_LABEL]


Leaves = Annotated[tuple[PodGroupTemplate, ...] | None, by_key("name", maxItems=MAX_TEMPLATES)]


class CompositePodGroupTemplate(CompositeSpec):
    """Has at least one child of either kind."""

    name: Annotated[str, DNS_LABEL]
    pod_group_templates: Leaves = None
    composite_pod_group_templates: Annotated[tuple[Self, ...] | None, by_key("name", maxItems=MAX_TEMPLATES)] = None


Composites = Annotated[tuple[CompositePodGroupTemplate, ...] | None, by_key("name", maxItems=MAX_TEMPLATES)]


class WorkloadSpec(Wire):
    """Flat or nested: exactly one of the two lists is set. Templates cannot be added or removed later."""

    model_config = ConfigDict(json_schema_extra=exactly_one("podGroupTemplates", "compositePodGroupTemplates"))

    controller_ref: Annotated[ControllerRef | None, IMMUTABLE] = None
    pod_group_templates: Leaves = None
    composite_pod_group_templates: Composites = None


class Workload(Wire):
    metadata: ObjectMeta
    spec: WorkloadSpec


class WorkloadReference(Wire):
    """One template of one Workload in the same namespace."""

    workload_name: Annotated[str, DNS_SUBDOMAIN]
    template_name: Annotated[str, DNS_LABEL]


class PodGroupSpec(LeafSpec):
    parent_composite_pod_group_name: Annotated[str | None, DNS_SUBDOMAIN, IMMUTABLE] = None
    """The composite that the group is part of; unset for the root of a hierarchy. Requires workloadRef."""
    workload_ref: Annotated[WorkloadReference | None, IMMUTABLE] = None


class PodGroup(Wire):
    metadata: ObjectMeta
    spec: PodGroupSpec


class CompositePodGroupSpec(CompositeSpec):
    parent_composite_pod_group_name: Annotated[str | None, DNS_SUBDOMAIN, IMMUTABLE] = None
    workload_ref: Annotated[WorkloadReference, IMMUTABLE]


class CompositePodGroup(Wire):
    metadata: ObjectMeta
    spec: CompositePodGroupSpec
