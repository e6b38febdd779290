"""The page of the library: its examples run, and give what the page says."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

PAGE = (Path(__file__).parents[3] / "docs/workloadbuilder.md").read_text()
BLOCKS = re.findall(r"^```(python|yaml)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
EXAMPLES = list(zip(BLOCKS[::2], BLOCKS[1::2], strict=True))
RESULTS = ["workload", "workload", "errors"]


def run(code: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(code, "docs/workloadbuilder.md", "exec"), names)
    return names


def test_every_example_is_followed_by_what_it_gives() -> None:
    assert [(code[0], result[0]) for code, result in EXAMPLES] == [("python", "yaml")] * len(RESULTS)


@pytest.mark.parametrize("number", range(len(RESULTS)), ids=["single level", "JobSet-like", "errors"])
def test_an_example_gives_what_the_page_says(number: int) -> None:
    (_, code), (_, result) = EXAMPLES[number]
    assert run(code)[RESULTS[number]] == yaml.safe_load(result)


def test_the_pod_group_of_the_single_level_example() -> None:
    pod_group = run(EXAMPLES[0][0][1])["pod_group"]
    assert pod_group["metadata"]["name"] == "train-7f6d-workers"
    assert pod_group["spec"]["schedulingPolicy"] == {"gang": {"minCount": 4}}
    assert pod_group["spec"]["disruptionMode"] == "PodGroup"


def test_the_groups_of_the_multi_level_example() -> None:
    composite, driver, *workers = run(EXAMPLES[1][0][1])["manifests"]
    assert (composite["kind"], composite["apiVersion"]) == ("CompositePodGroup", "scheduling.k8s.io/v1alpha3")
    assert composite["spec"]["schedulingPolicy"] == {"gang": {"minGroupCount": 5}}
    assert {group["spec"]["parentCompositePodGroupName"] for group in (driver, *workers)} == {"llm"}
    assert [group["metadata"]["name"] for group in workers] == [f"llm-workers-{n}" for n in range(4)]
    assert all(group["spec"]["schedulingPolicy"] == {"gang": {"minCount": 8}} for group in workers)
