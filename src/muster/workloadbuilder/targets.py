"""What each version of the scheduling API supports, and how to write it. One subclass per structure of the API."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, Self, TypeVar

from muster.api import v1beta1
from muster.api.meta import ObjectMeta, OwnerReference, Wire
from muster.api.profile import KUBERNETES_GROUP
from muster.api.v1alpha2 import podgroup, workload
from muster.api.v1alpha2.workload import ControllerRef
from muster.api.v1beta1 import CompositePodGroup
from muster.workloadbuilder.errors import FieldError
from muster.workloadbuilder.merge import ResolvedItem

W = TypeVar("W", bound=workload.Workload | v1beta1.Workload)
P = TypeVar("P", bound=podgroup.PodGroup | v1beta1.PodGroup)


class Head(NamedTuple):
    """The name and the owner of a new object."""

    name: str
    namespace: str
    owners: tuple[OwnerReference, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()

    def metadata(self) -> ObjectMeta:
        """Only the fields that are set: an empty list would be written."""
        given: dict[str, Any] = {"name": self.name, "namespace": self.namespace}
        if self.labels:
            given["labels"] = dict(self.labels)
        if self.owners:
            given["owner_references"] = self.owners
        return ObjectMeta(**given)


class Template(NamedTuple):
    """One template of a Workload, at any level."""

    name: str
    composite: bool
    parent: str
    """Name of the parent composite template; empty at the top level."""


@dataclass(frozen=True)
class Target(ABC, Generic[W, P]):
    """A version of the API. Controllers use `manifest`, `api_version` and `in_group`; the rest is for the builder."""

    version: str
    group: str = KUBERNETES_GROUP

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"

    def in_group(self, group: str) -> Self:
        """The same API, as CRDs in another API group."""
        return replace(self, group=group)

    @abstractmethod
    def limits(self, root: ResolvedItem) -> Iterator[FieldError]:
        """Errors for everything that this version does not support."""

    @abstractmethod
    def workload(self, head: Head, controller: ControllerRef, root: ResolvedItem) -> W: ...

    @abstractmethod
    def templates(self, workload: W) -> Iterator[Template]:
        """All templates, parents first."""

    @abstractmethod
    def pod_group(self, head: Head, workload: W, template: str, parent: str) -> P:
        """A PodGroup with a copy of all fields of the template."""

    @abstractmethod
    def composite_pod_group(self, head: Head, workload: W, template: str, parent: str) -> CompositePodGroup: ...

    def manifest(self, thing: W | P | CompositePodGroup) -> dict[str, Any]:
        """The object as JSON, with only the fields that are set."""
        body = thing.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)
        return {"apiVersion": self._version_of(thing), "kind": type(thing).__name__, **body}

    def _version_of(self, _thing: W | P | CompositePodGroup) -> str:
        return self.api_version


def copied(template: Wire, spec: type[Wire]) -> dict[str, Any]:
    """The fields of a template that are set and that its groups have too."""
    return {name: getattr(template, name) for name in spec.model_fields if name in template.model_fields_set}
