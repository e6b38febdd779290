"""A Job becomes a gang in the same way whatever API the server has: order, names, sizes, priority, pauses, ends."""

import pytest

from tests.clusters.api import Api, Object, Recording
from tests.clusters.muster import Muster
from tests.clusters.nodes import need_room_for
from tests.clusters.objects import (
    all_pods,
    controlled_by,
    events_on,
    gang_job,
    group_of,
    is_bound,
    is_running,
    pods_of,
)
from tests.clusters.pairs import assert_one_pair, pair_of, pod_group
from tests.clusters.profiles import BUILT_IN_GROUP, NATIVE, OWN_GROUP
from tests.clusters.site import Site
from tests.clusters.waiting import always, eventually
from tests.conformance.profiles.test_job_rows import assert_wired

pytestmark = pytest.mark.profiles(NATIVE, OWN_GROUP, full=[BUILT_IN_GROUP])

KINDS = ("jobs", "workloads", "podgroups", "pods")


def settled(api: Api, namespace: str, job: Object, size: int) -> None:
    name = job["metadata"]["name"]
    eventually(lambda: all_pods(api, namespace, name, size, is_bound), f"the {size} pods of {name} are bound", 90)
    assert_one_pair(api, namespace, job, size)


def test_a_gang_gets_its_workload_then_its_pod_group_then_its_pods(site: Site, namespace: str) -> None:
    with (
        Recording(site.api, "workloads", namespace) as workloads,
        Recording(site.api, "podgroups", namespace) as groups,
        Recording(site.api, "pods", namespace) as pods,
    ):
        made = site.api.create("jobs", gang_job("train"), namespace)
        settled(site.api, namespace, made, 4)
        eventually(lambda: [len(r.created()) for r in (workloads, groups, pods)] == [1, 1, 4], "the streams show all")
    (workload,), (group,) = pair_of(site.api, namespace, made)
    assert max(workloads.created().values()) < min(groups.created().values())
    assert max(groups.created().values()) < min(pods.created().values())
    assert [site.group_of(pod) for pod in pods.seen()] == [group["metadata"]["name"]] * 4
    assert_wired(made, workload, group, 4)
    assert [o["apiVersion"] for o in group["metadata"]["ownerReferences"]] == ["batch/v1", site.api.scheduling]
    events = ["GangScheduled", "PodGroupCreated", "WorkloadCreated"]
    eventually(lambda: reasons_posted(site.api, namespace, "train") == events, "its events, once")


@pytest.mark.parametrize("length", [1, 2, 57, 61])
def test_a_name_of_any_length_starts(api: Api, muster: Muster, namespace: str, length: int) -> None:
    settled(api, namespace, api.create("jobs", gang_job("j" * length), namespace), 4)


def test_a_job_that_the_server_names_starts(api: Api, muster: Muster, namespace: str) -> None:
    body = gang_job("ignored")
    body["metadata"] = {"generateName": "train-"}
    settled(api, namespace, api.create("jobs", body, namespace), 4)


def test_a_gang_of_more_pods_than_one_sync_creates(api: Api, muster: Muster, namespace: str) -> None:
    """The Job controller makes at most 500 pods in one go: the rest come later, and belong to the same group."""
    need_room_for(api, 520)
    settled(api, namespace, api.create("jobs", gang_job("large", 520, cpu="1m"), namespace), 520)


def test_the_priority_of_the_pods_is_that_of_the_group(site: Site, api: Api, muster: Muster, namespace: str) -> None:
    if not site.profile.has_priority_classes:
        pytest.skip("a server that does not own scheduling.k8s.io has no PriorityClass")
    api.create("priorityclasses", {"metadata": {"name": "urgent-by-test"}, "value": 1000})
    try:
        made = api.create("jobs", gang_job("urgent", pod={"priorityClassName": "urgent-by-test"}), namespace)
        settled(api, namespace, made, 4)
        _, (group,) = pair_of(api, namespace, made)
    finally:
        api.delete("priorityclasses", "urgent-by-test")
    assert (group["spec"]["priorityClassName"], group["spec"]["priority"]) == ("urgent-by-test", 1000)


def test_a_finished_job_takes_everything_along_when_its_time_to_live_is_over(
    site: Site, api: Api, muster: Muster, namespace: str
) -> None:
    site.wait_for_the_garbage_collector()
    api.create("jobs", gang_job("short", run_seconds=1, ttlSecondsAfterFinished=0), namespace)
    eventually(lambda: api.list("podgroups", namespace), "the gang was formed")
    eventually(lambda: not any(api.list(kind, namespace) for kind in KINDS), "nothing is left", 60, every=0.5)


def test_a_gang_that_is_suspended_in_mid_run_resumes_in_its_group(api: Api, muster: Muster, namespace: str) -> None:
    made = api.create("jobs", gang_job("pause"), namespace)
    settled(api, namespace, made, 4)
    before = pair_of(api, namespace, made)
    api.patch("jobs", "pause", {"spec": {"suspend": True}}, namespace)
    eventually(lambda: not pods_of(api, namespace, "pause"), "the pods are gone")
    api.patch("jobs", "pause", {"spec": {"suspend": False}}, namespace)
    settled(api, namespace, made, 4)
    assert [[t["metadata"]["uid"] for t in kind] for kind in pair_of(api, namespace, made)] == [
        [t["metadata"]["uid"] for t in kind] for kind in before
    ]


def test_a_pod_of_a_group_that_does_not_exist_waits_for_it(
    site: Site, api: Api, muster: Muster, namespace: str
) -> None:
    if not site.profile.native:
        pytest.skip("a scheduler that knows nothing of PodGroups holds no pod back")
    api.create("pods", site.member("early", "later"), namespace)
    always(lambda: not is_bound(api.get("pods", "early", namespace)), "the pod waits", 3)
    api.create("podgroups", pod_group("later", policy={"basic": {}}), namespace)
    eventually(lambda: is_running(api.get("pods", "early", namespace)), "the pod runs")


def test_a_job_that_is_made_again_gets_a_pair_of_its_own(api: Api, muster: Muster, namespace: str) -> None:
    for _ in range(3):
        made = api.create("jobs", gang_job("again"), namespace)
        eventually(lambda: all_pods(api, namespace, "again", 4, is_bound), "four pods")
        (workload,), (group,) = pair_of(api, namespace, made)
        owned = controlled_by(pods_of(api, namespace, "again"), made["metadata"]["uid"])
        assert [group_of(pod) for pod in owned] == [group["metadata"]["name"]] * 4
        assert workload["metadata"]["name"] in group["metadata"]["name"]
        api.delete("jobs", "again", namespace)
        eventually(lambda: not pods_of(api, namespace, "again"), "the pods are gone")


def reasons_posted(api: Api, namespace: str, name: str) -> list[str]:
    """The reasons of Muster's events on the Job, as often as they were posted."""
    events = [e for e in events_on(api, namespace, name) if e["source"].get("component") == "muster"]
    return sorted(event["reason"] for event in events for _ in range(event["count"]))
