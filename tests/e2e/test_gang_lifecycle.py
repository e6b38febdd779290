"""One gang Job from its creation to its end, on the real control plane."""

from tests.e2e.support.api import Api, Recording
from tests.e2e.support.muster import Muster
from tests.e2e.support.objects import controlled_by, events_on, gang_job, group_of, is_bound, pods_of
from tests.e2e.support.waiting import eventually


def test_a_gang_gets_its_workload_then_its_pod_group_then_its_pods(api: Api, muster: Muster, namespace: str) -> None:
    with (
        Recording(api, "workloads", namespace) as workloads,
        Recording(api, "podgroups", namespace) as groups,
        Recording(api, "pods", namespace) as pods,
    ):
        made = api.create("jobs", gang_job("train"), namespace)
        eventually(
            lambda: len([p for p in pods_of(api, namespace, "train") if is_bound(p)]) == 4, "all four pods are bound"
        )
    assert len(controlled_by(api.list("workloads", namespace), made["metadata"]["uid"])) == 1
    (group,) = controlled_by(api.list("podgroups", namespace), made["metadata"]["uid"])
    assert {group_of(pod) for pod in pods_of(api, namespace, "train")} == {group["metadata"]["name"]}
    eventually(lambda: len(pods.created()) == 4, "the watch shows four pods")
    (workload_at,), (group_at,) = workloads.created().values(), groups.created().values()
    assert workload_at < group_at < min(pods.created().values())
    eventually(
        lambda: (
            {"WorkloadCreated", "PodGroupCreated"} <= {event["reason"] for event in events_on(api, namespace, "train")}
        ),
        "the events are on the Job",
    )
