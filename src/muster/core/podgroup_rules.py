"""The admission rules of the built-in API, for PodGroups of Muster's CRDs.

The messages are those of the built-in API server, so that users find them.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from muster.api.pod import PodView
from muster.api.v1alpha2.podgroup import PROTECTION, PodGroup
from muster.api.v1alpha2.workload import Workload


@dataclass(frozen=True, slots=True)
class PriorityClass:
    name: str
    value: int
    is_default: bool = False


@dataclass(frozen=True, slots=True)
class Completed:
    """The PodGroup is valid. The fields are the defaults that the server would set."""

    priority_class_name: str
    priority: int | None


@dataclass(frozen=True, slots=True)
class Refused:
    message: str


def check_template(group: PodGroup, workload: Workload | None) -> Refused | None:
    """The Workload must exist, must not be being deleted, and must have the template (PodGroupWorkloadExists)."""
    ref = group.spec.pod_group_template_ref
    if ref is None or ref.workload is None:
        return None
    name, template = ref.workload.workload_name, ref.workload.pod_group_template_name
    if workload is None:
        return Refused(f'PodGroup rejected: Workload "{name}" not found')
    if workload.metadata.deletion_timestamp is not None:
        return Refused(f'PodGroup rejected: Workload "{name}" is being deleted')
    if all(each.name != template for each in workload.spec.pod_group_templates):
        return Refused(f'PodGroup rejected: PodGroupTemplate "{template}" not found in Workload "{name}"')
    return None


def resolve_priority(group: PodGroup, classes: Iterable[PriorityClass]) -> Completed | Refused:
    """The value of the PriorityClass; without a name, of the default class, or 0 (Priority)."""
    name, preset = group.spec.priority_class_name or "", group.spec.priority
    known = {each.name: each for each in classes}
    if name and name not in known:
        return Refused(f"no PriorityClass with name {name} was found")
    chosen = known[name] if name else _default(known.values())
    value = chosen.value if chosen else 0
    if preset is not None and preset != value:
        return Refused(
            f"priority set in the pod group ({preset}) must match the priority computed ({value}) "
            "based on the priority class set in the spec"
        )
    return Completed(chosen.name if chosen else "", value)


def _default(classes: Iterable[PriorityClass]) -> PriorityClass | None:
    """Of several default classes, the one with the lowest value counts, as in the API server."""
    return min((each for each in classes if each.is_default), key=lambda each: each.value, default=None)


@dataclass(frozen=True, slots=True)
class RemoveFinalizer:
    """Remove the protection finalizer."""


@dataclass(frozen=True, slots=True)
class MarkScheduled:
    """Set the condition PodGroupScheduled to True. It is never set back."""


def protection_step(group: PodGroup, members: Iterable[PodView]) -> RemoveFinalizer | MarkScheduled | None:
    """What to do with a PodGroup, given its members."""
    active = [pod for pod in members if pod.live]
    if group.metadata.deletion_timestamp is not None:
        return RemoveFinalizer() if PROTECTION in group.metadata.finalizers and not active else None
    condition = group.scheduled
    if condition is not None and condition.status == "True":
        return None
    needed = group.gang.min_count if group.gang else 1
    return MarkScheduled() if sum(pod.bound for pod in active) >= needed else None
