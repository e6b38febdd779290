"""What a decision may ask for: one write, or one read that Muster needs first. Each is data; the shell performs it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muster.api.v1alpha2.podgroup import PodGroup
from muster.api.v1alpha2.workload import Workload
from muster.core.observed import Replaced, ResizeNeeded


@dataclass(frozen=True, slots=True)
class CreateWorkload:
    workload: Workload

    @property
    def name(self) -> str:
        return self.workload.metadata.name


@dataclass(frozen=True, slots=True)
class CreatePodGroup:
    pod_group: PodGroup

    @property
    def name(self) -> str:
        return self.pod_group.metadata.name


@dataclass(frozen=True, slots=True)
class DeleteObject:
    """Deletes the object with this UID: its Job is suspended."""

    thing: Workload | PodGroup

    @property
    def name(self) -> str:
        return self.thing.metadata.name


@dataclass(frozen=True, slots=True)
class DeletePodGroup:
    """First step of a resize: deletes the PodGroup with this UID and resourceVersion."""

    pod_group: PodGroup
    replaced: Replaced


@dataclass(frozen=True, slots=True)
class RemoveProtection:
    """Second step of a resize: removes the finalizer that keeps the PodGroup until its pods have ended."""

    pod_group: PodGroup
    replaced: Replaced


@dataclass(frozen=True, slots=True)
class RecreatePodGroup:
    """Last step of a resize: creates the PodGroup again, with all that was stored of it and the new size."""

    name: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ReadEverything:
    """The Job, its pods, and each Workload and PodGroup that can be its own, from the API server."""

    by_name: bool = False
    """Also read Muster's own objects by name, although the cache has them."""
    preset: str = ""
    """Also read this PodGroup, which the Job's pod template names."""


@dataclass(frozen=True, slots=True)
class ConfirmPodGroup:
    """List the Job's pods now that Muster has seen the PodGroup, so that the list begins after the PodGroup existed."""

    name: str
    own: bool
    """Muster created the PodGroup for this Job and can replace or delete it: read it again, then the Job."""


@dataclass(frozen=True, slots=True)
class ReadOwnPair:
    """Read the Workload and the PodGroup of the Job by the names that Muster gives them."""


@dataclass(frozen=True, slots=True)
class ConfirmSuspended:
    """List the Job's pods, then read the Job: it was suspended during the list."""


@dataclass(frozen=True, slots=True)
class ReadStoredPodGroup:
    """Read the PodGroup with everything that is stored of it, before a resize replaces it."""

    resize: ResizeNeeded

    @property
    def name(self) -> str:
        return self.resize.group.metadata.name


@dataclass(frozen=True, slots=True)
class ReadWaitingPods:
    """Find out whether a pod of the PodGroup waits for a node."""

    name: str


Write = CreateWorkload | CreatePodGroup | DeleteObject | DeletePodGroup | RemoveProtection | RecreatePodGroup
Read = ReadEverything | ConfirmPodGroup | ReadOwnPair | ConfirmSuspended | ReadStoredPodGroup | ReadWaitingPods
Action = Write | Read
