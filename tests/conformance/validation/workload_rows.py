"""What only Workloads have: the list of templates, and the reference to a controller."""

from collections.abc import Iterator
from typing import Any

from tests.conformance.validation.rows import Object, Row, claim, claims, template, workload

TEMPLATES, REF = "spec.podGroupTemplates", "spec.controllerRef"


def controller(
    group: str | None = "apps", kind: str | None = "Deployment", name: str | None = "my-deployment"
) -> Object:
    given = {"apiGroup": group, "kind": kind, "name": name}
    return {"controllerRef": {field: value for field, value in given.items() if value is not None}}


CREATED: dict[str, tuple[Object, str]] = {
    "V36-60 valid": (workload(), ""),
    "V36-61 no templates": (workload(podGroupTemplates=[]), TEMPLATES),
    "V36-61 templates missing": ({}, TEMPLATES),
    "V36-62 nine templates": (workload(*(template(f"t-{n}") for n in range(9))), TEMPLATES),
    "V36-62 eight templates": (workload(*(template(f"t-{n}") for n in range(8))), ""),
    "V36-63 empty template name": (workload(template("")), f"{TEMPLATES}[0].name"),
    "V36-64 bad template name": (workload(template("Invalid_Name")), f"{TEMPLATES}[0].name"),
    "V36-65 duplicate template name": (workload(template(), template()), f"{TEMPLATES}[1]"),
    "V36-67 controller": (workload(**controller()), ""),
    "V36-67 empty group": (workload(**controller("", "Pod", "my-pod")), ""),
    "V36-67 no group": (workload(**controller(None, "Pod", "my-pod")), ""),
    "V36-67 bad group": (workload(**controller("invalid_api_group")), f"{REF}.apiGroup"),
    "V36-67 group of 254": (workload(**controller("g" * 254)), f"{REF}.apiGroup"),
    "V36-67 empty kind": (workload(**controller(kind="")), f"{REF}.kind"),
    "V36-67 no kind": (workload(**controller(kind=None)), f"{REF}.kind"),
    "V36-67 kind with a slash": (workload(**controller(kind="Deploy/ment")), f"{REF}.kind"),
    "V36-67 kind with a percent sign": (workload(**controller(kind="Deploy%ment")), f"{REF}.kind"),
    "V36-67 empty name": (workload(**controller(name="")), f"{REF}.name"),
    "V36-67 no name": (workload(**controller(name=None)), f"{REF}.name"),
    "V36-67 name with a slash": (workload(**controller(name="/invalid-name")), f"{REF}.name"),
    "V36-67 name with a percent sign": (workload(**controller(name="my%deployment")), f"{REF}.name"),
    "V36-69 class with a slash": (
        workload(template(priorityClassName="high/priority")),
        f"{TEMPLATES}[0].priorityClassName",
    ),
    "V36-69 priority without class": (workload(template(priority=1000)), ""),
    "V36-69 priority too high": (workload(template(priority=10**9 + 1)), f"{TEMPLATES}[0].priority"),
    "V36-69 highest priority": (workload(template(priority=10**9)), ""),
    "more: name of one dot": (workload(**controller(name=".")), f"{REF}.name"),
    "more: name of two dots": (workload(**controller(name="..")), f"{REF}.name"),
    "more: name of three dots": (workload(**controller(name="...")), ""),
    "more: name with dots": (workload(**controller(name="..a.b")), ""),
    "more: name with spaces and umlauts": (workload(**controller(name="Über Job")), ""),
    "more: name of 300": (workload(**controller(name="n" * 300)), ""),
    "more: empty controller": (workload(controllerRef={}), REF),
    "more: template name of 64": (workload(template("t" * 64)), f"{TEMPLATES}[0].name"),
    "more: nothing is filled in": (workload(template(disruptionMode=None)), ""),
    "more: constraints are null": (workload({**template(), "schedulingConstraints": None}), ""),
    "more: eight templates of four claims": (
        workload(*(template(f"t-{n}", **claims(*(claim(f"c-{m}") for m in range(4)))) for n in range(8))),
        "",
    ),
}


def _templates(*each: Object) -> dict[str, Any]:
    return {"podGroupTemplates": list(each)}


CHANGED: dict[str, tuple[Object, Object, str]] = {
    "V36-70 unchanged controller": (workload(**controller()), controller(), ""),
    "V36-70 controller set": (workload(), controller(), REF),
    "V36-70 other controller": (workload(**controller()), controller(name="different"), REF),
    "V36-70 other group": (workload(**controller()), controller(group="batch"), REF),
    "V36-70 controller unset": (workload(**controller()), {"controllerRef": None}, REF),
    "V36-70 templates emptied": (workload(), _templates(), TEMPLATES),
    "V36-70 template renamed": (workload(), _templates(template("renamed")), TEMPLATES),
    "V36-70 template added": (workload(), _templates(template(), template("worker")), TEMPLATES),
    "V36-70 template removed": (workload(template(), template("worker")), _templates(template()), TEMPLATES),
    "V36-70 nine templates": (workload(), _templates(*(template(f"t-{n}") for n in range(9))), TEMPLATES),
    "more: templates in another order": (
        workload(template("a"), template("b")),
        _templates(template("b"), template("a")),
        TEMPLATES,
    ),
    "more: second template": (
        workload(template("a"), template("b")),
        _templates(template("a"), template("b", schedulingPolicy={"gang": {"minCount": 6}})),
        TEMPLATES,
    ),
    "more: no group becomes an empty one": (workload(**controller(None)), controller(""), ""),
    "more: no class becomes an empty one": (workload(), _templates(template(priorityClassName="")), ""),
}


def rows() -> Iterator[Row]:
    for name, (spec, wrong) in CREATED.items():
        yield Row(name, "workloads", spec, wrong)
    for name, (before, after, wrong) in CHANGED.items():
        yield Row(name, "workloads", after, wrong, before)
