"""Validates the requests of the user and the controller together. It reports all errors at once."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from muster.api.blocks import CompositePodGroupScheduling, PodGroupScheduling
from muster.api.meta import OwnerReference
from muster.api.schema import DNS_LABEL, DNS_SUBDOMAIN
from muster.workloadbuilder.config import DisruptionMode, GangPolicy, PolicyKind
from muster.workloadbuilder.errors import ErrorKind, FieldError, FieldPath
from muster.workloadbuilder.mapping import AnyDisruptionMode, AnyPolicy, map_disruption_mode, map_policy
from muster.workloadbuilder.merge import ResolvedItem
from muster.workloadbuilder.rules import (
    LABEL_TEXT,
    SUBDOMAIN_TEXT,
    block_errors,
    config_errors,
    count_path,
    disruption_errors,
    fits,
    policy_errors,
)
from muster.workloadbuilder.tree import WorkloadItem


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOptions:
    """The controller's options for the whole Workload, and what it supports."""

    allowed_policies: Collection[PolicyKind]
    """The policies that this controller supports. All others are refused, also those of later versions."""
    allowed_disruption_modes: Collection[DisruptionMode]
    name: str = ""
    namespace: str = ""
    owner: OwnerReference | None = None
    """The object that the Workload describes, as its controlling owner."""
    labels: dict[str, str] = field(default_factory=dict)
    blocks_validated: bool = False
    """The API server has already validated the blocks, so `validate` skips them. `build_workload` does not."""


def validate_scheduling_policy(policy: AnyPolicy | None, path: FieldPath, *allowed: PolicyKind) -> list[FieldError]:
    """For a controller's own validation of one field: the rules of the block, and only the allowed policies."""
    if policy is None:
        return []
    resolved = map_policy(policy)
    unsupported = [] if resolved is None else _unsupported_policy(resolved.kind, path, allowed)
    return [*policy_errors(policy, path), *unsupported]


def validate_disruption_mode(
    mode: AnyDisruptionMode | None, path: FieldPath, *allowed: DisruptionMode
) -> list[FieldError]:
    """For a controller's own validation of one field: the rules of the block, and only the allowed modes."""
    if mode is None:
        return []
    return [*disruption_errors(mode, path), *_unsupported_mode(map_disruption_mode(mode), path, allowed)]


def asked_errors(item: WorkloadItem, old: WorkloadItem | None) -> Iterator[FieldError]:
    """The errors of the blocks of the item and all below it. A moved item counts as new: its name identifies it."""
    if isinstance(item.user_config, PodGroupScheduling | CompositePodGroupScheduling):
        before = old.user_config if old and isinstance(old.user_config, type(item.user_config)) else None
        yield from block_errors(item.user_config, item.places, before)
    was = {child.name: child for child in old.children} if old else {}
    for child in item.children:
        yield from asked_errors(child, was.get(child.name))


def resolved_errors(root: ResolvedItem, options: BuildOptions) -> Iterator[FieldError]:
    """Errors of unsupported values and combinations."""
    for resolved in root.walk():
        item, config, places = resolved.item, resolved.config, resolved.item.places
        if not fits(item.name, DNS_LABEL):
            yield FieldError(ErrorKind.INVALID, item.path, item.name, LABEL_TEXT)
        yield from _unsupported_policy(resolved.policy.kind, places.policy, options.allowed_policies)
        yield from _unsupported_mode(config.disruption_mode, places.disruption_mode, options.allowed_disruption_modes)
        if resolved.policy.kind is PolicyKind.BASIC and config.disruption_mode is DisruptionMode.ALL:
            allowed = "is not supported with the Basic scheduling policy: must be single, or the policy gang"
            yield FieldError(ErrorKind.INVALID, places.disruption_mode, "all", allowed)
        if resolved.policy == GangPolicy(None):
            path = count_path(item)
            allowed = f"gang scheduling requires {path.parts[-1]} to be set after resolution"
            yield FieldError(ErrorKind.REQUIRED, path, None, allowed)
        if item.composite and config.resource_claims:
            names = [claim.name for claim in config.resource_claims]
            yield FieldError(ErrorKind.FORBIDDEN, places.resource_claims, names, "only a group of pods can have claims")
    yield from _disruption_errors_below(root)


def value_errors(root: ResolvedItem) -> Iterator[FieldError]:
    """The rules of the blocks, applied to the resolved configuration."""
    for resolved in root.walk():
        yield from config_errors(resolved.item, resolved.config)


def option_errors(options: BuildOptions) -> Iterator[FieldError]:
    metadata = FieldPath.of("metadata")
    if not fits(options.name, DNS_SUBDOMAIN):
        yield _given(metadata.child("name"), options.name, SUBDOMAIN_TEXT)
    if not fits(options.namespace, DNS_LABEL):
        yield _given(metadata.child("namespace"), options.namespace, LABEL_TEXT)
    path = metadata.child("ownerReferences")
    if options.owner is None:
        allowed = "a Workload must be owned by its controller for garbage collection"
        yield FieldError(ErrorKind.REQUIRED, path, None, allowed)
        return
    owner = options.owner
    if not owner.api_version or owner.api_version.count("/") > 1:
        yield _given(path.child(0, "apiVersion"), owner.api_version, "must be a version, or a group and a version")
    for name, value in (("kind", owner.kind), ("name", owner.name), ("uid", owner.uid)):
        if not value or "/" in value or "%" in value:
            yield _given(path.child(0, name), value, "must not be empty, and have no / and no %")


def _given(path: FieldPath, value: str, allowed: str) -> FieldError:
    return FieldError(ErrorKind.INVALID if value else ErrorKind.REQUIRED, path, value or None, allowed)


def _disruption_errors_below(parent: ResolvedItem) -> Iterator[FieldError]:
    if parent.config.disruption_mode is DisruptionMode.ALL:
        for below in parent.walk():
            if below.config.disruption_mode is DisruptionMode.SINGLE:
                allowed = (
                    f"must be all, or left out: {parent.item.name!r}, which it is part of, is disrupted as a whole"
                )
                yield FieldError(ErrorKind.INVALID, below.item.places.disruption_mode, "single", allowed)
        return
    for child in parent.children:
        yield from _disruption_errors_below(child)


def _unsupported_policy(kind: PolicyKind, path: FieldPath, allowed: Collection[PolicyKind]) -> Iterator[FieldError]:
    if kind not in allowed:
        problem = f"scheduling policy is not supported by this controller, which allows: {_names(allowed)}"
        yield FieldError(ErrorKind.FORBIDDEN, path, kind.value, problem)


def _unsupported_mode(
    mode: DisruptionMode | None, path: FieldPath, allowed: Collection[DisruptionMode]
) -> Iterator[FieldError]:
    if mode is not None and mode not in allowed:
        problem = f"disruption mode is not supported by this controller, which allows: {_names(allowed)}"
        yield FieldError(ErrorKind.FORBIDDEN, path, mode.value, problem)


def _names(allowed: Collection[PolicyKind] | Collection[DisruptionMode]) -> str:
    return ", ".join(sorted(option.value for option in allowed)) or "none"
