"""What the built-in API server does to a PodGroup by code, for the PodGroups of Muster's CRDs.

Its messages are the built-in ones, word for word: people search for them.
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
    """A new PodGroup passes, with what the server would have filled in."""

    priority_class_name: str
    priority: int | None


@dataclass(frozen=True, slots=True)
class Refused:
    message: str


def check_template(group: PodGroup, workload: Workload | None) -> Refused | None:
    """Its Workload must exist, stay, and have the template (PodGroupWorkloadExists)."""
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
    """Class to number; the default class or 0 where none is named (Priority)."""
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
    """Of several defaults the lowest counts, as in the server."""
    return min((each for each in classes if each.is_default), key=lambda each: each.value, default=None)


@dataclass(frozen=True, slots=True)
class RemoveProtection:
    """Take the protection finalizer off."""


@dataclass(frozen=True, slots=True)
class MarkScheduled:
    """Set PodGroupScheduled to True. It never goes back."""


def keep(group: PodGroup, members: Iterable[PodView]) -> RemoveProtection | MarkScheduled | None:
    """What is due for a PodGroup, from the pods that belong to it."""
    living = [pod for pod in members if pod.live]
    if group.metadata.deletion_timestamp is not None:
        return RemoveProtection() if PROTECTION in group.metadata.finalizers and not living else None
    condition = group.scheduled
    if condition is not None and condition.status == "True":
        return None
    needed = group.gang.min_count if group.gang else 1
    return MarkScheduled() if sum(pod.bound for pod in living) >= needed else None
