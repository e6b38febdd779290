"""What one group is to be, whatever its level: the one representation that defaults, users and callbacks meet in."""

from dataclasses import dataclass
from enum import StrEnum


class PolicyKind(StrEnum):
    """What a controller can allow."""

    BASIC = "basic"
    GANG = "gang"


class DisruptionMode(StrEnum):
    """What a controller can allow, and a group can have."""

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
    """Pods of a leaf, groups of a composite. A callback may fill it in; after that it has to be there."""

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
    """Unset fields leave the decision to whoever comes next: the default, a callback, at last the API server."""

    policy: SchedulingPolicy | None = None
    """Unset to the end means Basic."""
    constraints: SchedulingConstraints | None = None
    disruption_mode: DisruptionMode | None = None
    resource_claims: tuple[ResourceClaim, ...] = ()
    """Of leaves only."""
    priority_class_name: str | None = None
    """Not the user's to set here: it comes from the controller's default or a callback, as does the priority."""
    priority: int | None = None
