"""Beside Kueue, which suspends, resumes and resizes Jobs: an evicted gang gives its quota back, and starts again whole.

A Job of a queue is changed here exactly as Kueue's controller changes it. Muster runs with its default settings.
"""

import pytest

from tests.clusters.api import Api, Object
from tests.clusters.kueue import admit, evict, queued, waiting_job
from tests.clusters.muster import Muster
from tests.clusters.nodes import own_nodes
from tests.clusters.objects import all_pods, events_on, gang_job, group_of, is_bound, pods_of, unfinished_pods
from tests.clusters.pairs import pair_of
from tests.clusters.profiles import BUILT_IN_GROUP, NATIVE, OWN_GROUP, WITHOUT_JOB_VALIDATION
from tests.clusters.retries import group_and_size
from tests.clusters.site import Site
from tests.clusters.waiting import always, eventually

pytestmark = pytest.mark.profiles(NATIVE, OWN_GROUP, full=[BUILT_IN_GROUP])

WHOLE, PART = 6, 4


def runs_as_a_gang_of(api: Api, namespace: str, job: Object, pods: int) -> None:
    name = job["metadata"]["name"]
    bound = eventually(lambda: all_pods(api, namespace, name, pods, is_bound), f"{pods} pods are bound", 60)
    group, size = eventually(lambda: group_and_size(api, namespace, job), "one PodGroup")
    assert size == pods
    assert {group_of(pod) for pod in bound} == {group["metadata"]["name"]}


def test_by_default_only_a_job_of_a_queue_loses_its_pod_group(api: Api, muster: Muster, namespace: str) -> None:
    """And it keeps its Workload. Any other Job keeps both."""
    plain, queue = (
        api.create("jobs", body, namespace) for body in (gang_job("plain", PART), queued(gang_job("queued", PART)))
    )
    before = {}
    for job in (plain, queue):
        runs_as_a_gang_of(api, namespace, job, PART)
        before[job["metadata"]["name"]] = uids(api, namespace, job)
        api.patch("jobs", job["metadata"]["name"], {"spec": {"suspend": True}}, namespace)
    ((workload,), _) = before["queued"]
    eventually(lambda: uids(api, namespace, queue) == ([workload], []), "only the PodGroup is gone", 60)
    eventually(lambda: not pods_of(api, namespace, "plain"), "the pods of the other Job are gone", 60)
    always(lambda: uids(api, namespace, plain) == before["plain"], "the other Job keeps both", 2)
    for job in (plain, queue):
        admit(api, namespace, job["metadata"]["name"])
        runs_as_a_gang_of(api, namespace, job, PART)
    assert uids(api, namespace, plain) == before["plain"]
    assert uids(api, namespace, queue)[0] == [workload]


def uids(api: Api, namespace: str, job: Object) -> tuple[list[str], list[str]]:
    workloads, groups = pair_of(api, namespace, job)
    return [each["metadata"]["uid"] for each in workloads], [each["metadata"]["uid"] for each in groups]


def test_an_evicted_gang_gets_its_parallelism_back_and_starts_again(api: Api, muster: Muster, namespace: str) -> None:
    job = api.create("jobs", waiting_job("train", WHOLE), namespace)
    whole = {"parallelism": WHOLE, "completions": WHOLE}
    workload = None
    for pods in (PART, WHOLE, PART):
        admit(api, namespace, "train", parallelism=pods, completions=pods)
        runs_as_a_gang_of(api, namespace, job, pods)
        (described,), _ = pair_of(api, namespace, job)
        assert workload in {None, described["metadata"]["uid"]}, "the Workload stays"
        workload = described["metadata"]["uid"]
        evict(api, namespace, "train", **whole)
        eventually(lambda: not pair_of(api, namespace, job)[1], "its PodGroup is released")
        assert not unfinished_pods(api, namespace, "train")
    admit(api, namespace, "train")
    runs_as_a_gang_of(api, namespace, job, WHOLE)
    refusals = events_on(api, namespace, "train", "ParallelismRefused")
    assert len(refusals) <= 1, "a controller that tries again floods nobody"


def test_the_preemptor_of_a_gang_gets_its_room(api: Api, muster: Muster, namespace: str) -> None:
    """Each wants more than half of the room. While the first one is restored, the other one starts."""
    with own_nodes(api, namespace, count=1, room=WHOLE + 1) as pool:
        first, second = (gang_job(name, WHOLE, pod=pool.where) for name in ("first", "second"))
        for body in (first, second):
            body["metadata"]["labels"] = waiting_job("any", 2)["metadata"]["labels"]
            body["spec"]["suspend"] = True
        low, high = (api.create("jobs", body, namespace) for body in (first, second))
        admit(api, namespace, "first", parallelism=PART, completions=PART)
        runs_as_a_gang_of(api, namespace, low, PART)
        evict(api, namespace, "first", parallelism=WHOLE, completions=WHOLE)
        admit(api, namespace, "second")
        runs_as_a_gang_of(api, namespace, high, WHOLE)
        evict(api, namespace, "second", parallelism=WHOLE, completions=WHOLE)
        admit(api, namespace, "first")
        runs_as_a_gang_of(api, namespace, low, WHOLE)


def test_muster_stands_aside_from_a_gang_that_comes_back_smaller_without_its_completions(
    api: Api, muster: Muster, namespace: str
) -> None:
    job = api.create("jobs", waiting_job("train", WHOLE), namespace)
    admit(api, namespace, "train")
    runs_as_a_gang_of(api, namespace, job, WHOLE)
    evict(api, namespace, "train", parallelism=WHOLE)
    eventually(lambda: not pair_of(api, namespace, job)[1], "its PodGroup is released")
    admit(api, namespace, "train", parallelism=PART)
    pods = eventually(lambda: all_pods(api, namespace, "train", PART, is_bound), "its pods run one by one", 60)
    assert {group_of(pod) for pod in pods} == {None}
    (event,) = eventually(lambda: events_on(api, namespace, "train", "StandingAside"), "an event says why")
    assert event["message"].startswith("NoLongerAGang: ")
    assert "completions is not equal to parallelism" in event["message"]
    evict(api, namespace, "train", parallelism=WHOLE)
    eventually(lambda: not unfinished_pods(api, namespace, "train"), "its plain pods are gone", 60)
    admit(api, namespace, "train")
    runs_as_a_gang_of(api, namespace, job, WHOLE)


@pytest.mark.profiles(OWN_GROUP, WITHOUT_JOB_VALIDATION, full=[BUILT_IN_GROUP])
@pytest.mark.parametrize(
    ("counts", "pods"),
    [
        pytest.param({"parallelism": 2, "completions": 2}, 2, id="down"),
        pytest.param({"parallelism": 6, "completions": 6}, 6, id="up"),
        pytest.param({"parallelism": 2}, 2, id="down, completions stay"),
    ],
)
def test_a_job_without_a_queue_keeps_its_pod_group_which_gets_the_new_size(
    site: Site, namespace: str, counts: dict[str, int], pods: int
) -> None:
    """Where the API server does not refuse as long as there is a PodGroup."""
    api = site.api
    job = api.create("jobs", gang_job("train", 4), namespace)
    runs_as_a_gang_of(api, namespace, job, 4)
    evict(api, namespace, "train", **counts)
    assert len(pair_of(api, namespace, job)[1]) == 1
    admit(api, namespace, "train")
    eventually(lambda: group_and_size(api, namespace, job)[1] == pods, f"its PodGroup holds {pods} pods together", 30)
    runs_as_a_gang_of(api, namespace, job, pods)
