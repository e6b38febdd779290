"""The builder: turns a controller's tree into a Workload and its groups."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Generic

from muster.api.meta import OwnerReference
from muster.api.v1alpha2.workload import ControllerRef
from muster.api.v1beta1 import CompositePodGroup
from muster.workloadbuilder.errors import (
    ErrorKind,
    FieldError,
    FieldPath,
    InvalidConfiguration,
    NotBuilt,
    UnknownTemplate,
)
from muster.workloadbuilder.merge import ResolvedItem, resolve
from muster.workloadbuilder.targets import Head, P, Target, W
from muster.workloadbuilder.tree import WorkloadItem, tree_errors
from muster.workloadbuilder.validation import (
    BuildOptions,
    asked_errors,
    option_errors,
    resolved_errors,
    value_errors,
)

MAX_NAME = 253
_FROM_EXISTING = "this builder was made from an existing Workload: it has no tree"


@dataclass(frozen=True)
class Groups(Generic[P]):
    """One group per template, each linked to its parent. Create the composites first, in this order."""

    composite_pod_groups: tuple[CompositePodGroup, ...]
    pod_groups: tuple[P, ...]


class WorkloadBuilder(Generic[W, P]):
    """Builds one Workload, and from its templates as many groups as the controller needs.

    Owns the Workload that it has built. It reads the tree of items and the options, changes neither, and sends no
    request: the controller creates the objects.
    """

    def __init__(self, root: WorkloadItem | None, options: BuildOptions, target: Target[W, P]) -> None:
        self.root = root
        self.options = options
        self.target = target
        self._workload: W | None = None

    @classmethod
    def from_existing(
        cls, workload: W, target: Target[W, P], owner: OwnerReference | None = None
    ) -> "WorkloadBuilder[W, P]":
        """A builder for groups of an existing Workload; `owner` is the owner of the groups."""
        builder = cls(None, BuildOptions(allowed_policies=(), allowed_disruption_modes=(), owner=owner), target)
        builder._workload = workload
        return builder

    def validate(self, old_root: WorkloadItem | None = None) -> tuple[FieldError, ...]:
        """All errors of the tree. On an update, fields that are unchanged from `old_root` are not checked."""
        if self._existing:
            return (FieldError(ErrorKind.INTERNAL, FieldPath(), None, _FROM_EXISTING),)
        errors, _ = self._examined(old_root)
        return tuple(errors)

    def build_workload(self) -> W:
        """The Workload; the same object on each call. Raises `InvalidConfiguration` with all errors."""
        if self._existing:
            raise NotBuilt(_FROM_EXISTING)
        if self._workload is None:
            self._workload = self._built()
        return self._workload

    def new_pod_group(self, name: str, template: str, *, parent: str = "") -> P:
        """A PodGroup of the template, at any level of the tree; `parent` is the name of a CompositePodGroup."""
        workload = self._made_from(template, composite=False)
        return self.target.pod_group(self._head(name, workload.metadata.namespace), workload, template, parent)

    def new_composite_pod_group(self, name: str, template: str, *, parent: str = "") -> CompositePodGroup:
        workload = self._made_from(template, composite=True)
        return self.target.composite_pod_group(
            self._head(name, workload.metadata.namespace), workload, template, parent
        )

    def new_groups(self, name_of: Callable[[str], str] | None = None) -> Groups[P]:
        """One group per template. `name_of` maps the name of a template to the name of its group."""
        workload = self._ready()
        named = name_of or (lambda template: group_name(workload.metadata.name, template))
        composites, pod_groups = [], []
        for template in self.target.templates(workload):
            name, parent = named(template.name), named(template.parent) if template.parent else ""
            if template.composite:
                composites.append(self.new_composite_pod_group(name, template.name, parent=parent))
            else:
                pod_groups.append(self.new_pod_group(name, template.name, parent=parent))
        return Groups(tuple(composites), tuple(pod_groups))

    @property
    def _existing(self) -> bool:
        return self.root is None and self._workload is not None

    def _examined(self, old_root: WorkloadItem | None) -> tuple[list[FieldError], ResolvedItem | None]:
        errors = tree_errors(self.root)
        if errors or self.root is None:
            return errors, None
        if old_root is not None and old_root.name != self.root.name:
            allowed = f"must be the same item as before: {old_root.name!r}"
            return [FieldError(ErrorKind.INTERNAL, self.root.path, self.root.name, allowed)], None
        resolved = resolve(self.root)
        if not self.options.blocks_validated:
            errors += asked_errors(self.root, old_root)
        errors += resolved_errors(resolved, self.options)
        errors += self.target.limits(resolved)
        return errors, resolved

    def _built(self) -> W:
        errors, resolved = self._examined(None)
        errors = [*option_errors(self.options), *errors]
        if resolved is not None:
            errors += [error for error in value_errors(resolved) if error not in errors]
        if errors or resolved is None or self.options.owner is None:
            raise InvalidConfiguration(errors)
        owner = self.options.owner
        controller = ControllerRef(api_group=owner.group, kind=owner.kind, name=owner.name)
        return self.target.workload(self._head(self.options.name, self.options.namespace), controller, resolved)

    def _ready(self) -> W:
        if self._workload is None:
            raise NotBuilt("there is no Workload yet: call build_workload, or use WorkloadBuilder.from_existing")
        return self._workload

    def _made_from(self, template: str, composite: bool) -> W:
        workload = self._ready()
        fitting = [found.name for found in self.target.templates(workload) if found.composite is composite]
        if template not in fitting:
            kind = "compositePodGroupTemplate" if composite else "podGroupTemplate"
            raise UnknownTemplate(
                f"{kind} {template!r} not found in Workload {workload.metadata.name!r}: it has {fitting}"
            )
        return workload

    def _head(self, name: str, namespace: str) -> Head:
        owners = (self.options.owner,) if self.options.owner else ()
        return Head(name, namespace, owners, tuple(sorted(self.options.labels.items())))


def group_name(workload: str, template: str) -> str:
    """The default name of a template's group: both names, shortened with a hash if needed."""
    name = f"{workload}-{template}"
    if len(name) <= MAX_NAME:
        return name
    digest = sha256(name.encode()).hexdigest()[:10]
    return f"{workload[: MAX_NAME - len(template) - len(digest) - 2]}-{digest}-{template}"
