"""The CustomResourceDefinitions of Workload and PodGroup, in either group."""

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from muster.api.meta import MANAGED_BY, MANAGED_BY_LABEL
from muster.api.profile import KUBERNETES_GROUP, OWN_GROUP, VERSION
from muster.api.v1alpha2.podgroup import PodGroup
from muster.api.v1alpha2.workload import Workload
from muster.crds.schema import structural

GROUPS = (KUBERNETES_GROUP, OWN_GROUP)
CATEGORY = "muster"

_APPROVAL = "api-approved.kubernetes.io"
_UNAPPROVED = f"unapproved, the same schema and rules as the built-in {KUBERNETES_GROUP}/{VERSION}"
"""The API server refuses CRDs in a group under k8s.io without this annotation."""

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    path: str
    description: str
    kind: str = "string"

    def manifest(self) -> Object:
        return {"name": self.name, "type": self.kind, "jsonPath": self.path, "description": self.description}


@dataclass(frozen=True, slots=True)
class Kind:
    model: type[BaseModel]
    plural: str
    columns: tuple[Column, ...]
    has_status: bool = False

    @property
    def name(self) -> str:
        return self.model.__name__


_AGE = Column("Age", ".metadata.creationTimestamp", "Time since it was created.", "date")
_TEMPLATE = ".spec.podGroupTemplates[0].schedulingPolicy"

WORKLOADS = Kind(
    Workload,
    "workloads",
    (
        Column("Job", ".spec.controllerRef.name", "Name of the object that the Workload describes."),
        Column("Policy", _TEMPLATE, "Scheduling policy of the first template."),
        Column("MinCount", f"{_TEMPLATE}.gang.minCount", "Gang size of the first template.", "integer"),
        _AGE,
    ),
)
POD_GROUPS = Kind(
    PodGroup,
    "podgroups",
    (
        Column("Policy", ".spec.schedulingPolicy", "Scheduling policy of the group."),
        Column("Min", ".spec.schedulingPolicy.gang.minCount", "Gang size.", "integer"),
        Column("Workload", ".spec.podGroupTemplateRef.workload.workloadName", "Workload that it was created from."),
        Column(
            "Status",
            '.status.conditions[?(@.type=="PodGroupScheduled")].reason',
            "Scheduled, or why not; empty until the first attempt.",
        ),
        _AGE,
    ),
    has_status=True,
)
KINDS = (WORKLOADS, POD_GROUPS)


def crd_name(kind: Kind, group: str) -> str:
    return f"{kind.plural}.{group}"


def definition(kind: Kind, group: str) -> Object:
    """One CustomResourceDefinition. Both groups have the same schema; only the name and required annotations differ."""
    metadata: Object = {"name": crd_name(kind, group), "labels": {MANAGED_BY_LABEL: MANAGED_BY}}
    if group.endswith(".k8s.io"):
        metadata["annotations"] = {_APPROVAL: _UNAPPROVED}
    singular = kind.name.lower()
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": group,
            "names": {
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": kind.plural,
                "singular": singular,
                "categories": [CATEGORY],
            },
            "scope": "Namespaced",
            "versions": [_version(kind)],
        },
    }


def definitions(group: str) -> list[Object]:
    return [definition(kind, group) for kind in KINDS]


def _version(kind: Kind) -> Object:
    version: Object = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": structural(kind.model)},
        "additionalPrinterColumns": [column.manifest() for column in kind.columns],
    }
    if kind.has_status:
        version["subresources"] = {"status": {}}
    return version
