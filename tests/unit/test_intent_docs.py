"""docs/intent.md: its examples are read as the page says, and so are those in examples/."""

import json
import re
from pathlib import Path

import pytest
import yaml

from muster.api.job import JobView
from muster.api.profile import NATIVE
from muster.core.desired import desired_workload
from muster.core.eligibility import skip_reason
from muster.core.intent import read_intent
from muster.core.intent_warnings import intent_warnings
from muster.core.policy import Policy
from tests.builders import a_gang

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/intent.md").read_text()
(EXAMPLE,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
(AS_JSON,) = re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
PARTS = re.findall(r"^\| `(\w+: [^`]+)` \|", PAGE, re.MULTILINE)
RACK = {"topology": [{"key": "topology.kubernetes.io/rack"}]}


def template(job: JobView) -> dict[str, object]:
    assert skip_reason(job, Policy()) is None
    assert list(intent_warnings(job, None, Policy())) == []
    (made,) = NATIVE.manifest(desired_workload(job, "w"))["spec"]["podGroupTemplates"]
    return {key: value for key, value in made.items() if key != "name"}


def test_the_job_of_the_page() -> None:
    raw = yaml.safe_load(EXAMPLE)
    raw["spec"].pop("template")
    raw["metadata"] |= {"namespace": "team", "uid": "u"}
    assert template(JobView.parse(raw)) == {
        "schedulingPolicy": {"gang": {"minCount": 4}},
        "schedulingConstraints": RACK,
        "disruptionMode": "PodGroup",
    }


def test_the_json_of_the_page() -> None:
    json.loads(AS_JSON)
    assert template(a_gang().asking(AS_JSON).view()) == {
        "schedulingPolicy": {"gang": {"minCount": 3}},
        "schedulingConstraints": RACK,
        "disruptionMode": "PodGroup",
    }


def test_every_part_has_a_row() -> None:
    assert len(PARTS) >= 6


@pytest.mark.parametrize("part", PARTS)
def test_each_part_of_the_table_can_be_asked_for(part: str) -> None:
    assert read_intent(part.replace("KEY", "rack")).errors == ()


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda file: file.name)
def test_the_examples_ask_for_nothing_wrong(file: Path) -> None:
    raw = yaml.safe_load(file.read_text())
    raw["metadata"] |= {"namespace": "team", "uid": "u"}
    assert list(intent_warnings(JobView.parse(raw), None, Policy())) == []
