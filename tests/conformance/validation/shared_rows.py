"""What PodGroups and the templates of Workloads have in common: V36-01..44, and for templates V36-60..70."""

from collections.abc import Iterator
from typing import Any

from tests.conformance.validation.rows import (
    BASIC,
    GANG,
    HIGH,
    LOW,
    LOWEST,
    UNKNOWN,
    Object,
    Row,
    claim,
    claims,
    group,
    template,
    topology,
    workload,
)

CONSTRAINTS, CLAIMS = "schedulingConstraints", "resourceClaims"
LONG_KEY = f"{'a' * 253}/{'b' * 63}"

# id for PodGroups, id for templates, what is different, which field is wrong
CREATED: dict[str, tuple[str, str, Object, str]] = {
    "gang": ("V36-01", "V36-60", {"schedulingPolicy": GANG}, ""),
    "basic": ("V36-02", "V36-68", {"schedulingPolicy": BASIC}, ""),
    "minCount 0": (
        "V36-03",
        "V36-66",
        {"schedulingPolicy": {"gang": {"minCount": 0}}},
        "schedulingPolicy.gang.minCount",
    ),
    "minCount -1": (
        "V36-04",
        "V36-66",
        {"schedulingPolicy": {"gang": {"minCount": -1}}},
        "schedulingPolicy.gang.minCount",
    ),
    "minCount missing": ("V36-03", "V36-66", {"schedulingPolicy": {"gang": {}}}, "schedulingPolicy.gang.minCount"),
    "neither policy": ("V36-13", "V36-68", {"schedulingPolicy": {}}, "schedulingPolicy"),
    "no policy at all": ("V36-13", "V36-68", {"schedulingPolicy": None}, "schedulingPolicy"),
    "both policies": ("V36-14", "V36-68", {"schedulingPolicy": {**BASIC, **GANG}}, "schedulingPolicy"),
    "topology": ("V36-16", "V36-69", topology("foo"), ""),
    "two topology keys": ("V36-17", "V36-69", topology("foo", "bar"), f"{CONSTRAINTS}.topology"),
    "empty constraints": ("V36-18", "V36-69", {CONSTRAINTS: {}}, ""),
    "empty topology key": ("V36-19", "V36-69", topology(""), f"{CONSTRAINTS}.topology[0].key"),
    "topology key with prefix": ("V36-20", "V36-69", topology("example.com/Foo"), ""),
    "longest topology key": ("V36-21", "V36-69", topology(LONG_KEY), ""),
    "prefix too long": ("V36-22", "V36-69", topology("a" * 254 + "/foo"), f"{CONSTRAINTS}.topology[0].key"),
    "name part too long": ("V36-23", "V36-69", topology("foo/" + "b" * 64), f"{CONSTRAINTS}.topology[0].key"),
    "key without prefix too long": ("V36-24", "V36-69", topology("b" * 64), f"{CONSTRAINTS}.topology[0].key"),
    "upper case in prefix": ("V36-25", "V36-69", topology("Example.com/Foo"), f"{CONSTRAINTS}.topology[0].key"),
    "disruptionMode Pod": ("V36-26", "V36-69", {"disruptionMode": "Pod"}, ""),
    "disruptionMode PodGroup": ("V36-26", "V36-69", {"disruptionMode": "PodGroup"}, ""),
    "disruptionMode unknown": ("V36-27", "V36-69", {"disruptionMode": "Invalid"}, "disruptionMode"),
    "class": ("V36-29", "V36-69", {"priorityClassName": HIGH}, ""),
    "priority of the class": ("V36-31", "V36-69", {"priorityClassName": HIGH, "priority": 1000}, ""),
    "lowest priority": ("V36-31", "V36-69", {"priorityClassName": LOWEST, "priority": -(2**31)}, ""),
    "claim by name": ("V36-33", "V36-69", claims(claim()), ""),
    "claim by template": ("V36-33", "V36-69", claims(claim(resourceClaimTemplateName="a-template")), ""),
    "two claims": ("V36-33", "V36-69", claims(claim("claim-1"), claim("claim-2")), ""),
    "claim name with prefix": ("V36-34", "V36-69", claims(claim("../my-claim")), f"{CLAIMS}[0].name"),
    "claim name with path": ("V36-34", "V36-69", claims(claim("my/claim")), f"{CLAIMS}[0].name"),
    "duplicate claim": ("V36-35", "V36-69", claims(claim(), claim()), f"{CLAIMS}[1]"),
    "claim without source": ("V36-36", "V36-69", claims({"name": "claim"}), f"{CLAIMS}[0]"),
    "claim with both sources": (
        "V36-36",
        "V36-69",
        claims(claim(resourceClaimName="a", resourceClaimTemplateName="b")),
        f"{CLAIMS}[0]",
    ),
    "bad reference": (
        "V36-37",
        "V36-69",
        claims(claim(resourceClaimName=".foo_bar")),
        f"{CLAIMS}[0].resourceClaimName",
    ),
    "bad template reference": (
        "V36-37",
        "V36-69",
        claims(claim(resourceClaimTemplateName=".foo_bar")),
        f"{CLAIMS}[0].resourceClaimTemplateName",
    ),
    "five claims": ("V36-38", "V36-69", claims(*(claim(f"claim-{n}") for n in range(5))), CLAIMS),
    # Not in the catalogue: where a schema and Go code easily disagree.
    "one policy is null": ("more:", "more:", {"schedulingPolicy": {**GANG, "basic": None}}, ""),
    "an unknown field is dropped": ("more:", "more:", {"schedulingPolicy": {"basic": {UNKNOWN: 1}}}, ""),
    "an empty class is no class": ("more:", "more:", {"priorityClassName": ""}, ""),
    "an empty list of claims": ("more:", "more:", {CLAIMS: []}, ""),
    "an empty claim reference": (
        "more:",
        "more:",
        claims(claim(resourceClaimName="")),
        f"{CLAIMS}[0].resourceClaimName",
    ),
    "a claim name of 64": ("more:", "more:", claims(claim("c" * 64)), f"{CLAIMS}[0].name"),
    "a key that ends with a slash": ("more:", "more:", topology("foo/"), f"{CONSTRAINTS}.topology[0].key"),
    "a key with two slashes": ("more:", "more:", topology("a/b/c"), f"{CONSTRAINTS}.topology[0].key"),
    "a key with a newline at its end": ("more:", "more:", topology("foo\n"), f"{CONSTRAINTS}.topology[0].key"),
}

# What is different. A server that reads into typed structures does not come to validation, and names no path.
UNREADABLE: dict[str, Object] = {
    "minCount above int32": {"schedulingPolicy": {"gang": {"minCount": 2**31}}},
    "minCount as a string": {"schedulingPolicy": {"gang": {"minCount": "5"}}},
    "minCount as a fraction": {"schedulingPolicy": {"gang": {"minCount": 5.5}}},
}

# id for PodGroups, what was there, what it becomes (None: taken away), which field is wrong
CHANGED: dict[str, tuple[str, Object, Object, str]] = {
    "no change": ("V36-39", {}, {}, ""),
    "policy cleared": ("V36-41", {}, {"schedulingPolicy": {}}, "schedulingPolicy"),
    "both policies": ("V36-41", {}, {"schedulingPolicy": {**BASIC, **GANG}}, "schedulingPolicy"),
    "minCount": ("V36-41", {}, {"schedulingPolicy": {"gang": {"minCount": 10}}}, "schedulingPolicy"),
    "gang to basic": ("V36-41", {}, {"schedulingPolicy": BASIC}, "schedulingPolicy"),
    "basic to gang": ("V36-41", {"schedulingPolicy": BASIC}, {"schedulingPolicy": GANG}, "schedulingPolicy"),
    "constraints unchanged": ("V36-42", topology("foo"), topology("foo"), ""),
    "constraints emptied": ("V36-42", topology("foo"), {CONSTRAINTS: {}}, CONSTRAINTS),
    "constraints removed": ("V36-42", topology("foo"), {CONSTRAINTS: None}, CONSTRAINTS),
    "constraints added": ("V36-42", {}, topology("foo"), CONSTRAINTS),
    "topology added": ("V36-42", topology("foo"), topology("foo", "bar"), CONSTRAINTS),
    "topology key": ("V36-42", topology("foo"), topology("bar"), CONSTRAINTS),
    "claims added": ("V36-43", {}, claims(claim()), CLAIMS),
    "another claim added": ("V36-43", claims(claim()), claims(claim(), claim("second")), CLAIMS),
    "claim source": ("V36-43", claims(claim()), claims(claim(resourceClaimName="other")), CLAIMS),
    "claim renamed": ("V36-43", claims(claim()), claims(claim("renamed")), CLAIMS),
    "claim by template now": ("V36-43", claims(claim()), claims(claim(resourceClaimTemplateName="other")), CLAIMS),
    "claims removed": ("V36-43", claims(claim()), {CLAIMS: None}, CLAIMS),
    "disruptionMode": ("V36-44", {"disruptionMode": "Pod"}, {"disruptionMode": "PodGroup"}, "disruptionMode"),
    "disruptionMode removed": ("V36-44", {"disruptionMode": "PodGroup"}, {"disruptionMode": None}, "disruptionMode"),
    "class": ("V36-44", {"priorityClassName": LOW}, {"priorityClassName": HIGH}, "priorityClassName"),
    "class removed": ("V36-44", {"priorityClassName": LOW}, {"priorityClassName": None}, "priorityClassName"),
    "priority": ("V36-44", {"priorityClassName": HIGH, "priority": 1000}, {"priority": 2000}, "priority"),
    "priority removed": ("V36-44", {"priorityClassName": HIGH, "priority": 1000}, {"priority": None}, "priority"),
    # Not in the catalogue.
    "claims in another order": ("more:", claims(claim("a"), claim("b")), claims(claim("b"), claim("a")), CLAIMS),
    "no claims become an empty list": ("more:", {}, {CLAIMS: []}, ""),
    "an empty list of topologies": ("more:", {CONSTRAINTS: {}}, {CONSTRAINTS: {"topology": []}}, ""),
}


def rows() -> Iterator[Row]:
    first = "spec.podGroupTemplates[0]"
    for name, (own, below, changes, wrong) in CREATED.items():
        yield Row(f"{own} {name}", "podgroups", group(**changes), wrong and f"spec.{wrong}")
        yield Row(f"{below} {name}", "workloads", workload(template(**changes)), wrong and f"{first}.{wrong}")
    for name, changes in UNREADABLE.items():
        yield Row(f"more: {name}", "podgroups", group(**changes), "minCount")
        yield Row(f"more: {name}", "workloads", workload(template(**changes)), "minCount")
    for name, (own, before, after, wrong) in CHANGED.items():
        yield Row(f"{own} {name}", "podgroups", after, wrong and f"spec.{wrong}", group(**before))
        yield _template_changes(f"{'V36-70' if own != 'more:' else own} {name}", before, after, wrong)


def _template_changes(name: str, before: Object, after: Object, wrong: str) -> Row:
    """The built-in server names the whole list of templates; the schema names what changed in it."""
    whole: dict[str, Any] = {"podGroupTemplates": [template(**{**before, **after})]}
    return Row(name, "workloads", whole, wrong and "spec.podGroupTemplates", workload(template(**before)))
