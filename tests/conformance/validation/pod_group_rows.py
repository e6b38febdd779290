"""What only PodGroups have: the reference to a template, the default, the status."""

from collections.abc import Iterator

from tests.conformance.validation.rows import (
    TEMPLATE,
    WORKLOAD,
    Object,
    Row,
    claim,
    claims,
    condition,
    group,
    reference,
)

REF = "podGroupTemplateRef"
NAMED, TEMPLATED = f"spec.{REF}.workload.workloadName", f"spec.{REF}.workload.podGroupTemplateName"

CREATED: dict[str, tuple[Object, str]] = {
    "V36-05 no reference": ({REF: None}, ""),
    "V36-06 empty reference": ({REF: {}}, f"spec.{REF}"),
    "V36-07 empty template name": ({REF: reference("", WORKLOAD)}, TEMPLATED),
    "V36-08 template name with a slash": ({REF: reference("temp/late", WORKLOAD)}, TEMPLATED),
    "V36-09 empty workload name": ({REF: reference(TEMPLATE, "")}, NAMED),
    "V36-10 workload name with a slash": ({REF: reference(TEMPLATE, "work/load")}, NAMED),
    "V36-11 workload name of 254": ({REF: reference(TEMPLATE, "g" * 254)}, NAMED),
    "V36-12 template name of 254": ({REF: reference("g" * 254, WORKLOAD)}, TEMPLATED),
    "V36-28 no disruptionMode": ({"disruptionMode": None}, ""),
    # The built-in server's Priority plugin answers these two first. It names the value, as validation does.
    "V36-30 class with a slash": ({"priorityClassName": "high/priority"}, "high/priority"),
    "V36-32 priority too high": ({"priority": 10**9 + 1}, "1000000001"),
    "V36-32 priority of the system": (
        {"priorityClassName": "system-node-critical", "priority": 2000001000},
        "spec.priority",
    ),
    "more: template name of 64": ({REF: reference("g" * 64, WORKLOAD)}, TEMPLATED),
    "more: no template name": ({REF: {"workload": {"workloadName": WORKLOAD}}}, TEMPLATED),
}

CHANGED: dict[str, tuple[Object, Object, str]] = {
    "V36-40 reference emptied": ({}, {REF: {}}, f"spec.{REF}"),
    "V36-40 reference unset": ({}, {REF: None}, f"spec.{REF}"),
    "V36-40 reference set": ({REF: None}, {REF: reference()}, f"spec.{REF}"),
    "V36-40 other template": ({}, {REF: reference("other", WORKLOAD)}, f"spec.{REF}"),
    "V36-40 other workload": ({}, {REF: reference(TEMPLATE, "other")}, f"spec.{REF}"),
    "more: the default is taken away and comes back": ({}, {"disruptionMode": None}, ""),
}

CLAIMS = claims(claim("my-claim", resourceClaimName="a"), claim("my-other-claim", resourceClaimName="b"))
MADE: Object = {"name": "my-claim", "resourceClaimName": "foo-my-claim-12345"}
SCHEDULED, STATUSES = "status.conditions", "status.resourceClaimStatuses"

STATUS: dict[str, tuple[Object, str]] = {
    "V36-45 nothing": ({}, ""),
    "V36-45 a condition": ({"conditions": [condition()]}, ""),
    "V36-46 the same condition twice": ({"conditions": [condition(), condition()]}, f"{SCHEDULED}[1]"),
    "V36-47 claims": ({"resourceClaimStatuses": [MADE, {"name": "my-other-claim"}]}, ""),
    "V36-48 unknown claim": ({"resourceClaimStatuses": [{**MADE, "name": "no-such-claim"}]}, STATUSES),
    "V36-49 bad claim name": (
        {"resourceClaimStatuses": [{**MADE, "resourceClaimName": "my/claim"}]},
        f"{STATUSES}[0].resourceClaimName",
    ),
    "V36-50 the same claim twice": ({"resourceClaimStatuses": [MADE, MADE]}, f"{STATUSES}[1]"),
    "V36-56 bad status": ({"conditions": [condition(status="TrueOrFalse")]}, f"{SCHEDULED}[0].status"),
    "V36-56 empty reason": ({"conditions": [condition(reason="")]}, f"{SCHEDULED}[0].reason"),
    "V36-56 no reason": ({"conditions": [condition(reason=None)]}, f"{SCHEDULED}[0].reason"),
    "V36-56 ill-formed reason": ({"conditions": [condition(reason="Sche duled")]}, f"{SCHEDULED}[0].reason"),
    "V36-56 reason of 1025": ({"conditions": [condition(reason="a" * 1025)]}, f"{SCHEDULED}[0].reason"),
    "V36-56 message of 32769": ({"conditions": [condition(message="a" * 32769)]}, f"{SCHEDULED}[0].message"),
    "more: longest reason and message": ({"conditions": [condition(reason="a" * 1024, message="a" * 32768)]}, ""),
    "more: no message": ({"conditions": [condition(message=None)]}, ""),
    "more: no type": ({"conditions": [condition(type=None)]}, f"{SCHEDULED}[0].type"),
    "more: ill-formed type": ({"conditions": [condition(type="not/a/type")]}, f"{SCHEDULED}[0].type"),
    "more: prefix of a type too long": ({"conditions": [condition(type="a" * 254 + "/b")]}, f"{SCHEDULED}[0].type"),
    "more: no time": ({"conditions": [condition(lastTransitionTime=None)]}, f"{SCHEDULED}[0].lastTransitionTime"),
    "more: no such time": ({"conditions": [condition(lastTransitionTime="noon")]}, "noon"),
    "more: negative generation": ({"conditions": [condition(observedGeneration=-1)]}, "observedGeneration"),
    "more: two conditions": ({"conditions": [condition(), condition(type="example.com/Seen")]}, ""),
    "more: five claim statuses": (
        {"resourceClaimStatuses": [{"name": f"claim-{n}"} for n in range(5)]},
        STATUSES,
    ),
    "more: claim status without a name": (
        {"resourceClaimStatuses": [{"resourceClaimName": "a"}]},
        f"{STATUSES}[0].name",
    ),
}


def rows() -> Iterator[Row]:
    for name, (changes, wrong) in CREATED.items():
        yield Row(name, "podgroups", group(**changes), wrong)
    yield Row("more: reference is null", "podgroups", {**group(), REF: None})
    for name, (before, after, wrong) in CHANGED.items():
        yield Row(name, "podgroups", after, wrong, group(**before))
    for name, (status, wrong) in STATUS.items():
        yield Row(name, "podgroups", {}, wrong, group(**CLAIMS), status)
