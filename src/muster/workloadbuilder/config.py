"""The configuration of one group, at any level: the common representation for defaults, users and callbacks."""

from dataclasses import dataclass
from enum import StrEnum


class PolicyKind(StrEnum):
    """The policies that a controller can allow."""

    BASIC = "basic"
    GANG = "gang"


class DisruptionMode(StrEnum):
    """The disruption modes that a controller can allow and a group can have."""

    SINGLE = "single"
    """The members can be disrupted one by one."""
    ALL = "all"
    """The members are disrupted together."""


@dataclass(frozen=True, slots=True)
class BasicPolicy:
    """The members are scheduled one by one."""

    @property
    def kind(self) -> PolicyKind:
        return PolicyKind.BASIC


@dataclass(frozen=True, slots=True)
class GangPolicy:
    """The members are scheduled all or none."""

    min_count: int | None = None
    """Pods of a leaf, or groups of a composite. A callback may set it; after the callbacks it is required."""

    @property
    def kind(self) -> PolicyKind:
        return PolicyKind.GANG


SchedulingPolicy = BasicPolicy | GangPolicy


@dataclass(frozen=True, slots=True)
class SchedulingConstraints:
    topology: tuple[str, ...] = ()
    """Keys of the node labels whose values are the domains."""


@dataclass(frozen=True, slots=True)
class ResourceClaim:
    """Exactly one of the two references is set."""

    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


@dataclass(frozen=True, slots=True)
class SchedulingConfig:
    """The next step decides about unset fields: the default, a callback, and finally the API server."""

    policy: SchedulingPolicy | None = None
    """Basic, if it is unset in the end."""
    constraints: SchedulingConstraints | None = None
    disruption_mode: DisruptionMode | None = None
    resource_claims: tuple[ResourceClaim, ...] = ()
    """Only for leaves."""
    priority_class_name: str | None = None
    """Users cannot set it here: it comes from the controller's default or a callback, as does the priority."""
    priority: int | None = None
