"""What a version of the scheduling API can say, and how it says it. One subclass for each shape of the API."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, Self, TypeVar

from muster.api import v1beta1
from muster.api.meta import ObjectMeta, OwnerReference, Wire
from muster.api.v1alpha2 import podgroup, workload
from muster.api.v1alpha2.workload import ControllerRef
from muster.api.v1beta1 import CompositePodGroup
from muster.workloadbuilder.errors import FieldError
from muster.workloadbuilder.merge import ResolvedItem

W = TypeVar("W", bound=workload.Workload | v1beta1.Workload)
P = TypeVar("P", bound=podgroup.PodGroup | v1beta1.PodGroup)


class Head(NamedTuple):
    """What a new object is called, and whose it is."""

    name: str
    namespace: str
    owners: tuple[OwnerReference, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()

    def metadata(self) -> ObjectMeta:
        """Only what is set: an empty list would be written as one."""
        given: dict[str, Any] = {"name": self.name, "namespace": self.namespace}
        if self.labels:
            given["labels"] = dict(self.labels)
        if self.owners:
            given["owner_references"] = self.owners
        return ObjectMeta(**given)


class Template(NamedTuple):
    """One template of a Workload, wherever it is in it."""

    name: str
    composite: bool
    parent: str
    """Name of the composite template around it; empty at the top."""


@dataclass(frozen=True)
class Target(ABC, Generic[W, P]):
    """A version of the API. A controller needs `manifest`, `api_version` and `in_group`; the rest is the builder's."""

    version: str
    group: str = "scheduling.k8s.io"

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"

    def in_group(self, group: str) -> Self:
        """The same API, served as CRDs in another group."""
        return replace(self, group=group)

    @abstractmethod
    def limits(self, root: ResolvedItem) -> Iterator[FieldError]:
        """What this version cannot express."""

    @abstractmethod
    def workload(self, head: Head, controller: ControllerRef, root: ResolvedItem) -> W: ...

    @abstractmethod
    def templates(self, workload: W) -> Iterator[Template]:
        """All templates, parents first."""

    @abstractmethod
    def pod_group(self, head: Head, workload: W, template: str, parent: str) -> P:
        """A PodGroup with every field of the template, and none of it shared."""

    @abstractmethod
    def composite_pod_group(self, head: Head, workload: W, template: str, parent: str) -> CompositePodGroup: ...

    def manifest(self, thing: W | P | CompositePodGroup) -> dict[str, Any]:
        """The object as the API server wants it: only what was set."""
        body = thing.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)
        return {"apiVersion": self._version_of(thing), "kind": type(thing).__name__, **body}

    def _version_of(self, _thing: W | P | CompositePodGroup) -> str:
        return self.api_version


def copied(template: Wire, spec: type[Wire]) -> dict[str, Any]:
    """Those fields of a template that its groups have too, as far as they are set."""
    return {name: getattr(template, name) for name in spec.model_fields if name in template.model_fields_set}
