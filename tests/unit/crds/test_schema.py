"""The CRDs that are made from the models."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.api.profile import NATIVE
from muster.crds.definitions import GROUPS, KINDS, POD_GROUPS, WORKLOADS, Kind, definition
from muster.crds.schema import structural

ROOT = Path(__file__).parents[3]
EVERY_KIND = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.plural)
IMMUTABLE_POD_GROUP_FIELDS = {
    ".schedulingConstraints",
    ".resourceClaims",
    ".disruptionMode",
    ".priorityClassName",
    ".priority",
    ".podGroupTemplateRef",
}
"""Of the spec itself. The policy is always there; what is in it has rules of its own."""

Schema = dict[str, Any]


def nodes(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    yield path, schema
    for name, field in schema.get("properties", {}).items():
        yield from nodes(field, f"{path}.{name}")
    if "items" in schema:
        yield from nodes(schema["items"], f"{path}[]")


def at(kind: Kind, path: str) -> Schema:
    return dict(nodes(structural(kind.model)))[path]


@EVERY_KIND
def test_every_node_is_structural(kind: Kind) -> None:
    for path, schema in nodes(structural(kind.model)):
        assert schema["type"] in {"object", "array", "string", "integer"}, path
        assert not schema.keys() & {"$ref", "$defs", "anyOf", "title", "nullable"}, path
        assert not any(key.startswith("x-muster") for key in schema), path


@EVERY_KIND
def test_every_field_has_a_description(kind: Kind) -> None:
    assert [path for path, schema in nodes(structural(kind.model)) if not schema.get("description")] == [".metadata"]


@EVERY_KIND
def test_every_list_says_how_it_is_merged(kind: Kind) -> None:
    for path, schema in nodes(structural(kind.model)):
        if schema["type"] == "array":
            keys = schema.get("x-kubernetes-list-map-keys")
            assert schema["x-kubernetes-list-type"] == ("map" if keys else "atomic"), path
            assert set(keys or ()) <= set(schema["items"].get("required", ())), path


@EVERY_KIND
def test_the_groups_differ_in_their_name_only(kind: Kind) -> None:
    built_in, own = (definition(kind, group) for group in GROUPS)
    assert "api-approved.kubernetes.io" in built_in["metadata"].pop("annotations")
    renamed = yaml.safe_load(yaml.safe_dump(own).replace("scheduling.muster.dev", "scheduling.k8s.io"))
    assert renamed == built_in


@EVERY_KIND
@pytest.mark.parametrize("group", GROUPS)
def test_the_files_are_fresh(kind: Kind, group: str) -> None:
    assert yaml.safe_load((ROOT / f"crds/{group}_{kind.plural}.yaml").read_text()) == definition(kind, group)


def test_numbers_have_formats_and_limits() -> None:
    count = at(POD_GROUPS, ".spec.schedulingPolicy.gang.minCount")
    assert (count["format"], count["minimum"], count["maximum"]) == ("int32", 1, 2**31 - 1)
    priority = at(WORKLOADS, ".spec.podGroupTemplates[].priority")
    assert (priority["format"], priority["minimum"], priority["maximum"]) == ("int32", -(2**31), 10**9)


def test_lists_have_limits() -> None:
    templates = at(WORKLOADS, ".spec.podGroupTemplates")
    assert (templates["minItems"], templates["maxItems"]) == (1, 8)
    assert at(POD_GROUPS, ".spec.resourceClaims")["maxItems"] == 4
    assert at(POD_GROUPS, ".spec.schedulingConstraints.topology")["maxItems"] == 1


def test_only_a_pod_group_gets_a_default() -> None:
    assert at(POD_GROUPS, ".spec.disruptionMode")["default"] == "Pod"
    defaults = [path for kind in KINDS for path, schema in nodes(structural(kind.model)) if "default" in schema]
    assert defaults == [".spec.disruptionMode"]


def test_a_policy_is_exactly_one_of_two() -> None:
    (union, *_) = at(POD_GROUPS, ".spec.schedulingPolicy")["x-kubernetes-validations"]
    assert union == {
        "rule": "[has(self.basic), has(self.gang)].exists_one(given, given)",
        "message": "must specify exactly one of: basic, gang",
    }


def test_every_field_of_a_spec_is_immutable() -> None:
    rules = at(POD_GROUPS, ".spec")["x-kubernetes-validations"]
    assert {rule["fieldPath"] for rule in rules} == IMMUTABLE_POD_GROUP_FIELDS
    (count,) = at(WORKLOADS, ".spec.podGroupTemplates[].schedulingPolicy.gang")["x-kubernetes-validations"]
    assert count["rule"] == "self.minCount == oldSelf.minCount"


def test_an_empty_value_equals_an_unset_one_and_order_counts() -> None:
    rules = {rule["fieldPath"]: rule["rule"] for rule in at(POD_GROUPS, ".spec")["x-kubernetes-validations"]}
    assert rules[".priorityClassName"] == (
        "(has(self.priorityClassName) ? self.priorityClassName : '') == "
        "(has(oldSelf.priorityClassName) ? oldSelf.priorityClassName : '')"
    )
    assert "self.resourceClaims.map(item, item.name)" in rules[".resourceClaims"]


def test_the_status_may_change() -> None:
    below = [schema for path, schema in nodes(structural(POD_GROUPS.model)) if path.startswith(".status")]
    assert not any("oldSelf" in str(schema.get("x-kubernetes-validations")) for schema in below)


def test_only_a_pod_group_has_a_status() -> None:
    versions = {kind.plural: definition(kind, GROUPS[0])["spec"]["versions"][0] for kind in KINDS}
    assert versions["podgroups"]["subresources"] == {"status": {}}
    assert "subresources" not in versions["workloads"]
    assert "status" not in versions["workloads"]["schema"]["openAPIV3Schema"]["properties"]


def test_reading_does_not_check_what_the_server_checks() -> None:
    """A newer server may allow more than we know."""
    spec = {
        "schedulingPolicy": {"gang": {"minCount": 3}, "basic": {}},
        "priorityClassName": "Not/A/Name",
        "priority": 2**40,
        "resourceClaims": [{"name": "_", "later": True} for _ in range(9)],
        "schedulingConstraints": None,
    }
    conditions = [{"type": "x/y/z", "status": "Maybe"}]
    group = NATIVE.read_pod_group({"metadata": {"name": "g"}, "spec": spec, "status": {"conditions": conditions}})
    assert group.spec.priority == 2**40
    template = {**spec, "name": "t" * 99, "schedulingConstraints": {"topology": [{"key": ""}, {"key": "%"}]}}
    work = NATIVE.read_workload({"metadata": {}, "spec": {"podGroupTemplates": [template] * 9}})
    assert len(work.spec.pod_group_templates) == 9


def test_unset_fields_are_not_written() -> None:
    spec = {"schedulingPolicy": {"gang": {"minCount": 3}}}
    group = NATIVE.read_pod_group({"metadata": {"name": "g"}, "spec": spec})
    assert NATIVE.manifest(group)["spec"] == spec
