"""Gangs that lose pods after some of their indexes have ended: the lost ones come back, on the real scheduler."""

import time
from functools import partial

import pytest

from tests.clusters.api import Api, Object
from tests.clusters.cluster import Cluster
from tests.clusters.muster import Muster
from tests.clusters.nodes import own_nodes
from tests.clusters.objects import all_pods, events_on, gang_job, is_bound, is_complete, is_running
from tests.clusters.pairs import pair_of
from tests.clusters.retries import (
    FAILED_FOR_GOOD,
    LOST,
    SIZE,
    end_index,
    eventually_run,
    group_and_size,
    index_of,
    living,
    lose_index,
    running_gang,
)
from tests.clusters.waiting import always, eventually
from tests.clusters.workers import end_pod


def test_a_pod_that_failed_after_another_had_succeeded_comes_back(
    api: Api, local: Cluster, muster: Muster, namespace: str
) -> None:
    """With everything else as it was: the pods that run, and all that the PodGroup says besides its size."""
    job = running_gang(api, namespace, podFailurePolicy=None)
    before, name = group_and_size(api, namespace, job)[0], pair_of(api, namespace, job)[1][0]["metadata"]["name"]
    marks = {"labels": {"team": "a"}, "annotations": {"note": "b"}}
    before = api.patch("podgroups", name, {"metadata": marks}, namespace)
    end_index(api, namespace, 0)
    always(lambda: group_and_size(api, namespace, job)[1] == SIZE, "nothing waits, so nothing is resized", 2)
    kept = {pod["metadata"]["uid"]: pod["spec"]["nodeName"] for pod in living(api, namespace) if index_of(pod) > 1}
    since = local.audit_position()
    (lost,) = living(api, namespace, index=1)
    end_pod(api, lost, "Failed")
    eventually_run(api, namespace, {1, 2, 3})

    after, size = group_and_size(api, namespace, job)
    assert size == SIZE - 1
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    for field in ("name", "labels", "annotations", "ownerReferences", "finalizers"):
        assert after["metadata"][field] == before["metadata"][field]
    assert without_size(after) == without_size(before)
    assert kept.items() <= {pod["metadata"]["uid"]: pod["spec"]["nodeName"] for pod in living(api, namespace)}.items()
    time.sleep(2)  # whatever Muster wanted to do on top it would have done by now
    assert group_and_size(api, namespace, job)[0]["metadata"]["uid"] == after["metadata"]["uid"]
    assert writes(local, since, name) == ["delete", "patch", "create"]
    (event,) = events_on(api, namespace, "train", "GangResized")
    assert event["message"] == (
        f"Resized PodGroup {name} from 4 to 3 pods: 1 of 4 indexes have ended, and a pod of a remaining index "
        "waits for a node"
    )


def test_a_pod_whose_binding_was_lost_does_not_wait_for_pods_that_have_ended(
    api: Api, muster: Muster, namespace: str
) -> None:
    """As after a failure of the API server while the scheduler binds a gang: one pod of two has its node, and ends. No
    pod has failed."""
    with own_nodes(api, namespace, count=1, room=1) as pool:
        job = api.create("jobs", gang_job("train", 2, pod=pool.where), namespace)
        pods = eventually(partial(all_pods, api, namespace, "train", 2), "both pods exist")
        always(lambda: not any(map(is_bound, living(api, namespace))), "there is no room for both", 2)
        (first,) = [pod["metadata"]["name"] for pod in pods if index_of(pod) == 0]
        bind(api, namespace, first, pool.nodes[0])
        eventually(lambda: is_running(api.get("pods", first, namespace)), "the pod with a node runs")
        end_index(api, namespace, 0)
        eventually_run(api, namespace, {1})
    assert group_and_size(api, namespace, job)[1] == 1


def test_a_gang_whose_pods_just_end_is_never_resized(api: Api, local: Cluster, muster: Muster, namespace: str) -> None:
    job = running_gang(api, namespace)
    group, _ = group_and_size(api, namespace, job)
    since = local.audit_position()
    for index in range(SIZE):
        end_index(api, namespace, index)
    eventually(lambda: is_complete(api, namespace, "train"), "the Job is complete")
    assert writes(local, since, group["metadata"]["name"]) == []


def test_each_pod_that_is_lost_after_a_success_comes_back(api: Api, muster: Muster, namespace: str) -> None:
    job = running_gang(api, namespace)
    for ended, lost in ((0, 1), (1, 2), (2, 3)):
        end_index(api, namespace, ended)
        lose_index(api, namespace, lost)
        rest = set(range(lost, SIZE))
        eventually_run(api, namespace, rest)
        assert group_and_size(api, namespace, job)[1] == SIZE - lost
    sizes = sorted(
        event["message"].partition(": ")[0][-17:] for event in events_on(api, namespace, "train", "GangResized")
    )
    assert sizes == [" from 2 to 1 pods", " from 3 to 2 pods", " from 4 to 3 pods"]


def test_the_gang_does_not_wait_for_an_index_that_failed_for_good(api: Api, muster: Muster, namespace: str) -> None:
    rules = [
        {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [FAILED_FOR_GOOD]}},
        {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [LOST]}},
    ]
    job = running_gang(api, namespace, backoffLimit=None, backoffLimitPerIndex=1, podFailurePolicy={"rules": rules})
    end_index(api, namespace, 0, code=FAILED_FOR_GOOD)
    end_index(api, namespace, 3)
    lose_index(api, namespace, 1)
    eventually_run(api, namespace, {1, 2})
    assert group_and_size(api, namespace, job)[1] == 2


@pytest.mark.full
def test_with_a_success_policy_a_lost_pod_comes_back_until_it_is_met(api: Api, muster: Muster, namespace: str) -> None:
    job = running_gang(api, namespace, successPolicy={"rules": [{"succeededIndexes": "3"}]})
    end_index(api, namespace, 0)
    lose_index(api, namespace, 1)
    eventually_run(api, namespace, {1, 2, 3})
    (leader,) = living(api, namespace, index=3)
    end_pod(api, leader)
    eventually(lambda: is_complete(api, namespace, "train"), "the Job is complete")
    assert group_and_size(api, namespace, job)[1] == SIZE - 1


def test_a_job_that_is_resumed_after_an_index_has_succeeded_starts_as_a_gang_of_the_rest(
    api: Api, muster: Muster, namespace: str
) -> None:
    job = running_gang(api, namespace)
    end_index(api, namespace, 0)
    api.patch("jobs", "train", {"spec": {"suspend": True}}, namespace)
    eventually(lambda: not living(api, namespace), "its pods are gone")
    assert group_and_size(api, namespace, job)[1] == SIZE
    api.patch("jobs", "train", {"spec": {"suspend": False}}, namespace)
    eventually_run(api, namespace, {1, 2, 3})
    assert group_and_size(api, namespace, job)[1] == SIZE - 1


@pytest.mark.full  # the Job controller takes 40 s to make three lost pods again
def test_a_gang_that_is_lost_after_an_index_has_succeeded_starts_again_as_a_gang_of_the_rest(
    api: Api, muster: Muster, namespace: str
) -> None:
    job = running_gang(api, namespace)
    end_index(api, namespace, 0)
    for index in (1, 2, 3):
        lose_index(api, namespace, index)
    eventually_run(api, namespace, {1, 2, 3})
    assert group_and_size(api, namespace, job)[1] == SIZE - 1
    posted = eventually(lambda: events_on(api, namespace, "train", "GangResized"), "Muster reports the resize")
    assert len(posted) == 1


def bind(api: Api, namespace: str, pod: str, node: str) -> None:
    """As the scheduler does it."""
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    api.post(f"{api.path('pods', namespace, pod)}/binding", {"metadata": {"name": pod}, "target": target})


def without_size(group: Object) -> Object:
    spec = {**group["spec"], "schedulingPolicy": None}
    return {key: value for key, value in spec.items() if key != "schedulingPolicy"}


def writes(cluster: Cluster, since: int, name: str) -> list[str]:
    """What Muster did to PodGroups since then, in that order: a create says only afterwards what it made."""
    found = [line for line in cluster.writes_by_muster(since) if line["objectRef"]["resource"] == "podgroups"]
    return [line["verb"] for line in found if line["objectRef"].get("name", name) == name]
