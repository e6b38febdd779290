"""A tree to a Workload: the rows B-01..B-33 of the in-tree library's own tests, on both shapes of the API."""

from dataclasses import replace
from typing import Any

import pytest

from muster.workloadbuilder import (
    V1ALPHA2,
    V1ALPHA3,
    V1BETA1,
    BasicPolicy,
    DisruptionMode,
    GangPolicy,
    ResourceClaim,
    SchedulingConfig,
    WorkloadItem,
    default_min_count,
)
from tests.unit.workloadbuilder.drawing import (
    EVERY_TARGET,
    JOB,
    OWNER,
    ZONE,
    Object,
    builder,
    built,
    composite,
    gang,
    kinds_and_paths,
    leaf,
    refused,
)

BASIC = SchedulingConfig(policy=BasicPolicy())
CLAIM = {"name": "gpus", "resourceClaimTemplateName": "gpu"}
TOPOLOGY = {"topology": [{"key": ZONE}]}


def times_three(_item: WorkloadItem, config: SchedulingConfig) -> SchedulingConfig:
    assert isinstance(config.policy, GangPolicy)
    assert config.policy.min_count is not None
    return replace(config, policy=GangPolicy(config.policy.min_count * 3))


LEAVES = {
    "B-01 the default is Basic": (WorkloadItem("job", BASIC), {"schedulingPolicy": {"basic": {}}}),
    "B-02 a gang of 4 by default": (WorkloadItem("job", gang(4)), {"schedulingPolicy": {"gang": {"minCount": 4}}}),
    "B-03 a callback fills minCount": (
        WorkloadItem("job", gang(), callbacks=[default_min_count(8)]),
        {"schedulingPolicy": {"gang": {"minCount": 8}}},
    ),
    "a callback leaves a minCount that is set": (
        WorkloadItem("job", BASIC, leaf(policy={"gang": {"minCount": 5}}), [default_min_count(8)]),
        {"schedulingPolicy": {"gang": {"minCount": 5}}},
    ),
    "B-04 the user's gang overrides the default Basic": (
        WorkloadItem("job", BASIC, leaf(schedulingPolicy={"gang": {"minCount": 3}})),
        {"schedulingPolicy": {"gang": {"minCount": 3}}},
    ),
    "the user's Basic overrides the default gang": (
        WorkloadItem("job", gang(4), leaf(policy={"basic": {}})),
        {"schedulingPolicy": {"basic": {}}},
    ),
    "B-05 block by block: what the user left out stays": (
        WorkloadItem(
            "job", gang(4, disruption_mode=DisruptionMode.SINGLE), leaf(constraints={"topology": [{"level": ZONE}]})
        ),
        {
            "schedulingPolicy": {"gang": {"minCount": 4}},
            "schedulingConstraints": TOPOLOGY,
            "disruptionMode": {"single": {}},
        },
    ),
    "B-06 topology": (
        WorkloadItem("job", user_config=leaf(schedulingConstraints=TOPOLOGY)),
        {"schedulingPolicy": {"basic": {}}, "schedulingConstraints": TOPOLOGY},
    ),
    "B-07 all are disrupted together": (
        WorkloadItem("job", gang(2), leaf(disruptionMode={"all": {}})),
        {"schedulingPolicy": {"gang": {"minCount": 2}}, "disruptionMode": {"all": {}}},
    ),
    "B-08 a claim": (
        WorkloadItem("job", BASIC, leaf(resourceClaims=[CLAIM])),
        {"schedulingPolicy": {"basic": {}}, "resourceClaims": [CLAIM]},
    ),
    "the user's claims replace the default's": (
        WorkloadItem("job", SchedulingConfig(resource_claims=(ResourceClaim("a", "x"),)), leaf(resourceClaims=[CLAIM])),
        {"schedulingPolicy": {"basic": {}}, "resourceClaims": [CLAIM]},
    ),
    "B-09 the class comes from the default": (
        WorkloadItem("job", replace(BASIC, priority_class_name="urgent")),
        {"schedulingPolicy": {"basic": {}}, "priorityClassName": "urgent"},
    ),
    "and so does the priority, be it 0": (
        WorkloadItem("job", replace(BASIC, priority=0)),
        {"schedulingPolicy": {"basic": {}}, "priority": 0},
    ),
    "B-12 nothing at all is Basic": (WorkloadItem("job"), {"schedulingPolicy": {"basic": {}}}),
    "B-13 callbacks run in order": (
        WorkloadItem("job", gang(), callbacks=[default_min_count(4), times_three]),
        {"schedulingPolicy": {"gang": {"minCount": 12}}},
    ),
    "the user's intent as a mapping helper gave it": (
        WorkloadItem("job", BASIC, gang(7)),
        {"schedulingPolicy": {"gang": {"minCount": 7}}},
    ),
}
OF_V1ALPHA2 = {"{'single': {}}": "Pod", "{'all': {}}": "PodGroup"}


@pytest.mark.parametrize("target", EVERY_TARGET.values(), ids=EVERY_TARGET)
@pytest.mark.parametrize(("item", "template"), LEAVES.values(), ids=LEAVES)
def test_an_item_without_children_is_one_template(item: WorkloadItem, template: Object, target: Any) -> None:
    expected = dict(template)
    if target is V1ALPHA2 and "disruptionMode" in template:
        expected["disruptionMode"] = OF_V1ALPHA2[str(template["disruptionMode"])]
    spec = built(item, target)["spec"]
    assert spec.pop("controllerRef") == {"apiGroup": "batch", "kind": "Job", "name": "train"}
    assert spec == {"podGroupTemplates": [{"name": "job", **expected}]}


@pytest.mark.parametrize("target", EVERY_TARGET.values(), ids=EVERY_TARGET)
@pytest.mark.parametrize("row", ["B-10", "B-31"])
def test_the_workload_is_named_and_owned_as_the_options_say(row: str, target: Any) -> None:
    manifest = built(WorkloadItem("job"), target)
    assert manifest["apiVersion"] == f"scheduling.k8s.io/{target.version}"
    assert manifest["metadata"] == {"name": "wl", "namespace": "team", "ownerReferences": [OWNER]}
    assert manifest["spec"]["controllerRef"] == {"apiGroup": "batch", "kind": "Job", "name": "train"}


def test_labels_are_those_of_the_options() -> None:
    workload = builder(WorkloadItem("job"), labels={"app.kubernetes.io/managed-by": "me"}).build_workload()
    assert workload.metadata.labels == {"app.kubernetes.io/managed-by": "me"}


def test_an_owner_of_the_core_group_has_an_empty_group() -> None:
    owner = JOB.model_copy(update={"api_version": "v1", "kind": "ReplicationController"})
    workload = builder(WorkloadItem("job"), owner=owner).build_workload()
    assert workload.spec.controller_ref.api_group == ""


COMPOSITES: dict[str, tuple[WorkloadItem, Object]] = {
    "B-16 a gang of 2 groups, and no templates at the top": (
        WorkloadItem("root", gang(2), children=[WorkloadItem("workers", gang(4)), WorkloadItem("ps", BASIC)]),
        {
            "name": "root",
            "schedulingPolicy": {"gang": {"minGroupCount": 2}},
            "podGroupTemplates": [
                {"name": "workers", "schedulingPolicy": {"gang": {"minCount": 4}}},
                {"name": "ps", "schedulingPolicy": {"basic": {}}},
            ],
        },
    ),
    "B-17 minGroupCount is the user's": (
        WorkloadItem(
            "root", BASIC, composite(schedulingPolicy={"gang": {"minGroupCount": 3}}), children=[WorkloadItem("a")]
        ),
        {
            "name": "root",
            "schedulingPolicy": {"gang": {"minGroupCount": 3}},
            "podGroupTemplates": [{"name": "a", "schedulingPolicy": {"basic": {}}}],
        },
    ),
    "B-18 topology and all, over groups": (
        WorkloadItem(
            "root", gang(1), composite(constraints=TOPOLOGY, disruption={"all": {}}), children=[WorkloadItem("a")]
        ),
        {
            "name": "root",
            "schedulingPolicy": {"gang": {"minGroupCount": 1}},
            "schedulingConstraints": TOPOLOGY,
            "disruptionMode": {"all": {}},
            "podGroupTemplates": [{"name": "a", "schedulingPolicy": {"basic": {}}}],
        },
    ),
    "B-19 a composite is Basic by default": (
        WorkloadItem("root", children=[WorkloadItem("a")]),
        {
            "name": "root",
            "schedulingPolicy": {"basic": {}},
            "podGroupTemplates": [{"name": "a", "schedulingPolicy": {"basic": {}}}],
        },
    ),
    "B-20 composites in composites, two lists, each in order": (
        WorkloadItem(
            "root",
            children=[WorkloadItem("a"), WorkloadItem("mid", gang(1), children=[WorkloadItem("b")]), WorkloadItem("c")],
        ),
        {
            "name": "root",
            "schedulingPolicy": {"basic": {}},
            "podGroupTemplates": [
                {"name": "a", "schedulingPolicy": {"basic": {}}},
                {"name": "c", "schedulingPolicy": {"basic": {}}},
            ],
            "compositePodGroupTemplates": [
                {
                    "name": "mid",
                    "schedulingPolicy": {"gang": {"minGroupCount": 1}},
                    "podGroupTemplates": [{"name": "b", "schedulingPolicy": {"basic": {}}}],
                }
            ],
        },
    ),
}


@pytest.mark.parametrize("target", [V1ALPHA3, V1BETA1], ids=lambda target: target.version)
@pytest.mark.parametrize(("item", "template"), COMPOSITES.values(), ids=COMPOSITES)
def test_an_item_with_children_is_one_composite(item: WorkloadItem, template: Object, target: Any) -> None:
    spec = built(item, target)["spec"]
    del spec["controllerRef"]
    assert spec == {"compositePodGroupTemplates": [template]}


def not_to_be_called(_item: WorkloadItem, config: SchedulingConfig) -> SchedulingConfig:
    raise AssertionError("a callback ran on a tree that is none")


NOT_AN_ITEM: Any = None
REFUSED: dict[str, tuple[WorkloadItem | None, list[tuple[str, str]]]] = {
    "B-11 no name, and no callback runs": (WorkloadItem("", callbacks=[not_to_be_called]), [("Internal", "")]),
    "B-15 a gang without minCount": (WorkloadItem("job", gang()), [("Required", "schedulingPolicy.gang.minCount")]),
    "B-21 a gang of groups without minGroupCount": (
        WorkloadItem("root", gang(), children=[WorkloadItem("a")]),
        [("Required", "schedulingPolicy.gang.minGroupCount")],
    ),
    "B-22 blocks of a leaf on a composite": (
        WorkloadItem("root", user_config=leaf(), children=[WorkloadItem("a")]),
        [("Internal", "")],
    ),
    "blocks of a composite on a leaf": (WorkloadItem("root", user_config=composite()), [("Internal", "")]),
    "B-23 a child that is nothing": (WorkloadItem("root", children=[NOT_AN_ITEM]), [("Internal", "")]),
    "B-24 a child without a name": (WorkloadItem("root", children=[WorkloadItem("")]), [("Internal", "")]),
    "B-25 a name that is there twice, on other levels too": (
        WorkloadItem("root", children=[WorkloadItem("a"), WorkloadItem("b", children=[WorkloadItem("root")])]),
        [("Duplicate", "")],
    ),
    "B-26 no root": (None, [("Invalid", "")]),
    "claims of a composite, which upstream drops": (
        WorkloadItem(
            "root", SchedulingConfig(resource_claims=(ResourceClaim("a", "x"),)), children=[WorkloadItem("a")]
        ),
        [("Forbidden", "resourceClaims")],
    ),
}


@pytest.mark.parametrize(("root", "errors"), REFUSED.values(), ids=REFUSED)
def test_an_invalid_tree_or_configuration_is_refused(root: WorkloadItem | None, errors: list[tuple[str, str]]) -> None:
    assert kinds_and_paths(refused(root)) == errors


@pytest.mark.parametrize(
    ("given", "path"),
    [
        pytest.param({"owner": None}, "metadata.ownerReferences", id="B-27 no owner"),
        pytest.param(
            {"owner": JOB.model_copy(update={"api_version": "batch/v1/extra"})},
            "metadata.ownerReferences[0].apiVersion",
            id="B-28 an owner of no API version",
        ),
        pytest.param(
            {"owner": JOB.model_copy(update={"name": "a/b"})}, "metadata.ownerReferences[0].name", id="an owner's name"
        ),
        pytest.param({"name": "No_Name"}, "metadata.name", id="a name that no object can have"),
        pytest.param({"name": ""}, "metadata.name", id="no name"),
        pytest.param({"namespace": "a.b"}, "metadata.namespace", id="a namespace that cannot be"),
    ],
)
def test_invalid_options_are_refused(given: Any, path: str) -> None:
    assert [str(error.path) for error in refused(WorkloadItem("job"), **given)] == [path]
