"""ObjectMeta and owner references, as far as Muster looks at them."""

from typing import Self

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from muster.api.keys import Uid
from muster.api.wire import Raw, flag, mappings, text

MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
MANAGED_BY = "muster"


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
            uid=Uid(text(raw, "uid")),
            controller=flag(raw, "controller"),
        )

    @property
    def group(self) -> str:
        group, slash, _ = self.api_version.partition("/")
        return group if slash else ""

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


def controller_of(metadata: Raw) -> OwnerReference | None:
    """The one owner that controls the object, if any (the API server allows at most one)."""
    owners = mappings(metadata, "ownerReferences")
    return next((OwnerReference.parse(owner) for owner in owners if flag(owner, "controller")), None)
