"""A Job whose controller has a Workload for it gets only its PodGroup, from the template that it names (KEP-6089)."""

from functools import partial

import pytest

from tests.clusters.api import Api, Object
from tests.clusters.muster import Muster
from tests.clusters.objects import all_pods, events_on, gang_job, group_of, is_bound
from tests.clusters.pairs import pair_of
from tests.clusters.profiles import BUILT_IN_GROUP, NATIVE, OWN_GROUP
from tests.clusters.waiting import eventually

pytestmark = pytest.mark.profiles(NATIVE, BUILT_IN_GROUP, full=[OWN_GROUP])

SIZE = 3
TEMPLATE = "scheduling.k8s.io/group-template-name"
PARENT = "scheduling.k8s.io/parent-composite-podgroup"
TEMPLATES = [
    {"name": "driver", "schedulingPolicy": {"basic": {}}},
    {"name": "workers", "schedulingPolicy": {"gang": {"minCount": 2}}, "disruptionMode": "PodGroup"},
]


@pytest.fixture
def parent(api: Api, namespace: str) -> Object:
    """What a JobSet would be: an object that controls Jobs, and a Workload that describes it."""
    made = api.create("configmaps", {"metadata": {"name": "set"}}, namespace)
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "set", "uid": made["metadata"]["uid"]}
    body = {
        "metadata": {"name": "set", "ownerReferences": [{**reference, "controller": True}]},
        "spec": {"controllerRef": {"kind": "ConfigMap", "name": "set"}, "podGroupTemplates": TEMPLATES},
    }
    api.create("workloads", body, namespace)
    return {**reference, "controller": True}


def of(parent: Object, name: str, template: str, **annotations: str) -> Object:
    body = gang_job(name, SIZE)
    body["metadata"] |= {"ownerReferences": [parent], "annotations": {TEMPLATE: template, **annotations}}
    return body


def test_each_job_gets_a_group_of_its_own_from_the_template_that_it_names(
    api: Api, muster: Muster, namespace: str, parent: Object
) -> None:
    names = {"driver-0": "driver", "workers-0": "workers", "workers-1": "workers"}
    jobs = {name: api.create("jobs", of(parent, name, template), namespace) for name, template in names.items()}
    seen = set()
    for name, made in jobs.items():
        pods = eventually(partial(all_pods, api, namespace, name, SIZE, is_bound), f"{name} runs", 60)
        workloads, (group,) = pair_of(api, namespace, made)
        assert workloads == [], "the Workload is the controller's"
        assert {group_of(pod) for pod in pods} == {group["metadata"]["name"]}
        reference = group["spec"]["podGroupTemplateRef"]["workload"]
        assert reference == {"workloadName": "set", "podGroupTemplateName": names[name]}
        template = next(each for each in TEMPLATES if each["name"] == names[name])
        assert group["spec"]["schedulingPolicy"] == template["schedulingPolicy"]
        assert group["spec"]["disruptionMode"] == template.get("disruptionMode", "Pod")
        assert [owner["kind"] for owner in group["metadata"]["ownerReferences"]] == ["Job"]
        seen.add(group["metadata"]["name"])
    assert len(seen) == len(names)
    assert len(api.list("workloads", namespace)) == 1


def test_an_event_reports_a_missing_template_and_the_job_runs(
    api: Api, muster: Muster, namespace: str, parent: Object
) -> None:
    made = api.create("jobs", of(parent, "lost", "nobody"), namespace)
    pods = eventually(lambda: all_pods(api, namespace, "lost", SIZE, is_bound), "the Job runs", 60)
    assert {group_of(pod) for pod in pods} == {None}
    assert pair_of(api, namespace, made) == ([], [])
    (event,) = eventually(lambda: events_on(api, namespace, "lost", "StandingAside"), "the event is posted")
    assert "ParentUndescribed" in event["message"]


def test_an_event_reports_a_group_of_groups_and_the_job_runs(
    api: Api, muster: Muster, namespace: str, parent: Object
) -> None:
    body = of(parent, "nested", "workers", **{PARENT: "all"})
    api.create("jobs", body, namespace)
    pods = eventually(lambda: all_pods(api, namespace, "nested", SIZE, is_bound), "the Job runs", 60)
    assert {group_of(pod) for pod in pods} == {None}
    (event,) = eventually(lambda: events_on(api, namespace, "nested", "IntentIgnored"), "the event is posted")
    assert f'{PARENT}: "all" is not supported: v1alpha2 has no groups of groups' in event["message"]
