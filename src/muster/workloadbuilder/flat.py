"""v1alpha2: a list of at most 8 templates, no groups of groups.

A composite without requirements (Basic, no constraints, disrupted one by one) is dropped, and its children are listed
directly. A composite with requirements is not supported and is refused.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from muster.api.v1alpha2.podgroup import PodGroup, PodGroupSpec, PodGroupTemplateRef, WorkloadTemplateRef
from muster.api.v1alpha2.scheduling import DisruptionMode as Spelled
from muster.api.v1alpha2.scheduling import SchedulingSpec
from muster.api.v1alpha2.workload import ControllerRef, PodGroupTemplate, Workload, WorkloadSpec
from muster.workloadbuilder.config import DisruptionMode, PolicyKind
from muster.workloadbuilder.errors import ErrorKind, FieldError, UnknownTemplate
from muster.workloadbuilder.leaves import leaf_fields
from muster.workloadbuilder.merge import ResolvedItem
from muster.workloadbuilder.targets import Head, Target, Template, copied

MAX_TEMPLATES = 8
_SPELLED = {DisruptionMode.SINGLE: Spelled.POD, DisruptionMode.ALL: Spelled.POD_GROUP}
_LEVELS = "v1alpha2 has no groups of groups"


@dataclass(frozen=True)
class FlatTarget(Target[Workload, PodGroup]):
    """v1alpha2: a Workload is a list of PodGroup templates."""

    def limits(self, root: ResolvedItem) -> Iterator[FieldError]:
        for resolved in root.walk():
            if resolved.item.composite:
                yield from _lost(resolved)
        count = len(_leaves(root))
        if count > MAX_TEMPLATES:
            allowed = f"groups: v1alpha2 has room for {MAX_TEMPLATES}"
            yield FieldError(ErrorKind.TOO_MANY, root.item.path, count, allowed)

    def workload(self, head: Head, controller: ControllerRef, root: ResolvedItem) -> Workload:
        templates = tuple(map(_template, _leaves(root)))
        spec = WorkloadSpec(controller_ref=controller, pod_group_templates=templates)
        return Workload(metadata=head.metadata(), spec=spec)

    def templates(self, workload: Workload) -> Iterator[Template]:
        for template in workload.spec.pod_group_templates:
            yield Template(template.name, composite=False, parent="")

    def pod_group(self, head: Head, workload: Workload, template: str, parent: str) -> PodGroup:
        if parent:
            raise UnknownTemplate(f"{_LEVELS}: a PodGroup has no parent")
        found = next(t for t in workload.spec.pod_group_templates if t.name == template)
        ref = WorkloadTemplateRef(workload_name=workload.metadata.name, pod_group_template_name=template)
        spec = PodGroupSpec(pod_group_template_ref=PodGroupTemplateRef(workload=ref), **copied(found, SchedulingSpec))
        return PodGroup(metadata=head.metadata(), spec=spec)

    def composite_pod_group(self, head: Head, workload: Workload, template: str, parent: str) -> NoReturn:  # noqa: ARG002
        raise UnknownTemplate(f"{_LEVELS}: {template!r} has no CompositePodGroup for {head.name!r}")


def _leaves(root: ResolvedItem) -> list[ResolvedItem]:
    return [resolved for resolved in root.walk() if not resolved.item.composite]


def _template(resolved: ResolvedItem) -> PodGroupTemplate:
    given: dict[str, Any] = leaf_fields(resolved)
    if resolved.config.disruption_mode is not None:
        given["disruption_mode"] = _SPELLED[resolved.config.disruption_mode]
    return PodGroupTemplate(**given)


def _lost(composite: ResolvedItem) -> Iterator[FieldError]:
    config, places = composite.config, composite.item.places
    if composite.policy.kind is not PolicyKind.BASIC:
        allowed = f"over groups is not supported: {_LEVELS}, so the policy here must be basic"
        yield FieldError(ErrorKind.FORBIDDEN, places.policy, composite.policy.kind.value, allowed)
    if config.constraints is not None:
        allowed = f"over groups is not supported: {_LEVELS}, so constraints are those of each group"
        yield FieldError(ErrorKind.FORBIDDEN, places.constraints, config.constraints.topology, allowed)
    if config.disruption_mode is DisruptionMode.ALL:
        allowed = f"over groups is not supported: {_LEVELS}, so the mode here must be single, or left out"
        yield FieldError(ErrorKind.FORBIDDEN, places.disruption_mode, "all", allowed)
    said = _priority(composite)
    if said != (None, None) and any(said != _priority(leaf) for leaf in _leaves(composite)):
        allowed = f"is the priority of the whole, and {_LEVELS}: each group below must have the same"
        yield FieldError(ErrorKind.FORBIDDEN, composite.item.path, said, allowed)


def _priority(resolved: ResolvedItem) -> tuple[str | None, int | None]:
    return resolved.config.priority_class_name or None, resolved.config.priority
