"""v1alpha3 and v1beta1: one template, or one composite with templates below it, at most 4 levels deep."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from muster.api.v1alpha2.workload import ControllerRef
from muster.api.v1beta1 import (
    MAX_DEPTH,
    MAX_TEMPLATES,
    AllDisruptionMode,
    CompositeBasicPolicy,
    CompositeGangPolicy,
    CompositePodGroup,
    CompositePodGroupSpec,
    CompositePodGroupTemplate,
    CompositeSchedulingPolicy,
    CompositeSpec,
    DisruptionMode,
    LeafSpec,
    PodGroup,
    PodGroupSpec,
    PodGroupTemplate,
    SingleDisruptionMode,
    Workload,
    WorkloadReference,
    WorkloadSpec,
)
from muster.workloadbuilder import config
from muster.workloadbuilder.errors import ErrorKind, FieldError
from muster.workloadbuilder.leaves import group_fields, leaf_fields
from muster.workloadbuilder.merge import ResolvedItem
from muster.workloadbuilder.targets import Head, Target, Template, copied

COMPOSITE_VERSION = "v1alpha3"
"""The only version with CompositePodGroups, also for Workloads of v1beta1."""
_MODES = {
    config.DisruptionMode.SINGLE: DisruptionMode(single=SingleDisruptionMode()),
    config.DisruptionMode.ALL: DisruptionMode(all=AllDisruptionMode()),
}


@dataclass(frozen=True)
class NestedTarget(Target[Workload, PodGroup]):
    """Later versions: a Workload is a tree of templates."""

    def limits(self, root: ResolvedItem) -> Iterator[FieldError]:
        yield from _too_deep(root, 1)
        for resolved in root.walk():
            for children, kind in ((resolved.leaves, "groups of pods"), (resolved.composites, "groups of groups")):
                if len(children) > MAX_TEMPLATES:
                    allowed = f"{kind} in {resolved.item.name!r}: there is room for {MAX_TEMPLATES}"
                    yield FieldError(ErrorKind.TOO_MANY, resolved.item.path, len(children), allowed)
            if _priority(resolved) != _priority(root):
                allowed = f"priorityClassName and priority must be those of {root.item.name!r}: {_priority(root)}"
                yield FieldError(ErrorKind.INVALID, resolved.item.path, _priority(resolved), allowed)

    def workload(self, head: Head, controller: ControllerRef, root: ResolvedItem) -> Workload:
        top: dict[str, Any] = {"controller_ref": controller}
        if root.item.composite:
            top["composite_pod_group_templates"] = (_composite(root),)
        else:
            top["pod_group_templates"] = (_leaf(root),)
        return Workload(metadata=head.metadata(), spec=WorkloadSpec(**top))

    def templates(self, workload: Workload) -> Iterator[Template]:
        for template, parent in _all(workload):
            yield Template(template.name, isinstance(template, CompositePodGroupTemplate), parent)

    def pod_group(self, head: Head, workload: Workload, template: str, parent: str) -> PodGroup:
        given = copied(_find(workload, template), LeafSpec) | _links(workload, template, parent)
        return PodGroup(metadata=head.metadata(), spec=PodGroupSpec(**given))

    def composite_pod_group(self, head: Head, workload: Workload, template: str, parent: str) -> CompositePodGroup:
        given = copied(_find(workload, template), CompositeSpec) | _links(workload, template, parent)
        return CompositePodGroup(metadata=head.metadata(), spec=CompositePodGroupSpec(**given))

    def _version_of(self, thing: Workload | PodGroup | CompositePodGroup) -> str:
        return f"{self.group}/{COMPOSITE_VERSION}" if isinstance(thing, CompositePodGroup) else self.api_version


AnyTemplate = PodGroupTemplate | CompositePodGroupTemplate


def _too_deep(resolved: ResolvedItem, depth: int) -> Iterator[FieldError]:
    if depth > MAX_DEPTH:
        allowed = f"is on level {depth}: at most {MAX_DEPTH} levels are allowed, including the level of the pods"
        yield FieldError(ErrorKind.INVALID, resolved.item.path, resolved.item.name, allowed)
        return
    for child in resolved.children:
        yield from _too_deep(child, depth + 1)


def _priority(resolved: ResolvedItem) -> tuple[str | None, int | None]:
    return resolved.config.priority_class_name or None, resolved.config.priority


def _leaf(resolved: ResolvedItem) -> PodGroupTemplate:
    return PodGroupTemplate(**leaf_fields(resolved), **_mode(resolved))


def _composite(resolved: ResolvedItem) -> CompositePodGroupTemplate:
    given: dict[str, Any] = group_fields(resolved) | _mode(resolved)
    if resolved.leaves:
        given["pod_group_templates"] = tuple(map(_leaf, resolved.leaves))
    if resolved.composites:
        given["composite_pod_group_templates"] = tuple(map(_composite, resolved.composites))
    return CompositePodGroupTemplate(scheduling_policy=_composite_policy(resolved.policy), **given)


def _composite_policy(policy: config.SchedulingPolicy) -> CompositeSchedulingPolicy:
    match policy:
        case config.GangPolicy(min_count=int() as count):
            return CompositeSchedulingPolicy(gang=CompositeGangPolicy(min_group_count=count))
    return CompositeSchedulingPolicy(basic=CompositeBasicPolicy())


def _mode(resolved: ResolvedItem) -> dict[str, Any]:
    mode = resolved.config.disruption_mode
    return {} if mode is None else {"disruption_mode": _MODES[mode]}


def _all(workload: Workload) -> Iterator[tuple[AnyTemplate, str]]:
    spec = workload.spec
    yield from ((template, "") for template in spec.pod_group_templates or ())
    for composite in spec.composite_pod_group_templates or ():
        yield from _below(composite, "")


def _below(composite: CompositePodGroupTemplate, parent: str) -> Iterator[tuple[AnyTemplate, str]]:
    yield composite, parent
    yield from ((template, composite.name) for template in composite.pod_group_templates or ())
    for child in composite.composite_pod_group_templates or ():
        yield from _below(child, composite.name)


def _find(workload: Workload, name: str) -> AnyTemplate:
    return next(template for template, _ in _all(workload) if template.name == name)


def _links(workload: Workload, template: str, parent: str) -> dict[str, Any]:
    links: dict[str, Any] = {
        "workload_ref": WorkloadReference(workload_name=workload.metadata.name, template_name=template)
    }
    return links | ({"parent_composite_pod_group_name": parent} if parent else {})
