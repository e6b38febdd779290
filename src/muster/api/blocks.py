"""The reusable building blocks of KEP-6089, for controllers to embed in their own API.

Leaf blocks (`WorkloadPodGroup…`) describe the pods of one group, composite ones (`WorkloadCompositePodGroup…`) the
groups of one composite; both use the same topology constraint. The blocks check types only. `muster.workloadbuilder`
checks the rules, so that it can report all errors at once. The parser accepts the field names of the KEP (`policy`,
`constraints`, `level`, `disruption`) and of Kubernetes 1.37; the output has the names of Kubernetes 1.37.
"""

from typing import Annotated

from pydantic import AliasChoices, ConfigDict, Field, Strict

from muster.api.meta import Wire
from muster.api.schema import COUNT, DNS_LABEL, DNS_SUBDOMAIN, LABEL_KEY, Schema, atomic, by_key, exactly_one

Count = Annotated[int, Strict(), COUNT, Schema(minimum=1)]
Text = Annotated[str, Strict()]
MAX_TOPOLOGY = 1
MAX_CLAIMS = 4


class Block(Wire):
    """An unknown field is an error: an option must not be dropped silently."""

    model_config = ConfigDict(extra="forbid")


class TopologyConstraint(Block):
    """The whole group runs in one domain: on nodes that share one value of a label."""

    key: Annotated[Text, LABEL_KEY, Field(validation_alias=AliasChoices("key", "level"))]
    """Key of the node label whose values are the domains, such as topology.kubernetes.io/zone."""


class WorkloadPodGroupBasicSchedulingPolicy(Block):
    """Each pod is scheduled on its own."""


class WorkloadPodGroupGangSchedulingPolicy(Block):
    """All or nothing."""

    min_count: Count | None = None
    """How many pods must be schedulable at the same time. If unset, the controller sets the default."""


class WorkloadPodGroupSchedulingPolicy(Block):
    """How the pods of a group are scheduled. Exactly one is set."""

    model_config = ConfigDict(json_schema_extra=exactly_one("basic", "gang"))

    basic: WorkloadPodGroupBasicSchedulingPolicy | None = None
    """Pod by pod."""
    gang: WorkloadPodGroupGangSchedulingPolicy | None = None
    """All of them together, or none."""


class WorkloadPodGroupSchedulingConstraints(Block):
    """Where the pods of a group may run, as a whole."""

    topology: Annotated[tuple[TopologyConstraint, ...], atomic(maxItems=MAX_TOPOLOGY)] = ()
    """The topology domain that all pods of the group share. One constraint at most."""


class WorkloadPodGroupSingleDisruptionMode(Block):
    """Pods can be disrupted one by one."""


class WorkloadPodGroupAllDisruptionMode(Block):
    """All pods of the group are disrupted together."""


class WorkloadPodGroupDisruptionMode(Block):
    """How the pods of a group are disrupted. Exactly one is set."""

    model_config = ConfigDict(json_schema_extra=exactly_one("single", "all"))

    single: WorkloadPodGroupSingleDisruptionMode | None = None
    """Independently of each other."""
    all: WorkloadPodGroupAllDisruptionMode | None = None
    """Only together."""


class WorkloadPodGroupResourceClaim(Block):
    """One ResourceClaim that the pods of the group share: an existing one, or one created for the group."""

    model_config = ConfigDict(json_schema_extra=exactly_one("resourceClaimName", "resourceClaimTemplateName"))

    name: Annotated[Text, DNS_LABEL]
    """Identifies the claim inside the group. A DNS label."""
    resource_claim_name: Annotated[Text | None, DNS_SUBDOMAIN] = None
    """Name of a ResourceClaim in the same namespace."""
    resource_claim_template_name: Annotated[Text | None, DNS_SUBDOMAIN] = None
    """Name of a ResourceClaimTemplate in the same namespace. The claim is created for the group and deleted with it."""


class WorkloadCompositePodGroupBasicSchedulingPolicy(Block):
    """Each group is scheduled on its own."""


class WorkloadCompositePodGroupGangSchedulingPolicy(Block):
    """All or nothing, for groups."""

    min_group_count: Count | None = None
    """How many groups must be schedulable at the same time. If unset, the controller sets the default."""


class WorkloadCompositePodGroupSchedulingPolicy(Block):
    """How the groups of a composite are scheduled. Exactly one is set."""

    model_config = ConfigDict(json_schema_extra=exactly_one("basic", "gang"))

    basic: WorkloadCompositePodGroupBasicSchedulingPolicy | None = None
    """Group by group."""
    gang: WorkloadCompositePodGroupGangSchedulingPolicy | None = None
    """All of them together, or none."""


class WorkloadCompositePodGroupSchedulingConstraints(Block):
    """Where the groups of a composite may run, as a whole."""

    topology: Annotated[tuple[TopologyConstraint, ...], atomic(maxItems=MAX_TOPOLOGY)] = ()
    """The topology domain that all groups of the composite share. One constraint at most."""


class WorkloadCompositePodGroupSingleDisruptionMode(Block):
    """Groups can be disrupted one by one."""


class WorkloadCompositePodGroupAllDisruptionMode(Block):
    """All groups of the composite are disrupted together."""


class WorkloadCompositePodGroupDisruptionMode(Block):
    """How the groups of a composite are disrupted. Exactly one is set."""

    model_config = ConfigDict(json_schema_extra=exactly_one("single", "all"))

    single: WorkloadCompositePodGroupSingleDisruptionMode | None = None
    """Independently of each other."""
    all: WorkloadCompositePodGroupAllDisruptionMode | None = None
    """Only together."""


_POLICY = Field(validation_alias=AliasChoices("schedulingPolicy", "policy"), serialization_alias="schedulingPolicy")
_CONSTRAINTS = Field(
    validation_alias=AliasChoices("schedulingConstraints", "constraints"), serialization_alias="schedulingConstraints"
)
_DISRUPTION = Field(validation_alias=AliasChoices("disruptionMode", "disruption"), serialization_alias="disruptionMode")


class PodGroupScheduling(Block):
    """What a user asks for one group of pods: the `scheduling` block of a Job. Every part is optional."""

    policy: Annotated[WorkloadPodGroupSchedulingPolicy | None, _POLICY] = None
    constraints: Annotated[WorkloadPodGroupSchedulingConstraints | None, _CONSTRAINTS] = None
    disruption_mode: Annotated[WorkloadPodGroupDisruptionMode | None, _DISRUPTION] = None
    resource_claims: Annotated[
        tuple[WorkloadPodGroupResourceClaim, ...] | None, by_key("name", maxItems=MAX_CLAIMS)
    ] = None


class CompositePodGroupScheduling(Block):
    """What a user asks for a group of groups. Every part is optional."""

    policy: Annotated[WorkloadCompositePodGroupSchedulingPolicy | None, _POLICY] = None
    constraints: Annotated[WorkloadCompositePodGroupSchedulingConstraints | None, _CONSTRAINTS] = None
    disruption_mode: Annotated[WorkloadCompositePodGroupDisruptionMode | None, _DISRUPTION] = None
