"""Rules that concern one kind of Job each, on the built-in API: sizes, names, ends, a second controller beside us."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import own_namespace
from tests.e2e.support.api import Api, Object
from tests.e2e.support.clusters import Cluster, start_cluster
from tests.e2e.support.muster import Muster
from tests.e2e.support.objects import all_pods, controlled_by, gang_job, group_of, is_bound, is_running, pods_of
from tests.e2e.support.pairs import assert_one_pair, pair_of, pod_group
from tests.e2e.support.waiting import always, eventually

KINDS = ("jobs", "workloads", "podgroups", "pods")


def settled(api: Api, namespace: str, job: Object, size: int) -> None:
    name = job["metadata"]["name"]
    eventually(lambda: all_pods(api, namespace, name, size, is_bound), f"the {size} pods of {name} are bound", 90)
    assert_one_pair(api, namespace, job, size)


@pytest.mark.parametrize("length", [1, 2, 57, 61])
def test_a_name_of_any_length_starts(api: Api, muster: Muster, namespace: str, length: int) -> None:
    settled(api, namespace, api.create("jobs", gang_job("j" * length), namespace), 4)


def test_a_job_that_the_server_names_starts(api: Api, muster: Muster, namespace: str) -> None:
    body = gang_job("ignored")
    body["metadata"] = {"generateName": "train-"}
    settled(api, namespace, api.create("jobs", body, namespace), 4)


def test_a_gang_of_more_pods_than_one_sync_creates(api: Api, muster: Muster, namespace: str) -> None:
    """The Job controller makes at most 500 pods in one go: the rest come later, and belong to the same group."""
    settled(api, namespace, api.create("jobs", gang_job("large", 520, cpu="1m"), namespace), 520)


def test_the_priority_of_the_pods_is_that_of_the_group(api: Api, muster: Muster, namespace: str) -> None:
    api.create("priorityclasses", {"metadata": {"name": "urgent-by-test"}, "value": 1000})
    try:
        made = api.create("jobs", gang_job("urgent", pod={"priorityClassName": "urgent-by-test"}), namespace)
        settled(api, namespace, made, 4)
        _, (group,) = pair_of(api, namespace, made)
    finally:
        api.delete("priorityclasses", "urgent-by-test")
    assert (group["spec"]["priorityClassName"], group["spec"]["priority"]) == ("urgent-by-test", 1000)


def test_a_finished_job_takes_everything_along_when_its_time_to_live_is_over(
    api: Api, muster: Muster, namespace: str
) -> None:
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


def test_a_pod_of_a_group_that_does_not_exist_waits_for_it(api: Api, muster: Muster, namespace: str) -> None:
    spec = {"containers": [{"name": "c", "image": "c"}], "schedulingGroup": {"podGroupName": "later"}}
    api.create("pods", {"metadata": {"name": "early"}, "spec": spec}, namespace)
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


@pytest.fixture(scope="module")
def doubled() -> Iterator[Cluster]:
    """The in-tree controller forms gangs here too."""
    cluster = start_cluster("doubled", "--in-tree")
    yield cluster
    cluster.down()


def test_beside_the_in_tree_controller_a_job_has_one_pair(doubled: Cluster, tmp_path: Path) -> None:
    with Muster(doubled.muster_kubeconfig(), doubled.api, tmp_path / "muster.log"):
        for place in own_namespace(doubled.api):
            jobs = [doubled.api.create("jobs", gang_job(f"both-{n}", cpu="1m"), place) for n in range(20)]
            for job in jobs:
                settled(doubled.api, place, job, 4)
            time.sleep(1)  # a second pair would be made by now
            for job in jobs:
                assert [len(kind) for kind in pair_of(doubled.api, place, job)] == [1, 1]
