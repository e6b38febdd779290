"""Workloads and PodGroups: those that a Job has, and those that somebody made by hand."""

from typing import Any

from tests.clusters.api import Api, Object
from tests.clusters.objects import controlled_by, group_of, pods_of

SCHEDULING = "scheduling.k8s.io/v1alpha2"
GANG_OF_4 = {"gang": {"minCount": 4}}
BASIC: Object = {"basic": {}}
PROTECTION = "scheduling.k8s.io/podgroup-protection"


def pair_of(api: Api, namespace: str, job: Object) -> tuple[list[Object], list[Object]]:
    """The Workloads and the PodGroups that the Job controls."""
    uid = job["metadata"]["uid"]
    return controlled_by(api.list("workloads", namespace), uid), controlled_by(api.list("podgroups", namespace), uid)


def assert_one_pair(api: Api, namespace: str, job: Object, size: int) -> None:
    """One Workload that describes the Job, one PodGroup, and all the Job's pods in that."""
    name = job["metadata"]["name"]
    (workload,), (group,) = pair_of(api, namespace, job)
    described = [w for w in api.list("workloads", namespace) if w["spec"]["controllerRef"]["name"] == name]
    assert [w["metadata"]["uid"] for w in described] == [workload["metadata"]["uid"]]
    assert [group_of(pod) for pod in pods_of(api, namespace, name)] == [group["metadata"]["name"]] * size


def workload(name: str, job_name: str, policy: Object = GANG_OF_4, templates: int = 1) -> Object:
    """A Workload that describes the Job, as a user writes one."""
    return {
        "metadata": {"name": name},
        "spec": {
            "controllerRef": {"apiGroup": "batch", "kind": "Job", "name": job_name},
            "podGroupTemplates": [{"name": f"workers-{n}", "schedulingPolicy": policy} for n in range(templates)],
        },
    }


def pod_group(name: str, workload_name: str = "", policy: Object = GANG_OF_4) -> Object:
    """A PodGroup: of a Workload's first template, or free-standing."""
    reference = {"workload": {"workloadName": workload_name, "podGroupTemplateName": "workers-0"}}
    spec: dict[str, Any] = {"podGroupTemplateRef": reference} if workload_name else {}
    return {"metadata": {"name": name}, "spec": {**spec, "schedulingPolicy": policy}}


def owned_by(thing: Object, job: Object) -> Object:
    """The same, controlled by the Job."""
    metadata = job["metadata"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": metadata["name"], "uid": metadata["uid"]}
    return {**thing, "metadata": {**thing["metadata"], "ownerReferences": [{**owner, "controller": True}]}}


def own_pair(api: Api, namespace: str, job: Object, policy: Object = GANG_OF_4) -> tuple[Object, Object]:
    """A pair that the Job controls, made by hand."""
    name = job["metadata"]["name"]
    made = api.create("workloads", owned_by(workload(f"{name}-w", name, policy), job), namespace)
    group = api.create("podgroups", owned_by(pod_group(f"{name}-g", f"{name}-w", policy), job), namespace)
    return made, group


def delete_pod_group(api: Api, namespace: str, name: str) -> None:
    """Also while pods are in it: the finalizer that protects it is dropped, and it goes at once."""
    api.patch("podgroups", name, {"metadata": {"finalizers": None}}, namespace)
    api.delete("podgroups", name, namespace)
