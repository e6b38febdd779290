"""The groups of a Workload: the rows B-34..B-51, and what upstream leaves to the caller (leaves below a composite)."""

from collections.abc import Callable
from typing import Any

import pytest

from muster.api import v1beta1
from muster.api.v1alpha2 import podgroup, workload
from muster.workloadbuilder import (
    V1ALPHA2,
    V1ALPHA3,
    V1BETA1,
    NotBuilt,
    Target,
    UnknownTemplate,
    WorkloadBuilder,
    WorkloadItem,
    group_name,
)
from tests.unit.workloadbuilder.drawing import EVERY_TARGET, JOB, OWNER, ZONE, Object, builder, gang

LEAF = WorkloadItem("workers", gang(4))
TREE = WorkloadItem(
    "root",
    gang(2),
    children=[LEAF, WorkloadItem("mid", gang(1), children=[WorkloadItem("deep", gang(3)), WorkloadItem("other")])],
)
EVERYTHING: Object = {
    "schedulingPolicy": {"gang": {"minCount": 3}},
    "schedulingConstraints": {"topology": [{"key": ZONE}]},
    "resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": "gpu"}],
    "priorityClassName": "urgent",
    "priority": 1000,
}
OF_1_36 = EVERYTHING | {"disruptionMode": "PodGroup"}
OF_1_37 = EVERYTHING | {"disruptionMode": {"all": {}}, "preemptionPolicy": "Never"}
OVER_GROUPS: Object = {
    "schedulingPolicy": {"gang": {"minGroupCount": 2}},
    "schedulingConstraints": {"topology": [{"key": ZONE}]},
    "disruptionMode": {"all": {}},
    "priorityClassName": "urgent",
    "priority": 1000,
    "preemptionPolicy": "Never",
}
FLAT = workload.Workload.model_validate(
    {"metadata": {"name": "wl", "namespace": "team"}, "spec": {"podGroupTemplates": [{"name": "workers", **OF_1_36}]}}
)
NESTED = v1beta1.Workload.model_validate(
    {
        "metadata": {"name": "wl", "namespace": "team"},
        "spec": {
            "compositePodGroupTemplates": [
                {
                    "name": "root",
                    **OVER_GROUPS,
                    "compositePodGroupTemplates": [
                        {"name": "mid", **OVER_GROUPS, "podGroupTemplates": [{"name": "workers", **OF_1_37}]}
                    ],
                }
            ]
        },
    }
)


def made(root: WorkloadItem, target: Target[Any, Any] = V1BETA1) -> WorkloadBuilder[Any, Any]:
    ready = builder(root, target)
    ready.build_workload()
    return ready


@pytest.mark.parametrize("row", ["B-34 a PodGroup", "B-39 a CompositePodGroup", "all groups"])
def test_there_are_no_groups_before_there_is_a_workload(row: str) -> None:
    early = builder(TREE)
    make: Callable[[], object] = {
        "B-34 a PodGroup": lambda: early.new_pod_group("a", "workers"),
        "B-39 a CompositePodGroup": lambda: early.new_composite_pod_group("a", "root"),
        "all groups": early.new_groups,
    }[row]
    with pytest.raises(NotBuilt, match=r"call build_workload, or use WorkloadBuilder\.from_existing"):
        make()


def test_b_35_a_pod_group_of_v1alpha2() -> None:
    group = made(LEAF, V1ALPHA2).new_pod_group("g-1", "workers")
    assert V1ALPHA2.manifest(group) == {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "g-1", "namespace": "team", "ownerReferences": [OWNER]},
        "spec": {
            "podGroupTemplateRef": {"workload": {"workloadName": "wl", "podGroupTemplateName": "workers"}},
            "schedulingPolicy": {"gang": {"minCount": 4}},
        },
    }


@pytest.mark.parametrize("target", [V1ALPHA3, V1BETA1], ids=lambda target: target.version)
def test_b_35_a_pod_group_of_1_37(target: Any) -> None:
    group = made(LEAF, target).new_pod_group("g-1", "workers")
    assert target.manifest(group) == {
        "apiVersion": f"scheduling.k8s.io/{target.version}",
        "kind": "PodGroup",
        "metadata": {"name": "g-1", "namespace": "team", "ownerReferences": [OWNER]},
        "spec": {
            "workloadRef": {"workloadName": "wl", "templateName": "workers"},
            "schedulingPolicy": {"gang": {"minCount": 4}},
        },
    }


def test_b_40_a_composite_pod_group_is_of_v1alpha3() -> None:
    group = made(TREE).new_composite_pod_group("c-1", "root")
    assert V1BETA1.manifest(group) == {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "CompositePodGroup",
        "metadata": {"name": "c-1", "namespace": "team", "ownerReferences": [OWNER]},
        "spec": {
            "workloadRef": {"workloadName": "wl", "templateName": "root"},
            "schedulingPolicy": {"gang": {"minGroupCount": 2}},
        },
    }


def test_b_44_a_nested_composite_is_found_and_linked() -> None:
    group = made(TREE).new_composite_pod_group("c-2", "mid", parent="c-1")
    assert group.spec.workload_ref.template_name == "mid"
    assert group.spec.parent_composite_pod_group_name == "c-1"


def test_a_leaf_below_a_composite_is_found_and_linked() -> None:
    group = made(TREE).new_pod_group("g-2", "deep", parent="c-2")
    assert group.spec.scheduling_policy.gang.min_count == 3
    assert group.spec.parent_composite_pod_group_name == "c-2"


@pytest.mark.parametrize(
    ("existing", "target", "make"),
    [
        pytest.param(FLAT, V1ALPHA2, "new_pod_group", id="B-36 a PodGroup of v1alpha2"),
        pytest.param(NESTED, V1BETA1, "new_pod_group", id="B-36 a PodGroup of v1beta1"),
        pytest.param(NESTED, V1BETA1, "new_composite_pod_group", id="B-41 a CompositePodGroup"),
    ],
)
def test_without_an_owner_the_group_has_none(existing: Any, target: Any, make: str) -> None:
    template = "mid" if "composite" in make else "workers"
    group = getattr(WorkloadBuilder.from_existing(existing, target), make)("g", template)
    assert target.manifest(group)["metadata"] == {"name": "g", "namespace": "team"}


@pytest.mark.parametrize(
    ("existing", "target", "make", "template"),
    [
        pytest.param(FLAT, V1ALPHA2, "new_pod_group", "ps", id="B-37 B-48 a PodGroup of v1alpha2"),
        pytest.param(NESTED, V1BETA1, "new_pod_group", "ps", id="B-37 B-48 a PodGroup of v1beta1"),
        pytest.param(NESTED, V1BETA1, "new_composite_pod_group", "ps", id="B-42 B-48 a CompositePodGroup"),
        pytest.param(NESTED, V1BETA1, "new_pod_group", "mid", id="a PodGroup of a composite template"),
        pytest.param(
            NESTED, V1BETA1, "new_composite_pod_group", "workers", id="a CompositePodGroup of a leaf template"
        ),
        pytest.param(FLAT, V1ALPHA2, "new_composite_pod_group", "workers", id="any CompositePodGroup on v1alpha2"),
    ],
)
def test_the_error_about_an_unknown_template_names_the_existing_ones(
    existing: Any, target: Any, make: str, template: str
) -> None:
    with pytest.raises(UnknownTemplate, match=f"odGroupTemplate '{template}' not found in Workload 'wl': it has"):
        getattr(WorkloadBuilder.from_existing(existing, target), make)("g", template)


@pytest.mark.parametrize("row", ["B-38 leaves", "B-43 composites"])
def test_a_builder_gives_as_many_groups_as_are_asked_for(row: str) -> None:
    ready = made(TREE)
    make = ready.new_pod_group if row.startswith("B-38") else ready.new_composite_pod_group
    template = "workers" if row.startswith("B-38") else "mid"
    groups = [make(f"g-{number}", template) for number in range(3)]
    assert [group.metadata.name for group in groups] == ["g-0", "g-1", "g-2"]
    assert groups[0].spec == groups[1].spec == groups[2].spec


@pytest.mark.parametrize("row", ["B-45", "B-49"])
@pytest.mark.parametrize(
    ("existing", "target", "said"),
    [(FLAT, V1ALPHA2, OF_1_36), (NESTED, V1BETA1, OF_1_37)],
    ids=["v1alpha2", "v1beta1 below composites"],
)
def test_a_pod_group_copies_every_field_of_its_template(row: str, existing: Any, target: Any, said: Object) -> None:
    """Upstream forgets the preemption policy."""
    group = WorkloadBuilder.from_existing(existing, target, owner=JOB).new_pod_group("g", "workers")
    manifest = target.manifest(group)
    manifest["spec"].pop("workloadRef", None)
    manifest["spec"].pop("podGroupTemplateRef", None)
    assert manifest["spec"] == said
    assert manifest["metadata"]["ownerReferences"] == [OWNER]


@pytest.mark.parametrize("template", ["root", "mid"], ids=["B-51 at the top", "B-51 nested"])
def test_a_composite_copies_every_field_of_its_template(template: str) -> None:
    group = WorkloadBuilder.from_existing(NESTED, V1BETA1).new_composite_pod_group("c", template)
    spec = V1BETA1.manifest(group)["spec"]
    assert spec.pop("workloadRef") == {"workloadName": "wl", "templateName": template}
    assert spec == OVER_GROUPS


@pytest.mark.parametrize(
    ("template", "spec"),
    [(workload.PodGroupTemplate, podgroup.PodGroupSpec), (v1beta1.PodGroupTemplate, v1beta1.PodGroupSpec)],
    ids=["B-49 v1alpha2", "B-49 v1beta1"],
)
def test_a_field_that_a_template_gains_is_copied_too(template: Any, spec: Any) -> None:
    assert template.model_fields.keys() - {"name"} <= spec.model_fields.keys()
    said = OF_1_36 if template is workload.PodGroupTemplate else OF_1_37
    assert len(said) == len(template.model_fields) - 1, "the tests of copying have to know the new field"


@pytest.mark.parametrize("row", ["B-50 a PodGroup", "B-51 a CompositePodGroup"])
def test_nothing_mutable_is_shared(row: str) -> None:
    """All models are frozen: a change of the group is another object."""
    ready = WorkloadBuilder.from_existing(NESTED, V1BETA1)
    group: Any = ready.new_pod_group("g", "workers") if "B-50" in row else ready.new_composite_pod_group("g", "mid")
    with pytest.raises(ValueError, match="frozen"):
        group.spec.priority = 5
    with pytest.raises(ValueError, match="frozen"):
        group.spec.scheduling_policy.gang = None


def test_b_46_b_47_a_builder_of_an_existing_workload_neither_builds_nor_validates() -> None:
    existing = WorkloadBuilder.from_existing(FLAT, V1ALPHA2)
    with pytest.raises(NotBuilt, match="made from an existing Workload"):
        existing.build_workload()
    (error,) = existing.validate()
    assert error.kind == "Internal"


def test_all_groups_at_once_are_linked_and_come_parents_first() -> None:
    groups = made(TREE).new_groups()
    links = [(g.metadata.name, g.spec.parent_composite_pod_group_name) for g in groups.composite_pod_groups]
    assert links == [("wl-root", None), ("wl-mid", "wl-root")]
    leaves = [(g.metadata.name, g.spec.parent_composite_pod_group_name) for g in groups.pod_groups]
    assert leaves == [("wl-workers", "wl-root"), ("wl-deep", "wl-mid"), ("wl-other", "wl-mid")]


def test_all_groups_by_the_names_of_the_controller() -> None:
    groups = made(TREE).new_groups(lambda template: f"mine-{template}")
    assert [g.spec.parent_composite_pod_group_name for g in groups.pod_groups] == ["mine-root", "mine-mid", "mine-mid"]


@pytest.mark.parametrize("target", EVERY_TARGET.values(), ids=EVERY_TARGET)
def test_a_single_leaf_gives_one_pod_group_and_no_composite(target: Any) -> None:
    groups = made(LEAF, target).new_groups()
    assert [group.metadata.name for group in groups.pod_groups] == ["wl-workers"]
    assert groups.composite_pod_groups == ()


def test_v1alpha2_has_no_parents() -> None:
    with pytest.raises(UnknownTemplate, match="no groups of groups"):
        made(LEAF, V1ALPHA2).new_pod_group("g", "workers", parent="c-1")


def test_the_api_can_be_in_another_group() -> None:
    target = V1ALPHA2.in_group("scheduling.muster.dev")
    assert target.manifest(made(LEAF, target).build_workload())["apiVersion"] == "scheduling.muster.dev/v1alpha2"


def test_the_name_of_a_group_fits() -> None:
    assert group_name("wl", "workers") == "wl-workers"
    long = [group_name("w" * 253, "t" * 63), group_name("w" * 252, "t" * 63)]
    assert len(set(long)) == 2
    assert {len(name) for name in long} == {253}
