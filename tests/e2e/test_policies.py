"""What Jobs ask for, on the real scheduler, with a Muster that gives every Job a group (`scope: all-jobs`)."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import yaml

from tests.clusters.api import Api, ApiError, Object
from tests.clusters.cluster import Cluster
from tests.clusters.muster import Muster
from tests.clusters.nodes import RACK, own_nodes
from tests.clusters.objects import all_pods, asking, events_on, gang_job, group_of, is_bound, job, pods_of
from tests.clusters.pairs import pair_of
from tests.clusters.waiting import always, eventually

NODES, NODE_PODS, RACKS = 4, 3, 2
IN_ONE_RACK = f"constraints: {{topology: [{{level: {RACK}}}]}}"
HEAD = {"apiVersion": "muster.dev/v1alpha1", "kind": "MusterConfiguration"}
GENEROUS = {**HEAD, "scope": "all-jobs", "basicForOthers": True}


def settings(folder: Path, content: Object) -> Path:
    file = folder / "settings.yaml"
    file.write_text(yaml.safe_dump(content))
    return file


@pytest.fixture(scope="module")
def muster(local: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Muster]:
    folder = tmp_path_factory.mktemp("generous")
    log = folder / "muster.log"
    with Muster(local.muster_kubeconfig(), local.api, log, "--config", str(settings(folder, GENEROUS))) as process:
        yield process
    assert "Traceback" not in log.read_text(), f"Muster logged a traceback: {log}"


@pytest.fixture
def place(local: Cluster, muster: Muster, namespace: str) -> Iterator[Object]:
    with own_nodes(local.api, namespace, NODES, NODE_PODS, RACKS) as pool:
        yield pool.where


@pytest.fixture
def priorities(api: Api, namespace: str) -> Iterator[tuple[str, str]]:
    names = (f"{namespace}-low", f"{namespace}-high")
    for name, value in zip(names, (10, 1000), strict=True):
        api.create("priorityclasses", {"metadata": {"name": name}, "value": value})
    yield names
    for name in names:
        api.delete("priorityclasses", name)


def bound(api: Api, namespace: str, name: str) -> list[Object]:
    return [pod for pod in pods_of(api, namespace, name) if is_bound(pod)]


def racks_of(api: Api, pods: list[Object]) -> set[str]:
    return {api.get("nodes", pod["spec"]["nodeName"])["metadata"]["labels"][RACK] for pod in pods}


def test_a_gang_lands_in_one_rack_or_waits(api: Api, namespace: str, place: Object) -> None:
    """Six pods fit a rack, twelve the cluster."""
    api.create("jobs", asking(gang_job("seven", 7, pod=place), IN_ONE_RACK), namespace)
    eventually(lambda: all_pods(api, namespace, "seven", 7), "all seven pods are there")
    for name in ("one", "two"):
        api.create("jobs", asking(gang_job(name, 5, pod=place), IN_ONE_RACK), namespace)
        eventually(partial(all_pods, api, namespace, name, 5, is_bound), f"gang {name} is bound", 60)
    racks = [racks_of(api, pods_of(api, namespace, name)) for name in ("one", "two")]
    assert [len(each) for each in racks] == [1, 1]
    assert racks[0] != racks[1]
    always(lambda: not bound(api, namespace, "seven"), "the gang that no rack holds is wholly unbound", 3)
    for name in ("one", "two", "seven"):
        api.delete("jobs", name, namespace)
    eventually(lambda: not api.list("pods", namespace), "the nodes are free")
    api.create("jobs", gang_job("anywhere", 7, pod=place), namespace)
    eventually(lambda: all_pods(api, namespace, "anywhere", 7, is_bound), "without a rack the same gang fits", 60)


def test_a_gang_with_a_smaller_count_starts_early(api: Api, namespace: str, place: Object) -> None:
    room, size = NODES * NODE_PODS, NODES * NODE_PODS + 2
    made = api.create(
        "jobs",
        asking(gang_job("early", size, pod=place), f"policy: {{gang: {{minCount: {room - 2}}}}}"),
        namespace,
    )
    eventually(lambda: len(bound(api, namespace, "early")) == room, "as many as fit are bound", 60)
    api.create("jobs", gang_job("whole", size, cpu="1m", pod=place), namespace)
    always(lambda: not bound(api, namespace, "whole"), "a gang that waits for all of its pods is not", 2)
    (_,), (group,) = pair_of(api, namespace, made)
    assert group["spec"]["schedulingPolicy"] == {"gang": {"minCount": room - 2}}


@pytest.mark.parametrize(("mode", "survivors"), [("all", range(1)), ("single", range(1, 7))], ids=["all", "single"])
def test_a_gang_preempts_a_lower_one_as_it_asks_to_be_disrupted(
    api: Api, namespace: str, place: Object, priorities: tuple[str, str], mode: str, survivors: range
) -> None:
    """Pod by pod, 6 make room for 6. But in 10 of 120 runs kube-scheduler took one or two more, 30 to 90 ms after these
    by its own events. So every pod that is gone must have been preempted, and every preempted pod must be gone."""
    room = NODES * NODE_PODS
    low, high = ({**place, "priorityClassName": name} for name in priorities)
    intent = json.dumps({"policy": {"gang": {}}, "disruption": {mode: {}}})
    made = api.create("jobs", asking(gang_job("low", room, pod=low), intent), namespace)
    before = eventually(lambda: all_pods(api, namespace, "low", room, is_bound), "the lower gang runs", 60)
    _, (group,) = pair_of(api, namespace, made)
    assert (group["spec"]["priorityClassName"], group["spec"]["priority"]) == (priorities[0], 10)
    api.create("jobs", gang_job("high", 6, pod=high), namespace)
    eventually(lambda: all_pods(api, namespace, "high", 6, is_bound), "the higher gang runs", 90)
    names = {pod["metadata"]["name"] for pod in before}

    def gone() -> set[str]:
        return names - {
            pod["metadata"]["name"]
            for pod in pods_of(api, namespace, "low")
            if "deletionTimestamp" not in pod["metadata"]
            if pod["status"].get("phase") not in {"Failed", "Succeeded"}
        }

    def preempted() -> set[str]:
        return {
            event["involvedObject"]["name"] for event in api.list("events", namespace) if event["reason"] == "Preempted"
        }

    eventually(lambda: gone() == preempted(), "who is gone was preempted, and nobody else")
    assert len(names - gone()) in survivors


def test_a_gang_and_a_basic_job_run_side_by_side(api: Api, muster: Muster, namespace: str, place: Object) -> None:
    """The Basic Job takes what room there is, pod by pod; the gang waits for room for the whole."""
    room = NODES * NODE_PODS
    made = api.create("jobs", job("basic", pod=place, parallelism=4, completions=4), namespace)
    pods = eventually(lambda: all_pods(api, namespace, "basic", 4, is_bound), "the Basic Job runs")
    (_,), (group,) = pair_of(api, namespace, made)
    assert group["spec"]["schedulingPolicy"] == {"basic": {}}
    assert {group_of(pod) for pod in pods} == {group["metadata"]["name"]}
    api.create("jobs", gang_job("large", room - 3, pod=place), namespace)
    api.create("jobs", gang_job("fits", room - 4, pod=place), namespace)
    eventually(lambda: all_pods(api, namespace, "fits", room - 4, is_bound), "the gang beside it runs", 60)
    always(lambda: not bound(api, namespace, "large"), "one pod too many: it does not", 2)
    changed = api.patch("jobs", "basic", {"spec": {"parallelism": 2}}, namespace)
    assert changed["spec"]["parallelism"] == 2, "a Basic group has no size to guard"


def test_a_basic_job_is_asked_for_by_name_too(api: Api, namespace: str, place: Object) -> None:
    size = NODES * NODE_PODS + 3
    body = asking(gang_job("basic", size, pod=place), "policy: {basic: {}}")
    api.create("jobs", body, namespace)
    eventually(lambda: len(bound(api, namespace, "basic")) == size - 3, "as many as fit are bound", 60)


def test_a_job_that_is_not_indexed_can_be_a_gang(api: Api, namespace: str, place: Object) -> None:
    room = NODES * NODE_PODS
    intent = f"policy: {{gang: {{minCount: {room + 1}}}}}"
    body = asking(job("queue", pod=place, parallelism=room + 1, completions=room + 5), intent)
    made = api.create("jobs", body, namespace)
    eventually(lambda: all_pods(api, namespace, "queue", room + 1), "all its pods are there")
    always(lambda: not bound(api, namespace, "queue"), "none is bound, since not all can be", 2)
    (_,), (group,) = pair_of(api, namespace, made)
    assert {group_of(pod) for pod in pods_of(api, namespace, "queue")} == {group["metadata"]["name"]}
    with pytest.raises(ApiError, match="parallelism"):
        api.patch("jobs", "queue", {"spec": {"parallelism": 2}}, namespace)
    api.create("jobs", asking(job("out", parallelism=2, completions=2), "none"), namespace)
    pods = eventually(lambda: all_pods(api, namespace, "out", 2, is_bound), "a Job that opts out runs")
    assert [group_of(pod) for pod in pods] == [None, None]


def test_a_claim_is_made_once_for_the_whole_gang(api: Api, namespace: str, place: Object) -> None:
    """The template's claim is the PodGroup's: 1.36 makes one for the group, and not one for each pod."""
    request = {"name": "ring", "exactly": {"deviceClassName": "rings.example.com"}}
    template = {"metadata": {"name": "a-ring"}, "spec": {"spec": {"devices": {"requests": [request]}}}}
    api.create("resourceclaimtemplates", template, namespace)
    claim = {"name": "ring", "resourceClaimTemplateName": "a-ring"}
    pod = {**place, "resourceClaims": [claim]}
    made = api.create("jobs", asking(gang_job("train", 3, pod=pod), json.dumps({"resourceClaims": [claim]})), namespace)
    eventually(lambda: all_pods(api, namespace, "train", 3), "all its pods are there")
    (workload,), (group,) = pair_of(api, namespace, made)
    assert group["spec"]["resourceClaims"] == [claim]
    assert workload["spec"]["podGroupTemplates"][0]["resourceClaims"] == [claim]
    (one,) = eventually(lambda: api.list("resourceclaims", namespace), "the claim is made")
    assert [owner["kind"] for owner in one["metadata"]["ownerReferences"]] == ["PodGroup"]


def test_with_opt_in_muster_skips_jobs_that_do_not_ask(
    local: Cluster, api: Api, muster: Muster, namespace: str, tmp_path: Path
) -> None:
    file = settings(tmp_path, {**HEAD, "defaultPolicy": "opt-in"})
    muster.terminate()
    try:
        with Muster(local.muster_kubeconfig(), api, tmp_path / "muster.log", "--config", str(file)):
            silent = api.create("jobs", gang_job("silent", 3), namespace)
            asked = api.create("jobs", asking(gang_job("asked", 3), "policy: {gang: {}}"), namespace)
            wrong = api.create("jobs", asking(gang_job("wrong", 3), "policy: {gang: {minCount: 9}}"), namespace)
            for name in ("silent", "asked", "wrong"):
                eventually(partial(all_pods, api, namespace, name, 3, is_bound), f"the Job {name} runs", 60)
            assert [len(pair_of(api, namespace, each)[1]) for each in (silent, asked, wrong)] == [0, 1, 0]
            eventually(lambda: events_on(api, namespace, "wrong", "IntentIgnored"), "an event reports the mistake")
    finally:
        muster.start()
        muster.wait_until_ready()
