"""What upstream leaves to the API server, and what a version of the API cannot say."""

from dataclasses import replace
from typing import Any

import pytest

from muster.workloadbuilder import (
    V1ALPHA2,
    V1BETA1,
    BasicPolicy,
    DisruptionMode,
    FieldPath,
    GangPolicy,
    ResourceClaim,
    SchedulingConfig,
    SchedulingConstraints,
    Target,
    WorkloadItem,
)
from tests.unit.workloadbuilder.drawing import EVERY_TARGET, ZONE, builder, built, gang, kinds_and_paths, refused

Errors = list[tuple[str, str]]


def item(name: str, config: SchedulingConfig | None = None, *children: WorkloadItem) -> WorkloadItem:
    return WorkloadItem(name, config, children=children, path=FieldPath.of(name))


def deep(levels: int) -> WorkloadItem:
    """A tree of so many levels, that of the leaf included."""
    tree = item(f"l{levels}")
    for level in range(levels - 1, 0, -1):
        tree = item(f"l{level}", None, tree)
    return tree


def wide(count: int, kind: str = "leaf") -> WorkloadItem:
    below = [item(f"c{n}", None, *([item(f"x{n}")] if kind == "composite" else [])) for n in range(count)]
    return item("root", None, *below)


def claims(*names: str) -> SchedulingConfig:
    return SchedulingConfig(resource_claims=tuple(ResourceClaim(name, "x") for name in names))


ALL, SINGLE = DisruptionMode.ALL, DisruptionMode.SINGLE
URGENT = SchedulingConfig(priority_class_name="urgent")
EVERYWHERE: dict[str, tuple[WorkloadItem, Errors]] = {
    "4 claims": (item("a", claims("a", "b", "c", "d")), []),
    "5 claims": (item("a", claims("a", "b", "c", "d", "e")), [("TooMany", "a.resourceClaims")]),
    "a claim's name that is there twice": (item("a", claims("a", "b", "a")), [("Duplicate", "a.resourceClaims[2]")]),
    "a claim's name that is no DNS label": (item("a", claims("A")), [("Invalid", "a.resourceClaims[0].name")]),
    "a claim without a name": (item("a", claims("")), [("Required", "a.resourceClaims[0].name")]),
    "a claim with two sources": (
        item("a", SchedulingConfig(resource_claims=(ResourceClaim("a", "x", "y"),))),
        [("Invalid", "a.resourceClaims[0]")],
    ),
    "a claim's source that is no name": (
        item("a", SchedulingConfig(resource_claims=(ResourceClaim("a", "X_1"),))),
        [("Invalid", "a.resourceClaims[0].resourceClaimName")],
    ),
    "a name of 63 characters": (item("a" * 63), []),
    "a name of 64 characters": (item("a" * 64), [("Invalid", "a" * 64)]),
    "a name with a dot": (item("a.b"), [("Invalid", "a.b")]),
    "a name with a line feed": (WorkloadItem("a\n"), [("Invalid", "")]),
    "a topology key that is no label": (
        item("a", SchedulingConfig(constraints=SchedulingConstraints(("a/b/c",)))),
        [("Invalid", "a.schedulingConstraints.topology[0].key")],
    ),
    "a priority that is too high": (item("a", SchedulingConfig(priority=10**9 + 1)), [("Invalid", "a.priority")]),
    "Basic with all": (
        item("a", SchedulingConfig(BasicPolicy(), disruption_mode=ALL)),
        [("Invalid", "a.disruptionMode")],
    ),
}


@pytest.mark.parametrize("target", EVERY_TARGET.values(), ids=EVERY_TARGET)
@pytest.mark.parametrize(("root", "errors"), EVERYWHERE.values(), ids=EVERYWHERE)
def test_every_version_refuses_invalid_values(root: WorkloadItem, errors: Errors, target: Any) -> None:
    assert (kinds_and_paths(refused(root, target)) if errors else bool(built(root, target))) == (errors or True)


NESTED: dict[str, tuple[WorkloadItem, Errors]] = {
    "4 levels": (deep(4), []),
    "5 levels": (deep(5), [("Invalid", "l5")]),
    "8 leaves": (wide(8), []),
    "9 leaves": (wide(9), [("TooMany", "root")]),
    "8 composites": (wide(8, "composite"), []),
    "9 composites": (wide(9, "composite"), [("TooMany", "root")]),
    "one priority for all": (item("root", URGENT, item("a", URGENT), item("b", URGENT)), []),
    "a leaf with another class": (item("root", URGENT, item("a", URGENT), item("b")), [("Invalid", "b")]),
    "a leaf with another priority": (
        item("root", None, item("a", SchedulingConfig(priority=0))),
        [("Invalid", "a")],
    ),
    "an empty class is none": (item("root", None, item("a", SchedulingConfig(priority_class_name=""))), []),
    "single below all": (
        item("root", gang(1, disruption_mode=ALL), item("a", gang(1, disruption_mode=SINGLE))),
        [("Invalid", "a.disruptionMode")],
    ),
    "single below all, with a level between": (
        item("root", gang(1, disruption_mode=ALL), item("m", None, item("a", gang(1, disruption_mode=SINGLE)))),
        [("Invalid", "a.disruptionMode")],
    ),
    "all below all": (item("root", gang(1, disruption_mode=ALL), item("a", gang(1, disruption_mode=ALL))), []),
    "nothing said below all": (item("root", gang(1, disruption_mode=ALL), item("a", gang(1))), []),
    "all below single": (item("root", gang(1, disruption_mode=SINGLE), item("a", gang(1, disruption_mode=ALL))), []),
}


@pytest.mark.parametrize(("root", "errors"), NESTED.values(), ids=NESTED)
def test_groups_of_groups_have_rules_of_their_own(root: WorkloadItem, errors: Errors) -> None:
    assert (kinds_and_paths(refused(root)) if errors else bool(built(root))) == (errors or True)


FLAT: dict[str, tuple[WorkloadItem, Errors | list[str]]] = {
    "a composite that asks for nothing is only a bracket": (item("root", None, item("a"), item("b")), ["a", "b"]),
    "on any level, and in the order of the tree": (
        item("root", None, item("a"), item("m", None, item("b"), item("n", None, item("c"))), item("d")),
        ["a", "b", "c", "d"],
    ),
    "single says nothing that is lost": (
        item("root", SchedulingConfig(disruption_mode=SINGLE), item("a", gang(2))),
        ["a"],
    ),
    "priorities may differ": (item("root", None, item("a", URGENT), item("b")), ["a", "b"]),
    "a priority of the whole that each group has": (item("root", URGENT, item("a", URGENT)), ["a"]),
    "8 groups": (wide(8), [f"c{n}" for n in range(8)]),
    "9 groups": (wide(9), [("TooMany", "root")]),
    "9 groups in two brackets": (
        item("root", None, item("l", None, *(item(f"a{n}") for n in range(5))), *(item(f"b{n}") for n in range(4))),
        [("TooMany", "root")],
    ),
    "a gang of groups": (item("root", gang(1), item("a")), [("Forbidden", "root.schedulingPolicy")]),
    "a gang of groups inside": (
        item("root", None, item("m", gang(1), item("a"))),
        [("Forbidden", "m.schedulingPolicy")],
    ),
    "topology of groups": (
        item("root", SchedulingConfig(constraints=SchedulingConstraints((ZONE,))), item("a")),
        [("Forbidden", "root.schedulingConstraints")],
    ),
    "groups that are disrupted together": (
        item("root", gang(1, disruption_mode=ALL), item("a")),
        [("Forbidden", "root.schedulingPolicy"), ("Forbidden", "root.disruptionMode")],
    ),
    "a priority of the whole that a group has not": (
        item("root", URGENT, item("a", URGENT), item("b")),
        [("Forbidden", "root")],
    ),
}


@pytest.mark.parametrize(("root", "expected"), FLAT.values(), ids=FLAT)
def test_v1alpha2_flattens_or_refuses_groups_of_groups(root: WorkloadItem, expected: list[Any]) -> None:
    if isinstance(expected[0], str):
        templates = built(root, V1ALPHA2)["spec"]["podGroupTemplates"]
        assert [template["name"] for template in templates] == expected
    else:
        assert kinds_and_paths(refused(root, V1ALPHA2)) == expected


def test_the_refusal_of_v1alpha2_says_why() -> None:
    (error,) = refused(item("root", gang(1), item("a")), V1ALPHA2)
    assert str(error) == (
        'root.schedulingPolicy: "gang" over groups is not supported: v1alpha2 has no groups of groups, '
        "so the policy here must be basic"
    )


@pytest.mark.parametrize("target", EVERY_TARGET.values(), ids=EVERY_TARGET)
def test_a_tree_that_contains_itself_is_refused(target: Target[Any, Any]) -> None:
    below: list[WorkloadItem] = []
    endless = WorkloadItem("root", children=below)
    below.append(replace(endless, name="again"))
    assert {error.kind.value for error in builder(endless, target).validate()} == {"Duplicate", "Internal"}


def test_a_gang_of_one_is_a_gang() -> None:
    assert built(item("a", SchedulingConfig(GangPolicy(1))), V1BETA1)["spec"]["podGroupTemplates"][0]
