"""The KEP's JobSet, in both shapes that it draws, to the library's tree. The manifests are the KEP's own."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from muster.workloadbuilder import (
    V1ALPHA2,
    V1BETA1,
    BasicPolicy,
    FieldPath,
    SchedulingConfig,
    WorkloadItem,
    default_min_count,
    read_composite_scheduling,
    read_pod_group_scheduling,
)
from tests.unit.workloadbuilder.drawing import Object, builder, built, gang

OPTION_A = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
spec:
  scheduling: # Global policy: applies to the entire JobSet
    policy:
      basic: {} # ESCAPE HATCH: Disable global "gang of gangs" so components start independently
  replicatedJobs:
    - name: driver
      replicas: 1
      template:
        spec:
          # Defaults to Basic (pod-by-pod) scheduling
          containers:
            - name: main
              image: driver-image
    - name: workers
      replicas: 16
      template:
        spec:
          scheduling: # Leaf-level policy declared inside the nested Job template
            constraints:
              topology:
                - level: "topology.kubernetes.io/rack" # Co-locate workers on same rack
          containers:
            - name: worker
              image: worker-image
"""
OPTION_B = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
spec:
  scheduling: # All scheduling policies are defined here at the root
    policy:
      basic: {} # Global policy: components schedule independently
    replicatedJobPolicies:
      - targetReplicatedJob: "workers" # Policy target
        constraints:
          topology:
            - level: "topology.kubernetes.io/rack" # Co-locate workers on same rack
  replicatedJobs:
    - name: driver
      replicas: 1
      template:
        spec:
          containers:
            - name: main
              image: driver-image
    - name: workers
      replicas: 16
      template:
        spec:
          # Templates remain completely clean of scheduling directives
          containers:
            - name: worker
              image: worker-image
"""
DEFAULT = SchedulingConfig(policy=BasicPolicy())
WORKERS = {"topology": [{"key": "topology.kubernetes.io/rack"}]}


def option_a(spec: Object) -> dict[str, Any]:
    """Leaves in the nested templates."""
    found = {job["name"]: job["template"]["spec"].get("scheduling", {}) for job in spec["replicatedJobs"]}
    return {"": spec["scheduling"], **found}


def option_b(spec: Object) -> dict[str, Any]:
    """Everything at the root, by target."""
    overall = dict(spec["scheduling"])
    targeted = overall.pop("replicatedJobPolicies")
    return {"": overall, **{policy.pop("targetReplicatedJob"): policy for policy in targeted}}


def drawn(manifest: str, asked_in: Callable[[Object], dict[str, Any]]) -> WorkloadItem:
    spec = yaml.safe_load(manifest)["spec"]
    asked = asked_in(spec)
    children = [
        WorkloadItem(job["name"], DEFAULT, read_pod_group_scheduling(asked.get(job["name"], {})).scheduling)
        for job in spec["replicatedJobs"]
    ]
    return WorkloadItem(
        "jobset-root",
        gang(),  # JobSet's own default: a gang of gangs
        read_composite_scheduling(asked[""], FieldPath.of("spec", "scheduling")).scheduling,
        [default_min_count(17)],
        children,
    )


OPTIONS = pytest.mark.parametrize(
    "root", [drawn(OPTION_A, option_a), drawn(OPTION_B, option_b)], ids=["option A", "option B"]
)
LEAVES = [
    {"name": "driver", "schedulingPolicy": {"basic": {}}},
    {"name": "workers", "schedulingPolicy": {"basic": {}}, "schedulingConstraints": WORKERS},
]


@OPTIONS
def test_either_option_gives_the_same_tree_of_templates(root: WorkloadItem) -> None:
    assert built(root, V1BETA1)["spec"]["compositePodGroupTemplates"] == [
        {"name": "jobset-root", "schedulingPolicy": {"basic": {}}, "podGroupTemplates": LEAVES}
    ]


@OPTIONS
def test_on_v1alpha2_components_that_start_independently_are_a_flat_list(root: WorkloadItem) -> None:
    assert built(root, V1ALPHA2)["spec"]["podGroupTemplates"] == LEAVES


@OPTIONS
def test_the_composite_and_its_children_are_linked(root: WorkloadItem) -> None:
    ready = builder(root, V1BETA1)
    ready.build_workload()
    groups = ready.new_groups()
    assert [group.metadata.name for group in groups.composite_pod_groups] == ["wl-jobset-root"]
    assert [group.spec.parent_composite_pod_group_name for group in groups.pod_groups] == ["wl-jobset-root"] * 2


def test_without_the_escape_hatch_the_default_is_a_gang_of_gangs() -> None:
    root = drawn(OPTION_A.replace("basic: {}", "gang: {}"), option_a)
    (template,) = built(root, V1BETA1)["spec"]["compositePodGroupTemplates"]
    assert template["schedulingPolicy"] == {"gang": {"minGroupCount": 17}}
