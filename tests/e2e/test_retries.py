"""Gangs that lose pods after some of their indexes have ended: the lost ones come back."""

from functools import partial

from tests.e2e.support.api import Api, Object
from tests.e2e.support.muster import Muster
from tests.e2e.support.objects import all_pods, controlled_by, end_pod, events_on, gang_job, is_bound, pods_of
from tests.e2e.support.waiting import eventually

SIZE = 4
BACK_SECONDS = 40
"""The Job controller waits 10 s before it replaces a pod that failed."""


def test_a_pod_that_failed_after_another_had_succeeded_is_replaced(api: Api, muster: Muster, namespace: str) -> None:
    job = api.create("jobs", gang_job("train", SIZE), namespace)
    eventually(partial(all_pods, api, namespace, "train", SIZE, is_bound), "the gang is bound")
    old = group_of(api, namespace, job)
    end_pod(api, pod_of(api, namespace, "train", 0))
    eventually(lambda: completed(api, namespace, "train") == "0", "index 0 is complete")
    end_pod(api, pod_of(api, namespace, "train", 1), "Failed")
    eventually(lambda: replaced(api, namespace, "train", 1), "the replacement is bound", BACK_SECONDS)
    new = group_of(api, namespace, job)
    print(new)
    print(old)
    for event in events_on(api, namespace, "train"):
        print(event["reason"], event["message"])
    assert new["spec"]["schedulingPolicy"]["gang"]["minCount"] == SIZE - 1


def replaced(api: Api, namespace: str, name: str, index: int) -> bool:
    living = [
        pod
        for pod in pods_of(api, namespace, name)
        if index_of(pod) == index and pod["status"].get("phase") not in {"Succeeded", "Failed"}
    ]
    return len(living) == 1 and is_bound(living[0])


def pod_of(api: Api, namespace: str, name: str, index: int) -> Object:
    (found,) = [pod for pod in pods_of(api, namespace, name) if index_of(pod) == index]
    return found


def index_of(pod: Object) -> int:
    return int(pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"])


def completed(api: Api, namespace: str, name: str) -> str:
    return str(api.get("jobs", name, namespace)["status"].get("completedIndexes", ""))


def group_of(api: Api, namespace: str, job: Object) -> Object:
    (group,) = controlled_by(api.list("podgroups", namespace), job["metadata"]["uid"])
    return group
