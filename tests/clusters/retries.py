"""Gangs whose pods end one by one, and what becomes of the rest."""

from functools import partial
from typing import Any

from tests.clusters.api import Api, Object
from tests.clusters.objects import all_pods, gang_job, is_bound, pods_of
from tests.clusters.pairs import pair_of
from tests.clusters.waiting import eventually
from tests.clusters.workers import end_pod

SIZE = 4
LOST, FAILED_FOR_GOOD = 1, 3
"""Exit codes of a pod that is replaced at once, and of one whose index is given up (with `backoffLimitPerIndex`)."""
REPLACED_AT_ONCE = {
    "podFailurePolicy": {"rules": [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [LOST]}}]}
}
"""Without it, the Job controller waits 10 s before it replaces a pod."""
CONTROLLER_SECONDS = 60
"""Its backoff is 10 s, doubled with each failure since the last success. It made three lost pods again after 38 s."""
BOUND_SECONDS = 15
"""Seen: 0.3 s from the pods to the PodGroup of another size and to their nodes."""


def running_gang(api: Api, namespace: str, name: str = "train", pod: Object | None = None, **spec: Any) -> Object:
    """A gang of four, all of whose pods have their nodes."""
    job = api.create("jobs", gang_job(name, SIZE, pod=pod, **{**REPLACED_AT_ONCE, **spec}), namespace)
    eventually(partial(all_pods, api, namespace, name, SIZE, is_bound), f"{name} is bound")
    return job


def end_index(api: Api, namespace: str, index: int, name: str = "train", code: int = 0) -> None:
    """The pod of that index ends, and the Job has heard of it."""
    (pod,) = living(api, namespace, name, index)
    end_pod(api, pod, "Failed" if code else "Succeeded", code)
    if code != LOST:
        field = "failedIndexes" if code else "completedIndexes"
        what = f"index {index} is among the {field}"
        eventually(lambda: str(index) in api.get("jobs", name, namespace)["status"].get(field, ""), what)


def lose_index(api: Api, namespace: str, index: int, name: str = "train") -> None:
    end_index(api, namespace, index, name, LOST)


def living(api: Api, namespace: str, name: str = "train", index: int | None = None) -> list[Object]:
    return [
        pod
        for pod in pods_of(api, namespace, name)
        if pod["status"].get("phase") not in {"Succeeded", "Failed"} and index in {None, index_of(pod)}
    ]


def index_of(pod: Object) -> int:
    return int(pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"])


def eventually_run(api: Api, namespace: str, indexes: set[int]) -> None:
    """The Job controller makes the pods in its own time; from then on it is Muster's and the scheduler's."""
    eventually(partial(all_live, api, namespace, indexes), f"{indexes} have their pods", CONTROLLER_SECONDS)
    eventually(partial(all_run, api, namespace, indexes), f"{indexes} have their nodes", BOUND_SECONDS)


def all_live(api: Api, namespace: str, indexes: set[int], name: str = "train") -> list[Object]:
    """Exactly these indexes have a running or pending pod, one each."""
    pods = living(api, namespace, name)
    assert sorted(map(index_of, pods)) == sorted(indexes), f"living: {sorted(map(index_of, pods))}"
    return pods


def all_run(api: Api, namespace: str, indexes: set[int], name: str = "train") -> bool:
    """The same, and each of those pods has its node."""
    pods = all_live(api, namespace, indexes, name)
    waiting = [index_of(pod) for pod in pods if not is_bound(pod)]
    assert not waiting, f"without a node: {waiting}"
    return True


def group_and_size(api: Api, namespace: str, job: Object) -> tuple[Object, int]:
    """The Job's one PodGroup, which stays, and how many pods it holds together."""
    _, groups = pair_of(api, namespace, job)
    assert len(groups) == 1, f"{len(groups)} PodGroups"
    (group,) = groups
    assert "deletionTimestamp" not in group["metadata"]
    return group, int(group["spec"]["schedulingPolicy"]["gang"]["minCount"])
