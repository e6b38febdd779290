"""What is wrong, where: the rows B-70..B-100."""

from typing import Any

import pytest

from muster.workloadbuilder import (
    BlockPaths,
    DisruptionMode,
    FieldPath,
    PolicyKind,
    WorkloadItem,
    validate_disruption_mode,
    validate_scheduling_policy,
)
from tests.unit.workloadbuilder.drawing import builder, composite, gang, kinds_and_paths, leaf, refused

AT = FieldPath.of("spec", "scheduling")
GANG: dict[str, Any] = {"policy": {"gang": {"minCount": 2}}}
BASIC: dict[str, Any] = {"policy": {"basic": {}}}
ALL: dict[str, Any] = {"disruption": {"all": {}}}
SINGLE: dict[str, Any] = {"disruption": {"single": {}}}
ZERO: dict[str, Any] = {"policy": {"gang": {"minCount": 0}}}
ONLY_BASIC = {"allowed_policies": [PolicyKind.BASIC]}
ONLY_GANG = {"allowed_policies": [PolicyKind.GANG]}
ONLY_SINGLE = {"allowed_disruption_modes": [DisruptionMode.SINGLE]}
POLICY, MODE = "spec.scheduling.schedulingPolicy", "spec.scheduling.disruptionMode"


def job(name: str = "job", path: FieldPath = AT, **blocks: Any) -> WorkloadItem:
    return WorkloadItem(name, user_config=leaf(**blocks), path=path)


def tree(*children: WorkloadItem, **blocks: Any) -> WorkloadItem:
    return WorkloadItem("root", user_config=composite(**blocks), path=AT, children=children or [job("a")])


Row = tuple[WorkloadItem | None, dict[str, Any], list[tuple[str, str]]]
ROWS: dict[str, Row] = {
    "B-70 no root": (None, {}, [("Invalid", "")]),
    "B-71 basic is allowed": (job(**BASIC), {}, []),
    "B-72 no name": (job(""), {}, [("Internal", "spec.scheduling")]),
    "B-73 basic is not on the list": (job(**BASIC), ONLY_GANG, [("Forbidden", POLICY)]),
    "nothing means basic, which is not on the list": (job(), ONLY_GANG, [("Forbidden", POLICY)]),
    "B-74 gang is allowed": (job(**GANG), ONLY_GANG, []),
    "B-75 gang is not on the list": (job(**GANG), ONLY_BASIC, [("Forbidden", POLICY)]),
    "an empty list allows nothing": (job(**GANG), {"allowed_policies": []}, [("Forbidden", POLICY)]),
    "B-76 single is allowed": (job(**GANG, **SINGLE), ONLY_SINGLE, []),
    "B-77 all is not on the list": (job(**GANG, **ALL), ONLY_SINGLE, [("Forbidden", MODE)]),
    "B-78 all does not go with basic": (job(**BASIC, **ALL), {}, [("Invalid", MODE)]),
    "nor with no policy, which is basic": (job(**ALL), {}, [("Invalid", MODE)]),
    "B-79 all goes with gang": (job(**GANG, **ALL), {}, []),
    "B-80 minCount 0": (job(**ZERO), {}, [("Invalid", f"{POLICY}.gang.minCount")]),
    "a minCount that is no int32": (
        job(policy={"gang": {"minCount": 2**31}}),
        {},
        [("Invalid", f"{POLICY}.gang.minCount")],
    ),
    "B-81 no path, no prefix": (job(path=FieldPath(), **ZERO), {}, [("Invalid", "schedulingPolicy.gang.minCount")]),
    "B-82 the blocks were checked elsewhere": (job(**ZERO), {"blocks_validated": True}, []),
    "B-83 single and all": (job(**GANG, disruption={"single": {}, "all": {}}), {}, [("Invalid", MODE)]),
    "B-84 two topology constraints": (
        job(constraints={"topology": [{"key": "zone"}, {"key": "rack"}]}),
        {},
        [("TooMany", "spec.scheduling.schedulingConstraints.topology")],
    ),
    "B-85 a claim without a source": (
        job(resourceClaims=[{"name": "a"}]),
        {},
        [("Invalid", "spec.scheduling.resourceClaims[0]")],
    ),
    "an empty policy, where the controller's default would survive": (job(policy={}), {}, [("Invalid", POLICY)]),
    "B-86 a gang of groups": (tree(policy={"gang": {"minGroupCount": 1}}), {}, []),
    "B-87 a basic composite where basic is not on the list": (
        tree(job("a", **GANG), policy={"basic": {}}),
        ONLY_GANG,
        [("Forbidden", POLICY)],
    ),
    "B-88 minGroupCount 0": (
        tree(policy={"gang": {"minGroupCount": 0}}),
        {},
        [("Invalid", f"{POLICY}.gang.minGroupCount")],
    ),
    "B-89 basic and gang of groups": (
        tree(policy={"basic": {}, "gang": {"minGroupCount": 1}}),
        {},
        [("Invalid", POLICY)],
    ),
    "B-90 the policy of a leaf on a composite": (
        WorkloadItem("root", user_config=leaf(**GANG), path=AT, children=[job("a")]),
        {},
        [("Internal", "spec.scheduling")],
    ),
    "B-91 the disruption mode of a leaf on a composite": (
        WorkloadItem("root", user_config=leaf(**ALL), path=AT, children=[job("a")]),
        {},
        [("Internal", "spec.scheduling")],
    ),
    "B-92 also if the blocks were checked elsewhere": (
        WorkloadItem("root", user_config=leaf(**GANG), path=AT, children=[job("a")]),
        {"blocks_validated": True},
        [("Internal", "spec.scheduling")],
    ),
    "B-93 a bad leaf is found wherever it is": (
        tree(WorkloadItem("mid", children=[job("a", AT.child("jobs", 3), **ZERO)])),
        {},
        [("Invalid", "spec.scheduling.jobs[3].schedulingPolicy.gang.minCount")],
    ),
    "everything at once": (
        job(**ZERO, disruption={}, constraints={"topology": [{"key": "/"}]}, resourceClaims=[{"name": "A"}]),
        ONLY_BASIC,
        [
            ("Invalid", f"{POLICY}.gang.minCount"),
            ("Invalid", "spec.scheduling.schedulingConstraints.topology[0].key"),
            ("Invalid", MODE),
            ("Invalid", "spec.scheduling.resourceClaims[0].name"),
            ("Invalid", "spec.scheduling.resourceClaims[0]"),
            ("Forbidden", POLICY),
        ],
    ),
}


@pytest.mark.parametrize(("root", "given", "errors"), ROWS.values(), ids=ROWS)
def test_validate_reports_these_errors(root: WorkloadItem | None, given: Any, errors: list[tuple[str, str]]) -> None:
    assert kinds_and_paths(builder(root, **given).validate()) == errors
    if errors:
        assert set(errors) <= set(kinds_and_paths(refused(root, **given))), "a build reports it too"


def test_a_build_checks_the_values_even_if_the_blocks_were_checked_elsewhere() -> None:
    assert kinds_and_paths(refused(job(**ZERO), blocks_validated=True)) == [("Invalid", f"{POLICY}.gang.minCount")]


def test_a_build_reports_each_error_once() -> None:
    assert kinds_and_paths(refused(job(**ZERO))) == [("Invalid", f"{POLICY}.gang.minCount")]


def test_a_controller_can_have_the_blocks_elsewhere_in_its_api() -> None:
    paths = BlockPaths(policy=FieldPath.of("groups", "how"), disruption_mode=FieldPath.of("evict"))
    item = WorkloadItem("job", user_config=leaf(**ZERO, disruption={}), path=AT, block_paths=paths)
    assert [path for _, path in kinds_and_paths(builder(item).validate())] == [
        "spec.scheduling.groups.how.gang.minCount",
        "spec.scheduling.evict",
    ]


BAD_CLAIM = {"name": "a"}
UPDATES: dict[str, tuple[WorkloadItem, WorkloadItem, list[tuple[str, str]]]] = {
    "B-94 the same root": (job(**GANG), job(**GANG), []),
    "B-95 another root": (job(**GANG), job("stale", **GANG), [("Internal", "spec.scheduling")]),
    "B-96 the policy is cleared": (job(), job(**GANG), []),
    "B-97 the constraints are cleared": (job(**GANG), job(**GANG, constraints={"topology": [{"key": "zone"}]}), []),
    "B-98 the disruption mode is cleared": (job(**GANG), job(**GANG, **SINGLE), []),
    "B-99 a bad child that did not change": (tree(job("a", **ZERO)), tree(job("a", **ZERO)), []),
    "a bad child that changed": (
        tree(job("a", **ZERO)),
        tree(job("a", policy={"gang": {"minCount": -1}})),
        [("Invalid", f"{POLICY}.gang.minCount")],
    ),
    "a bad child in the place of another is new": (
        tree(job("b", **ZERO)),
        tree(job("a", **ZERO)),
        [("Invalid", f"{POLICY}.gang.minCount")],
    ),
    "B-100 a bad child that moved is new": (
        tree(WorkloadItem("mid", children=[job("a", **ZERO)])),
        tree(job("a", **ZERO), WorkloadItem("mid", children=[job("b")])),
        [("Invalid", f"{POLICY}.gang.minCount")],
    ),
    "a bad claim that did not change, behind a good new one": (
        job(resourceClaims=[{"name": "b", "resourceClaimName": "x"}, BAD_CLAIM]),
        job(resourceClaims=[BAD_CLAIM]),
        [],
    ),
    "a bad claim that is new": (
        job(resourceClaims=[BAD_CLAIM]),
        job(resourceClaims=[]),
        [("Invalid", "spec.scheduling.resourceClaims[0]")],
    ),
}


@pytest.mark.parametrize(("root", "old", "errors"), UPDATES.values(), ids=UPDATES)
def test_validate_reports_these_errors_on_an_update(
    root: WorkloadItem, old: WorkloadItem, errors: list[tuple[str, str]]
) -> None:
    assert kinds_and_paths(builder(root).validate(old)) == errors


def test_a_controller_can_validate_one_field_of_its_api() -> None:
    """As the KEP's own example calls it."""
    path = FieldPath.of("policy")
    asked = leaf(**GANG).policy
    assert validate_scheduling_policy(asked, path, PolicyKind.BASIC, PolicyKind.GANG) == []
    assert kinds_and_paths(tuple(validate_scheduling_policy(asked, path, PolicyKind.BASIC))) == [
        ("Forbidden", "policy")
    ]
    assert kinds_and_paths(tuple(validate_scheduling_policy(leaf(**ZERO).policy, path, PolicyKind.GANG))) == [
        ("Invalid", "policy.gang.minCount")
    ]
    mode = leaf(**ALL).disruption_mode
    assert validate_disruption_mode(mode, path, DisruptionMode.ALL) == []
    assert kinds_and_paths(tuple(validate_disruption_mode(mode, path, DisruptionMode.SINGLE))) == [
        ("Forbidden", "policy")
    ]
    assert validate_scheduling_policy(None, path) == validate_disruption_mode(None, path) == []


def test_the_sentence_names_the_field_the_value_and_the_allowed_values() -> None:
    (error,) = builder(job(**ZERO)).validate()
    assert str(error) == "spec.scheduling.schedulingPolicy.gang.minCount: 0 must be at least 1"
    (error,) = builder(job(**BASIC), allowed_policies=[PolicyKind.GANG]).validate()
    assert str(error) == (
        'spec.scheduling.schedulingPolicy: "basic" scheduling policy is not supported by this controller, '
        "which allows: gang"
    )


def test_a_default_or_a_callback_can_be_wrong_too() -> None:
    assert kinds_and_paths(refused(WorkloadItem("job", gang(0)))) == [("Invalid", "schedulingPolicy.gang.minCount")]
    wrong = WorkloadItem("job", callbacks=[lambda _item, _config: gang(2, priority_class_name="No_Class")])
    assert kinds_and_paths(refused(wrong)) == [("Invalid", "priorityClassName")]
