"""A PodGroup: one running instance of a Workload's template, with the scheduler's verdict on it."""

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
    """Where the template is. Exactly one kind of place is given."""

    model_config = ConfigDict(json_schema_extra=exactly_one("workload"))

    workload: WorkloadTemplateRef | None = None


class PodGroupSpec(SchedulingSpec):
    """What the scheduler knows about the group: a copy of the template that it was made from."""

    pod_group_template_ref: Annotated[PodGroupTemplateRef | None, IMMUTABLE] = None
    """The template that the PodGroup was made from; unset for a free-standing one. Immutable."""
    disruption_mode: Annotated[DisruptionMode | None, IMMUTABLE, default(DisruptionMode.POD.value)] = None
    """Whether pods of the group may be disrupted one by one (Pod), or only all together (PodGroup). Immutable."""


class Condition(Wire):
    """One thing that was observed about the group."""

    type: Annotated[str, LABEL_KEY]
    """What was observed: PodGroupScheduled, or DisruptionTarget."""
    status: Annotated[str, Schema(enum=["True", "False", "Unknown"])]
    """Whether it holds."""
    reason: Annotated[
        str, Schema(minLength=1, maxLength=1024, pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"), REQUIRED
    ] = ""
    """Why, as one word."""
    message: Annotated[str, Schema(maxLength=32768)] = ""
    """Why, as a sentence for people."""
    last_transition_time: Annotated[str, Schema(format="date-time"), REQUIRED] = ""
    """When the status last changed."""
    observed_generation: Annotated[int | None, Schema(format="int64", minimum=0)] = None
    """The metadata.generation that was looked at."""


class ResourceClaimStatus(Wire):
    """What became of one claim of the group."""

    name: Annotated[str, Schema(maxLength=63)]
    """Name of the claim in spec.resourceClaims."""
    resource_claim_name: Annotated[str | None, DNS_SUBDOMAIN] = None
    """Name of the ResourceClaim that was made; unset if none had to be."""


class PodGroupStatus(Wire):
    """What was observed about the group."""

    conditions: Annotated[tuple[Condition, ...], by_key("type")] = ()
    """PodGroupScheduled: whether the group got its nodes. DisruptionTarget: whether it is about to lose them."""
    resource_claim_statuses: Annotated[tuple[ResourceClaimStatus, ...], by_key("name", maxItems=4)] = ()
    """The ResourceClaims that were made for the group."""


_CLAIMS_EXIST = rule(
    "!has(self.status) || !has(self.status.resourceClaimStatuses) || self.status.resourceClaimStatuses.all(made, "
    "has(self.spec.resourceClaims) && self.spec.resourceClaims.exists(claim, claim.name == made.name))",
    "each name must match the name of an entry in spec.resourceClaims",
    ".status.resourceClaimStatuses",
)


PROTECTION = "scheduling.k8s.io/podgroup-protection"
"""The finalizer that keeps a PodGroup while pods that have not ended belong to it."""
SCHEDULED = "PodGroupScheduled"


class GangState(StrEnum):
    """What has become of a group of pods so far."""

    WAITING = "waiting"
    """It has not got its nodes yet."""
    SCHEDULED = "scheduled"
    ENDING = "ending"
    """It is being deleted."""


class PodGroup(Wire):
    """One running group of pods, with its scheduling policy and the scheduler's verdict on it."""

    model_config = ConfigDict(json_schema_extra={RULES: [_CLAIMS_EXIST]})

    metadata: ObjectMeta
    spec: PodGroupSpec
    """What the scheduler knows about the group. Immutable."""
    status: PodGroupStatus | None = None
    """What was observed about the group."""

    @property
    def workload_name(self) -> str:
        """Name of the Workload that it was made from; empty for a free-standing group."""
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
