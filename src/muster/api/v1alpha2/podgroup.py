"""PodGroup: one instance of a Workload's template, with its scheduling status."""

from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict

from muster.api.meta import ObjectMeta, Wire
from muster.api.schema import (
    DNS_LABEL,
    DNS_SUBDOMAIN,
    IMMUTABLE,
    LABEL_KEY,
    REQUIRED,
    RULES,
    Schema,
    by_key,
    default,
    exactly_one,
    rule,
)
from muster.api.v1alpha2.scheduling import DisruptionMode, GangPolicy, SchedulingSpec


class WorkloadTemplateRef(Wire):
    """One template of one Workload in the same namespace."""

    workload_name: Annotated[str, DNS_SUBDOMAIN]
    """Name of the Workload."""
    pod_group_template_name: Annotated[str, DNS_LABEL]
    """Name of the template in it."""


class PodGroupTemplateRef(Wire):
    """Where the template is. Exactly one field is set."""

    model_config = ConfigDict(json_schema_extra=exactly_one("workload"))

    workload: WorkloadTemplateRef | None = None


class PodGroupSpec(SchedulingSpec):
    """The scheduling requirements of the group: a copy of the template that it was created from."""

    pod_group_template_ref: Annotated[PodGroupTemplateRef | None, IMMUTABLE] = None
    """The template that the PodGroup was created from; unset for a standalone PodGroup. Immutable."""
    disruption_mode: Annotated[DisruptionMode | None, IMMUTABLE, default(DisruptionMode.POD.value)] = None
    """Whether pods of the group may be disrupted one by one (Pod), or only all together (PodGroup). Immutable."""


class Condition(Wire):
    """One observation about the group."""

    type: Annotated[str, LABEL_KEY]
    """What was observed: PodGroupScheduled, or DisruptionTarget."""
    status: Annotated[str, Schema(enum=["True", "False", "Unknown"])]
    """Whether the condition holds."""
    reason: Annotated[
        str, Schema(minLength=1, maxLength=1024, pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"), REQUIRED
    ] = ""
    """The cause, as one word in CamelCase."""
    message: Annotated[str, Schema(maxLength=32768)] = ""
    """The cause, as a sentence for people."""
    last_transition_time: Annotated[str, Schema(format="date-time"), REQUIRED] = ""
    """When the status last changed."""
    observed_generation: Annotated[int | None, Schema(format="int64", minimum=0)] = None
    """The metadata.generation that the condition was computed from."""


class ResourceClaimStatus(Wire):
    """The state of one claim of the group."""

    name: Annotated[str, Schema(maxLength=63)]
    """Name of the claim in spec.resourceClaims."""
    resource_claim_name: Annotated[str | None, DNS_SUBDOMAIN] = None
    """Name of the ResourceClaim that was created; unset if none was needed."""


class PodGroupStatus(Wire):
    """What was observed about the group."""

    conditions: Annotated[tuple[Condition, ...], by_key("type")] = ()
    """PodGroupScheduled: whether the group has its nodes. DisruptionTarget: whether it is about to lose them."""
    resource_claim_statuses: Annotated[tuple[ResourceClaimStatus, ...], by_key("name", maxItems=4)] = ()
    """The ResourceClaims that were created for the group."""


_CLAIMS_EXIST = rule(
    "!has(self.status) || !has(self.status.resourceClaimStatuses) || self.status.resourceClaimStatuses.all(made, "
    "has(self.spec.resourceClaims) && self.spec.resourceClaims.exists(claim, claim.name == made.name))",
    "each name must match the name of an entry in spec.resourceClaims",
    ".status.resourceClaimStatuses",
)


PROTECTION = "scheduling.k8s.io/podgroup-protection"
"""The finalizer that keeps a PodGroup as long as it has members that have not ended."""
SCHEDULED = "PodGroupScheduled"


class GangState(StrEnum):
    """The state of a gang."""

    WAITING = "waiting"
    """The gang does not have its nodes yet."""
    SCHEDULED = "scheduled"
    ENDING = "ending"
    """The PodGroup is being deleted."""


class PodGroup(Wire):
    """One running group of pods, with its scheduling policy and its scheduling status."""

    model_config = ConfigDict(json_schema_extra={RULES: [_CLAIMS_EXIST]})

    metadata: ObjectMeta
    spec: PodGroupSpec
    """The scheduling requirements of the group. Immutable."""
    status: PodGroupStatus | None = None
    """What was observed about the group."""

    @property
    def workload_name(self) -> str:
        """Name of the Workload that the PodGroup was created from; empty for a standalone PodGroup."""
        ref = self.spec.pod_group_template_ref
        return ref.workload.workload_name if ref and ref.workload else ""

    @property
    def gang(self) -> GangPolicy | None:
        return self.spec.scheduling_policy.gang

    @property
    def state(self) -> GangState:
        if self.metadata.deletion_timestamp is not None:
            return GangState.ENDING
        condition = self.scheduled
        return GangState.SCHEDULED if condition is not None and condition.status == "True" else GangState.WAITING

    @property
    def scheduled(self) -> Condition | None:
        conditions = self.status.conditions if self.status else ()
        return next((c for c in conditions if c.type == SCHEDULED), None)
