"""ObjectMeta and owner references, as far as Muster looks at them."""

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
"""Characters: a prefix, a slash and a name."""


class Wire(BaseModel):
    """A frozen part of an API object; camelCase outside, snake_case inside, unknown fields ignored."""

    model_config = ConfigDict(
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=True,
        extra="ignore",
        use_attribute_docstrings=True,  # they become the descriptions in our CRDs
    )


class OwnerReference(Wire):
    """Whose an object is: it goes when its owner goes."""

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
    """The owner that controls a Job or a Pod, as their views keep it: many are held, so it is small."""

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
    """The one owner that controls the object, if any (the API server allows at most one)."""
    owners = mappings(metadata, "ownerReferences")
    return next((Controller.parse(owner) for owner in owners if flag(owner, "controller")), None)


def slim_metadata(metadata: Raw) -> dict[str, Any]:
    """What Muster looks at in the metadata of a Workload or PodGroup, bounded; the rest of it is not kept.

    Somebody can add owners and labels of any number and length to a gang's PodGroup. They must not make it unreadable,
    because the gang's pods then could not join it.
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
    """All or none: to write some of them back is to remove the others. An object with none is never written to."""
    found = texts(metadata, "finalizers")
    bounded = len(found) <= MAX_FINALIZERS and all(len(each) <= MAX_FINALIZER for each in found)
    return list(found) if bounded else []


def _group(api_version: str) -> str:
    group, slash, _ = api_version.partition("/")
    return group if slash else ""
