"""The manifests that Muster writes, to the last field."""

import pytest

from muster.api.profile import NATIVE
from muster.core.desired import desired_pod_group, desired_workload
from tests.builders import Object, a_gang, a_job, a_workload

JOB_OWNER = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "name": "my-job",
    "uid": "uid-123",
    "controller": True,
    "blockOwnerDeletion": True,
}


def test_j36_45_the_workload_of_a_job() -> None:
    job = a_gang("my-job", pods=8).uid("uid-123").in_namespace("team").view()
    assert NATIVE.manifest(desired_workload(job, "my-job-795ddf89fd")) == {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "Workload",
        "metadata": {
            "name": "my-job-795ddf89fd",
            "namespace": "team",
            "labels": {"app.kubernetes.io/managed-by": "muster"},
            "ownerReferences": [JOB_OWNER],
        },
        "spec": {
            "controllerRef": {"apiGroup": "batch", "kind": "Job", "name": "my-job"},
            "podGroupTemplates": [{"name": "my-job-pgt-0", "schedulingPolicy": {"gang": {"minCount": 8}}}],
        },
    }


@pytest.mark.parametrize(
    ("name", "pods"), [pytest.param("my-training-job", 8, id="J36-19"), pytest.param("small-job", 2, id="J36-20")]
)
def test_the_one_template_holds_all_pods_of_the_job(name: str, pods: int) -> None:
    (template,) = desired_workload(a_gang(name, pods).view(), "any").spec.pod_group_templates
    assert template.name == f"{name}-pgt-0"
    assert template.scheduling_policy.gang is not None
    assert template.scheduling_policy.gang.min_count == pods
    assert template.scheduling_policy.basic is None


def test_the_priority_class_of_the_pods_is_that_of_the_gang() -> None:
    job = a_gang().with_pods(priorityClassName="urgent").view()
    manifest = NATIVE.manifest(desired_workload(job, "any"))
    assert manifest["spec"]["podGroupTemplates"][0]["priorityClassName"] == "urgent"


def test_a_job_without_parallelism_is_a_bug_in_muster() -> None:
    with pytest.raises(ValueError, match="parallelism"):
        desired_workload(a_job().having(parallelism=None).view(), "any")


def test_j36_46_the_pod_group_of_a_workload() -> None:
    job = a_gang("my-job", pods=8).uid("uid-123")
    workload = a_workload("wl").uid("wl-uid").controlled_by(job).gang(8).read()
    assert NATIVE.manifest(desired_pod_group(job.view(), workload, "pg", NATIVE)) == {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {
            "name": "pg",
            "namespace": "default",
            "labels": {"app.kubernetes.io/managed-by": "muster"},
            "ownerReferences": [
                JOB_OWNER,
                {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "Workload", "name": "wl", "uid": "wl-uid"},
            ],
        },
        "spec": {
            "podGroupTemplateRef": {"workload": {"workloadName": "wl", "podGroupTemplateName": "workers"}},
            "schedulingPolicy": {"gang": {"minCount": 8}},
        },
    }


def test_the_pod_group_of_a_user_s_own_workload_belongs_to_the_job_alone() -> None:
    """The Workload stays when the Job goes. As an owner it would keep the PodGroup, one more for every run."""
    job, workload = a_gang("my-job").uid("uid-123").view(), a_workload("wl").read()
    metadata = NATIVE.manifest(desired_pod_group(job, workload, "pg", NATIVE))["metadata"]
    assert metadata["ownerReferences"] == [JOB_OWNER]


EVERYTHING: Object = {
    "name": "workers",
    "schedulingPolicy": {"gang": {"minCount": 3}},
    "schedulingConstraints": {"topology": [{"key": "topology.kubernetes.io/rack"}]},
    "resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": "gpu-template"}],
    "disruptionMode": "PodGroup",
    "priorityClassName": "urgent",
    "priority": 0,
}


@pytest.mark.parametrize(
    "template",
    [
        pytest.param(EVERYTHING, id="every field, where in-tree 1.36 copies the policy only"),
        pytest.param({"name": "workers", "schedulingPolicy": {"basic": {}}}, id="a Basic policy stays Basic"),
        pytest.param(
            {"name": "workers", "schedulingPolicy": {"basic": {}}, "resourceClaims": []}, id="an empty list stays empty"
        ),
    ],
)
def test_every_field_of_the_template_is_copied(template: Object) -> None:
    workload = a_workload().templates(template).read()
    spec = NATIVE.manifest(desired_pod_group(a_gang().view(), workload, "pg", NATIVE))["spec"]
    del spec["podGroupTemplateRef"]
    assert spec == {field: value for field, value in template.items() if field != "name"}


def test_j36_47_a_workload_without_a_template_has_no_pod_group() -> None:
    with pytest.raises(ValueError, match="must have exactly one template"):
        desired_pod_group(a_gang().view(), a_workload().templates().read(), "pg", NATIVE)
