"""What a row says, and the objects that most rows differ from in one thing only."""

from dataclasses import dataclass
from typing import Any, Literal

Object = dict[str, Any]
Kind = Literal["workloads", "podgroups"]

WORKLOAD = "workload"
TEMPLATE = "template"
HIGH, LOW, LOWEST = "high-priority", "low-priority", "lowest-priority"
PRIORITIES = {HIGH: 1000, LOW: 5, LOWEST: -(2**31)}
"""The PriorityClasses that are there, where the server has such a thing."""

UNKNOWN = "later"
"""A field that no server knows."""

GANG: Object = {"gang": {"minCount": 5}}
BASIC: Object = {"basic": {}}


@dataclass(frozen=True)
class Row:
    name: str
    kind: Kind
    spec: Object
    """What is created; for an update, what is different after it (None: taken away)."""
    wrong: str = ""
    """The field that the refusal names; empty: it is accepted."""
    before: Object | None = None
    """An update: what was there."""
    status: Object | None = None
    """An update of the status to this."""


def reference(template: str = TEMPLATE, workload: str = WORKLOAD) -> Object:
    return {"workload": {"workloadName": workload, "podGroupTemplateName": template}}


def group(**changes: Any) -> Object:
    """The spec of a valid PodGroup, but for the changes; None takes a field away."""
    return changed({"podGroupTemplateRef": reference(), "schedulingPolicy": GANG}, changes)


def template(name: str = "main", **changes: Any) -> Object:
    return changed({"name": name, "schedulingPolicy": GANG}, changes)


def workload(*templates: Object, **changes: Any) -> Object:
    """The spec of a valid Workload, but for the changes."""
    return changed({"podGroupTemplates": list(templates) or [template()]}, changes)


def changed(spec: Object, changes: Object) -> Object:
    return {field: value for field, value in {**spec, **changes}.items() if value is not None}


def topology(*keys: str) -> Object:
    return {"schedulingConstraints": {"topology": [{"key": key} for key in keys]}}


def claim(name: str = "claim", **source: Any) -> Object:
    return {"name": name, **(source or {"resourceClaimName": "resource-claim"})}


def claims(*each: Object) -> Object:
    return {"resourceClaims": list(each)}


def condition(**changes: Any) -> Object:
    """A valid condition, but for the changes."""
    valid = {
        "type": "PodGroupScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "Test status condition message",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    return changed(valid, changes)
