"""The annotation as text: every spelling means the same, and nothing that anybody writes is more than a sentence."""

import json
import textwrap
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.job import MAX_INTENT
from muster.core.intent import Intent, read_intent
from muster.workloadbuilder import DisruptionMode, GangPolicy, SchedulingConfig, SchedulingConstraints
from muster.workloadbuilder.mapping import mapped

ZONE = "topology.kubernetes.io/zone"
BLOCK = """\
policy:
  gang: {} # MinCount is omitted: Job defaults MinCount = parallelism (4)
constraints:
  topology:
    - level: "topology.kubernetes.io/zone"
disruption:
  all: {} # DisruptionMode resolves to All (entire group must be disrupted together)
"""
WHOLE_JOB = f"""\
apiVersion: batch/v1
kind: Job
spec:
  parallelism: 4
  completions: 4
  scheduling: # New API field - scheduling intent
{textwrap.indent(BLOCK, "    ")}
  template:
    spec:
      containers:
        - name: train-node
          image: training-image:v1
"""
SHIPPED = {
    "schedulingPolicy": {"gang": {}},
    "schedulingConstraints": {"topology": [{"key": ZONE}]},
    "disruptionMode": {"all": {}},
}
SPELLINGS = {
    "the KEP's block": BLOCK,
    "the KEP's block with its field": f"scheduling:\n{textwrap.indent(BLOCK, '  ')}",
    "the KEP's example as it stands there": WHOLE_JOB,
    "the words of 1.37": json.dumps(SHIPPED, indent=2),
    "the words of 1.37 with their field": json.dumps({"scheduling": SHIPPED}),
    "a word of v1alpha2": json.dumps({**SHIPPED, "disruptionMode": "PodGroup"}),
    "a word of v1alpha2 under the KEP's name": BLOCK.replace("disruption:\n  all: {}", "disruption: PodGroup"),
    "JSON with tabs": json.dumps(SHIPPED, indent="\t"),
}
WANTED = SchedulingConfig(
    policy=GangPolicy(None), constraints=SchedulingConstraints((ZONE,)), disruption_mode=DisruptionMode.ALL
)


def config(intent: Intent) -> SchedulingConfig:
    assert intent.asked is not None, intent.errors
    return mapped(intent.asked.scheduling)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_means_the_same(spelling: str) -> None:
    assert config(read_intent(SPELLINGS[spelling])) == WANTED


@pytest.mark.parametrize("text", ["none", " None\n", "NONE"])
def test_none_opts_out(text: str) -> None:
    assert read_intent(text) == Intent(opted_out=True)


def test_a_pod_mode_of_v1alpha2_is_single() -> None:
    assert config(read_intent("disruptionMode: Pod")).disruption_mode is DisruptionMode.SINGLE


@pytest.mark.parametrize(
    ("text", "expected"),
    {
        "nothing": ("", "must be an object with the fields: "),
        "a word": ("gang", '"gang" must be an object with the fields: '),
        "another off": ("off", "false must be an object"),
        "a list": ("[1, 2]", "[1, 2] must be an object"),
        "no YAML": ("policy: {", "must be YAML or JSON: "),
        "a tab": ("policy:\n\tgang: {}", "must be YAML or JSON: "),
        "a key twice": ("policy: {gang: {}, gang: {}}", "a key is given twice"),
        "one meaning twice": (
            "policy: {gang: {}}\nschedulingPolicy: {gang: {}}",
            "is a second spelling of a field that is already set: set only one",
        ),
        "an alias": ("policy: &a {gang: {}}\nconstraints: *a", "an alias (*) is not allowed"),
        "a tag": ("policy: !!python/object:os.system {}", "must be YAML or JSON: "),
        "no policy": ("policy: {}", "policy: [] must specify exactly one of: basic, gang"),
        "two policies": ("policy: {basic: {}, gang: {}}", "must specify exactly one of: basic, gang"),
        "no count": ("policy: {gang: {minCount: 0}}", "policy.gang.minCount: 0 must be at least 1"),
        "a huge count": (f"policy: {{gang: {{minCount: {10**30}}}}}", "policy.gang.minCount: "),
        "a count of groups": (
            "policy: {gang: {minGroupCount: 2}}",
            "policy.gang.minGroupCount: 2 is an unknown field (the fields are: minCount)",
        ),
        "a word that v1alpha2 has not": ("disruptionMode: Gang", 'disruptionMode: "Gang" must be an object'),
        "two topologies": (
            "constraints: {topology: [{key: a}, {key: b}]}",
            "constraints.topology: 2 topology constraints: must have at most 1",
        ),
        "five claims": (
            json.dumps({"resourceClaims": [{"name": f"c{n}", "resourceClaimName": "x"} for n in range(5)]}),
            "resourceClaims: 5 claims: must have at most 4",
        ),
        "a field that nobody knows": ("queue: fast", 'queue: "fast" is an unknown field (the fields are: '),
        "below a whole Job": (
            "spec: {scheduling: {policy: {gang: {minCount: 0}}}}",
            "spec.scheduling.policy.gang.minCount: 0 must be at least 1",
        ),
        "too long": ("#" * (MAX_INTENT + 1), f"must have at most {MAX_INTENT} characters"),
        "too deep": ("[" * 4000, "must have at most 32 nested levels"),
        "an unpaired surrogate as a name": ('{"\\ud800": 1}', "must be valid Unicode"),
        "an unpaired surrogate in a value": ('{"policy": {"gang": {"minCount": "\\udfff"}}}', "must be valid Unicode"),
        "an unpaired surrogate in YAML": ('policy: ["\\ud800"]', "must be valid Unicode"),
        "control characters": ('"policy\\e[31m\\n": 1', "policy\\x1b[31m\\n: 1 is an unknown field"),
    }.values(),
)
def test_each_mistake_is_one_sentence_with_its_field(text: str, expected: str) -> None:
    intent = read_intent(text)
    assert intent.asked is None
    assert not intent.opted_out
    sentences = "; ".join(map(str, intent.errors))
    assert expected in sentences
    assert sentences.isprintable()


def test_all_mistakes_are_reported_at_once() -> None:
    text = "policy: {gang: {minCount: 0}}\nconstraints: {topology: [{level: '/'}]}\ndisruption: {both: {}}"
    places = {str(error.path) for error in read_intent(text).errors}
    assert {"policy.gang.minCount", "constraints.topology[0].level", "disruption.both"} <= places


FIELDS = st.sampled_from(
    [
        *("policy", "constraints", "disruption", "resourceClaims", "scheduling", "spec"),
        *("schedulingPolicy", "schedulingConstraints", "disruptionMode"),
        *(
            "gang",
            "basic",
            "minCount",
            "topology",
            "key",
            "level",
            "single",
            "all",
            "name",
            "resourceClaimName",
            "none",
        ),
    ]
)
TEXTS = st.text(st.characters(exclude_categories=()), max_size=20)
"""Also unpaired surrogates, which JSON and YAML can escape."""
leaves = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | FIELDS
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(FIELDS | TEXTS, inner),
    max_leaves=12,
)


def is_well_behaved(text: str) -> None:
    began = time.perf_counter()
    intent = read_intent.__wrapped__(text)
    assert time.perf_counter() - began < 1.0
    assert (intent.asked is not None) + intent.opted_out + bool(intent.errors) == 1
    for error in intent.errors:
        assert str(error).isprintable()
        assert len(str(error)) < 1500


@given(st.text(max_size=300))
def test_any_text_gives_an_intent_or_one_sentence(text: str) -> None:
    is_well_behaved(text)


@given(st.text(alphabet="{}[]:,&*!|>'\"%@`#-?\n\t ab0", max_size=200))
def test_any_punctuation_gives_an_intent_or_one_sentence(text: str) -> None:
    is_well_behaved(text)


@given(values)
def test_any_value_gives_an_intent_or_one_sentence(value: Any) -> None:
    is_well_behaved(json.dumps(value))


def test_a_bug_in_muster_is_an_error_of_the_intent_and_no_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    def trip(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("muster.core.intent.read_pod_group_scheduling", trip)
    (error,) = read_intent.__wrapped__("policy: {gang: {}}").errors
    assert str(error) == "cannot be read (ZeroDivisionError), which is a bug in Muster: please report it"
