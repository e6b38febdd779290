"""The fields of ObjectMeta and owner references that Muster uses."""

from dataclasses import dataclass
from typing import Any, Self

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from muster.api.keys import Uid
from muster.api.wire import MAX_UID, MAX_WORD, Raw, flag, integer, mapping, mappings, text, texts

MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
MANAGED_BY = "muster"
MAX_FINALIZERS = 64
MAX_FINALIZER = 317
"""Maximum length: a prefix, a slash and a name."""


class Wire(BaseModel):
    """An immutable part of an API object: camelCase in JSON, snake_case in Python, unknown fields ignored."""

    model_config = ConfigDict(
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=True,
        extra="ignore",
        use_attribute_docstrings=True,  # they become the field descriptions in the CRDs
    )


class OwnerReference(Wire):
    """The owner of an object: the garbage collector deletes the object after its owner."""

    api_version: str
    kind: str
    name: str
    uid: Uid
    controller: bool | None = None
    block_owner_deletion: bool | None = None

    @classmethod
    def parse(cls, raw: Raw) -> Self:
        return cls(
            api_version=text(raw, "apiVersion"),
            kind=text(raw, "kind"),
            name=text(raw, "name"),
            uid=Uid(text(raw, "uid", MAX_UID)),
            controller=flag(raw, "controller"),
        )

    @property
    def group(self) -> str:
        return _group(self.api_version)

    @property
    def is_job(self) -> bool:
        return self.kind == "Job" and self.group == "batch"


@dataclass(frozen=True, slots=True)
class Controller:
    """The controller of a Job or a Pod. Muster holds many of them, so it is small."""

    api_version: str
    kind: str
    name: str
    uid: Uid

    @classmethod
    def parse(cls, raw: Raw) -> Self:
        return cls(
            api_version=text(raw, "apiVersion"),
            kind=text(raw, "kind"),
            name=text(raw, "name"),
            uid=Uid(text(raw, "uid", MAX_UID)),
        )

    @property
    def group(self) -> str:
        return _group(self.api_version)

    @property
    def is_job(self) -> bool:
        return self.kind == "Job" and self.group == "batch"


class ObjectMeta(Wire):
    name: str = ""
    namespace: str = ""
    uid: Uid = Uid("")
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()

    @property
    def controller(self) -> OwnerReference | None:
        return next((owner for owner in self.owner_references if owner.controller), None)


def controller_of(metadata: Raw) -> Controller | None:
    """The owner reference with `controller: true`, if any (the API server allows at most one)."""
    owners = mappings(metadata, "ownerReferences")
    return next((Controller.parse(owner) for owner in owners if flag(owner, "controller")), None)


def slim_metadata(metadata: Raw) -> dict[str, Any]:
    """The metadata of a Workload or PodGroup that Muster uses, with bounded length.

    Other clients can add any number of owners and labels of any length to a PodGroup. These must not make it
    unreadable, because then the gang's pods could not join it.
    """
    slim: dict[str, Any] = {
        "name": text(metadata, "name"),
        "namespace": text(metadata, "namespace"),
        "uid": text(metadata, "uid", MAX_UID),
        "resourceVersion": text(metadata, "resourceVersion", MAX_WORD),
        "creationTimestamp": text(metadata, "creationTimestamp", MAX_WORD),
        "deletionTimestamp": text(metadata, "deletionTimestamp", MAX_WORD),
        "generation": integer(metadata, "generation"),
        "finalizers": _finalizers(metadata),
    }
    if made_by := text(mapping(metadata, "labels"), MANAGED_BY_LABEL):
        slim["labels"] = {MANAGED_BY_LABEL: made_by}
    if (owner := controller_of(metadata)) is not None:
        slim["ownerReferences"] = [
            {
                "apiVersion": owner.api_version,
                "kind": owner.kind,
                "name": owner.name,
                "uid": owner.uid,
                "controller": True,
            }
        ]
    return {field: value for field, value in slim.items() if value}


def _finalizers(metadata: Raw) -> list[str]:
    """All finalizers, or none if they exceed the bounds: writing back only some of them would remove the others.

    Muster does not write to an object that has none.
    """
    found = texts(metadata, "finalizers")
    bounded = len(found) <= MAX_FINALIZERS and all(len(each) <= MAX_FINALIZER for each in found)
    return list(found) if bounded else []


def _group(api_version: str) -> str:
    group, slash, _ = api_version.partition("/")
    return group if slash else ""
