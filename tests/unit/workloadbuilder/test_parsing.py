"""What users write: the KEP's own examples as they are, every spelling, and no traceback for anything else."""

import contextlib
import json
import re
import textwrap
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.workloadbuilder import (
    V1ALPHA2,
    BasicPolicy,
    FieldPath,
    InvalidConfiguration,
    PolicyKind,
    SchedulingConfig,
    WorkloadItem,
    default_min_count,
    parse_composite_scheduling,
    parse_pod_group_scheduling,
    read_composite_scheduling,
    read_pod_group_scheduling,
)
from tests.unit.workloadbuilder.drawing import Object, builder, composite, kinds_and_paths, leaf, refused

EXAMPLE_1 = """\
  scheduling: # New API field - scheduling intent
    policy:
      gang: {} # MinCount is omitted: Job defaults MinCount = parallelism (4)
    constraints:
      topology:
        - level: "topology.kubernetes.io/zone"
    disruption:
      all: {} # DisruptionMode resolves to All (entire group must be disrupted together)
"""
OPTION_A_LEAF = """\
          scheduling: # Leaf-level policy declared inside the nested Job template
            constraints:
              topology:
                - level: "topology.kubernetes.io/rack" # Co-locate workers on same rack
"""
OPTION_A_ROOT = """\
  scheduling: # Global policy: applies to the entire JobSet
    policy:
      basic: {} # ESCAPE HATCH: Disable global "gang of gangs" so components start independently
"""
ZONE, RACK = "topology.kubernetes.io/zone", "topology.kubernetes.io/rack"
FULL: Object = {
    "schedulingPolicy": {"gang": {"minCount": 4}},
    "schedulingConstraints": {"topology": [{"key": ZONE}]},
    "disruptionMode": {"all": {}},
    "resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": "gpu"}],
}
OF_THE_KEP: Object = {
    "policy": {"gang": {"minCount": 4}},
    "constraints": {"topology": [{"level": ZONE}]},
    "disruption": {"all": {}},
    "resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": "gpu"}],
}
READ: dict[str, tuple[str, Object]] = {
    "the KEP's example 1, pasted with its field": (
        EXAMPLE_1,
        {"policy": {"gang": {}}, "constraints": {"topology": [{"key": ZONE}]}, "disruptionMode": {"all": {}}},
    ),
    "the same without its field": (
        textwrap.dedent(EXAMPLE_1.partition("\n")[2]),
        {"policy": {"gang": {}}, "constraints": {"topology": [{"key": ZONE}]}, "disruptionMode": {"all": {}}},
    ),
    "the KEP's JobSet, a leaf of option A": (OPTION_A_LEAF, {"constraints": {"topology": [{"key": RACK}]}}),
    "the spellings of 1.37 as JSON": (json.dumps(FULL), FULL),
    "JSON with tabs": (json.dumps(FULL, indent="\t"), FULL),
    "YAML between braces": ("{policy: {gang: {minCount: 2}}}", {"policy": {"gang": {"minCount": 2}}}),
    "the spellings of the KEP's text": (json.dumps(OF_THE_KEP), FULL),
    "disruptionMode, as the KEP's Go types": ("disruptionMode: {single: {}}", {"disruptionMode": {"single": {}}}),
    "an empty object": ("{}", {}),
    "null is unset": ("policy: null\nconstraints: {topology: []}", {"constraints": {}}),
}


@pytest.mark.parametrize(("text", "blocks"), READ.values(), ids=READ)
def test_a_leaf_is_read(text: str, blocks: Object) -> None:
    assert parse_pod_group_scheduling(text).scheduling == leaf(**blocks)


def test_a_composite_is_read() -> None:
    assert parse_composite_scheduling(OPTION_A_ROOT).scheduling == composite(policy={"basic": {}})
    over = {"policy": {"gang": {"minGroupCount": 2}}, "constraints": {"topology": [{"level": ZONE}]}}
    assert read_composite_scheduling(over).scheduling == composite(**over)


@pytest.mark.parametrize("written", [FULL, OF_THE_KEP], ids=["1.37", "the KEP"])
def test_blocks_are_written_as_1_37_spells_them(written: Object) -> None:
    blocks = read_pod_group_scheduling(written).scheduling
    assert blocks.model_dump(mode="json", by_alias=True, exclude_none=True) == FULL


ANY = FieldPath.of("metadata", "annotations", "muster.dev/scheduling")
WRONG: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "minCount 0, in the user's spelling": ("policy: {gang: {minCount: 0}}", [("Invalid", "policy.gang.minCount")]),
    "minCount 0, in that of 1.37": (
        "schedulingPolicy: {gang: {minCount: 0}}",
        [("Invalid", "schedulingPolicy.gang.minCount")],
    ),
    "a level that is no label": (
        "constraints: {topology: [{level: 'a b'}]}",
        [("Invalid", "constraints.topology[0].level")],
    ),
    "no key": ("constraints: {topology: [{}]}", [("Required", "constraints.topology[0].key")]),
    "an empty level": ("constraints: {topology: [{level: ''}]}", [("Required", "constraints.topology[0].level")]),
    "two levels": ("constraints: {topology: [{level: a}, {level: b}]}", [("TooMany", "constraints.topology")]),
    "a number as text": ("policy: {gang: {minCount: '4'}}", [("TypeInvalid", "policy.gang.minCount")]),
    "a number with a point": ("policy: {gang: {minCount: 4.0}}", [("TypeInvalid", "policy.gang.minCount")]),
    "yes is no number": ("policy: {gang: {minCount: yes}}", [("TypeInvalid", "policy.gang.minCount")]),
    "a number that is too big": (f"policy: {{gang: {{minCount: {2**64}}}}}", [("Invalid", "policy.gang.minCount")]),
    "text where an object belongs": ("policy: gang", [("TypeInvalid", "policy")]),
    "an object where a list belongs": ("resourceClaims: {a: b}", [("TypeInvalid", "resourceClaims")]),
    "a policy that nobody knows": ("policy: {basic: {}, elastic: {}}", [("Forbidden", "policy.elastic")]),
    "a spelling of ours": ("policy: {gang: {min_count: 4}}", [("Forbidden", "policy.gang.min_count")]),
    "neither basic nor gang": ("policy: {}", [("Invalid", "policy")]),
    "gang without braces is null, so neither": ("policy:\n  gang:\n", [("Invalid", "policy")]),
    "both spellings at once": ("policy: {basic: {}}\nschedulingPolicy: {basic: {}}", [("Duplicate", "policy")]),
    "both spellings of a key": (
        "constraints: {topology: [{key: a, level: b}]}",
        [("Duplicate", "constraints.topology[0].level")],
    ),
    "two claims of one name": (
        "resourceClaims: [{name: a, resourceClaimName: x}, {name: a, resourceClaimName: x}]",
        [("Duplicate", "resourceClaims[1]")],
    ),
    "what is wrong inside scheduling": ("scheduling: {policy: {}}", [("Invalid", "scheduling.policy")]),
    "everything at once": (
        "policy: {gang: {minCount: 0, x: 1}}\ndisruption: []\nconstraints: {topology: [{level: '/'}]}\nfoo: 1",
        [
            ("Forbidden", "policy.gang.x"),
            ("TypeInvalid", "disruption"),
            ("Forbidden", "foo"),
            ("Invalid", "policy.gang.minCount"),
            ("Invalid", "constraints.topology[0].level"),
        ],
    ),
    "a key that is no text": ("1: 2", [("TypeInvalid", "[1]")]),
    "nothing": ("", [("Required", "")]),
    "only a comment": ("# later", [("Required", "")]),
    "a word": ("gang", [("TypeInvalid", "")]),
    "a list": ("- policy", [("TypeInvalid", "")]),
    "neither YAML nor JSON": ("policy: {", [("Invalid", "")]),
    "an alias": ("a: &a {}\npolicy: *a", [("Invalid", "")]),
    "a tag of Python": ("policy: !!python/object:os.system {}", [("Invalid", "")]),
    "a date that does not exist": ("policy: 2001-99-99", [("Invalid", "")]),
    "a key twice in YAML": ("policy: {basic: {}}\npolicy: {gang: {}}", [("Invalid", "")]),
    "a key twice in JSON": ('{"policy": {}, "policy": {}}', [("Invalid", "")]),
    "nested without end": ("[" * 8_000, [("Invalid", "")]),
    "nested without end in JSON": ('{"a":' * 1_000, [("Invalid", "")]),
    "nested without end, and without brackets": ("- " * 4_000, [("Invalid", "")]),
    "a number without end": (f'{{"a": {"9" * 5_000}}}', [("Invalid", "")]),
    "too long": ("a: " + "x" * 20_000, [("Invalid", "")]),
    "two documents": ("policy: {}\n---\npolicy: {}", [("Invalid", "")]),
    "a control character": ("policy: \x00", [("Invalid", "")]),
}


def wrong(text: str, path: FieldPath = FieldPath()) -> InvalidConfiguration:  # noqa: B008
    with pytest.raises(InvalidConfiguration) as caught:
        parse_pod_group_scheduling(text, path)
    return caught.value


@pytest.mark.parametrize(("text", "errors"), WRONG.values(), ids=WRONG)
def test_each_mistake_is_reported_by_field(text: str, errors: list[tuple[str, str]]) -> None:
    assert kinds_and_paths(wrong(text).errors) == errors
    prefixed = [str(error.path) for error in wrong(text, ANY).errors]
    assert all(path.startswith("metadata.annotations.muster.dev/scheduling") for path in prefixed)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("policy: {gang: {minCount: 0}}", "policy.gang.minCount: 0 must be at least 1"),
        ("policy: {gang: {minCount: '4'}}", 'policy.gang.minCount: "4" must be an integer'),
        (
            "policy: {elastic: {}, gang: {}}",
            "policy.elastic: {} is an unknown field (the fields are: basic, gang)",
        ),
        ("policy: {basic: {}, gang: {}}", 'policy: ["basic", "gang"] must specify exactly one of: basic, gang'),
        ("policy: [", "must be YAML or JSON: expected the node content, but found '<stream end>', line 1, column 10"),
        ("a: b: c", "must be YAML or JSON: mapping values are not allowed here, line 1, column 5"),
    ],
)
def test_each_mistake_has_its_sentence(text: str, sentence: str) -> None:
    assert str(wrong(text)) == sentence


def test_the_sentence_about_any_input_is_short_and_printable() -> None:
    sentence = str(wrong('{"policy": {"' + "x\\n" * 2_000 + '": "' + "\\u0007" * 1_000 + '"}}'))
    assert len(sentence) < 700
    assert not re.search(r"[\x00-\x1f]", sentence)


def test_errors_of_a_build_name_the_fields_as_the_user_wrote_them() -> None:
    asked = parse_pod_group_scheduling(EXAMPLE_1, FieldPath.of("spec"))
    item = WorkloadItem("job", user_config=asked.scheduling, path=asked.path, block_paths=asked.block_paths)
    assert kinds_and_paths(refused(item, allowed_policies=[PolicyKind.BASIC])) == [
        ("Forbidden", "spec.scheduling.policy"),
        ("Required", "spec.scheduling.policy.gang.minCount"),
    ]


def test_example_1_of_the_kep_becomes_a_workload() -> None:
    asked = parse_pod_group_scheduling(EXAMPLE_1)
    job = WorkloadItem("job-root", SchedulingConfig(BasicPolicy()), asked.scheduling, [default_min_count(4)])
    workload = builder(job, V1ALPHA2).build_workload()
    assert V1ALPHA2.manifest(workload)["spec"]["podGroupTemplates"] == [
        {
            "name": "job-root",
            "schedulingPolicy": {"gang": {"minCount": 4}},
            "schedulingConstraints": {"topology": [{"key": ZONE}]},
            "disruptionMode": "PodGroup",
        }
    ]


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12) | st.dates()
names = st.sampled_from(
    [*FULL, *OF_THE_KEP, "scheduling", "gang", "basic", "minCount", "topology", "key", "level", "name"]
)
anything: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names | scalars, inner, max_size=4)
)


@settings(max_examples=200, deadline=None)
@given(anything)
def test_any_value_gives_blocks_or_an_error(raw: object) -> None:
    for read in (read_pod_group_scheduling, read_composite_scheduling):
        with contextlib.suppress(InvalidConfiguration):
            assert read(raw).scheduling is not None


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60) | st.text("{}[]:,&*!|>-? \n\t\"'#%@`0.e<=~", max_size=40))
def test_any_text_gives_blocks_or_an_error(text: str) -> None:
    with contextlib.suppress(InvalidConfiguration):
        assert parse_pod_group_scheduling(text).scheduling is not None
