"""A control plane that goes away, and one whose scheduler knows nothing of gangs: what runs, runs on."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.clusters.api import Object
from tests.clusters.cluster import Cluster, hack_cluster, start_cluster
from tests.clusters.https import readyz
from tests.clusters.muster import Muster
from tests.clusters.namespaces import own_namespace
from tests.clusters.nodes import own_nodes
from tests.clusters.objects import (
    all_pods,
    events_on,
    gang_job,
    group_of,
    is_bound,
    is_complete,
    is_running,
    pods_of,
)
from tests.clusters.pairs import assert_one_pair, pair_of
from tests.clusters.waiting import always, eventually
from tests.clusters.workers import end_pod

GATES = (
    "TopologyAwareWorkloadScheduling",
    "WorkloadAwarePreemption",
    "DRAWorkloadResourceClaims",
    "GangScheduling",
    "GenericWorkload",
)
OLD_SCHEDULER = f"--scheduler-flag=--feature-gates={','.join(f'{gate}=false' for gate in GATES)}"
GANGS_OFF = "--scheduler-flag=--feature-gates=WorkloadAwarePreemption=false,GangScheduling=false"
SOON = 30


@dataclass(frozen=True)
class Scene:
    cluster: Cluster
    muster: Muster


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    cluster = start_cluster("control-plane", "--nodes", "2")
    log = tmp_path_factory.mktemp("control-plane") / "muster.log"
    try:
        with Muster(cluster.muster_kubeconfig(), cluster.api, log) as muster:
            yield Scene(cluster, muster)
        assert "Traceback" not in Path(log).read_text()
    finally:
        cluster.down()


@pytest.fixture
def place(scene: Scene) -> Iterator[str]:
    yield from own_namespace(scene.cluster.api)


def test_kubectl_shows_the_pair(scene: Scene, place: str) -> None:
    api, ask = scene.cluster.api, partial(hack_cluster, "kubectl", "--name", scene.cluster.name)
    made = api.create("jobs", gang_job("train"), place)
    eventually(lambda: all_pods(api, place, "train", 4, is_running), "four pods run")
    (workload,), (group,) = pair_of(api, place, made)
    for kind, thing in (("workloads", workload), ("podgroups", group)):
        assert [place, thing["metadata"]["name"]] in [line.split()[:2] for line in ask("get", kind, "-A").splitlines()]
    described = eventually(
        lambda: _with_condition(ask("describe", "podgroup", "-n", place)), "kubectl shows the condition"
    )
    assert group["metadata"]["name"] in described


def test_a_gang_runs_on_while_the_control_plane_is_away(scene: Scene, place: str) -> None:
    """And the next one forms once it is back, without anybody's help."""
    api = scene.cluster.api
    made = api.create("jobs", gang_job("train"), place)
    before = everything(eventually(lambda: all_pods(api, place, "train", 4, is_running), "four pods run"))
    pair = everything([thing for part in pair_of(api, place, made) for thing in part])
    scene.cluster.restart()
    eventually(lambda: readyz(scene.muster) == (200, "ready"), "Muster is ready again", 60)
    always(lambda: everything(all_pods(api, place, "train", 4, is_running)) == before, "the same pods run", 3)
    assert everything([thing for part in pair_of(api, place, made) for thing in part]) == pair
    for pod in pods_of(api, place, "train"):
        end_pod(api, pod)
    eventually(lambda: is_complete(api, place, "train"), "the Job completes")
    again = api.create("jobs", gang_job("again"), place)
    eventually(lambda: all_pods(api, place, "again", 4, is_bound), "the next gang starts", 90)
    assert_one_pair(api, place, again, 4)


def test_muster_never_calls_a_gang_scheduled_that_is_not_held_and_names_the_gate(scene: Scene, place: str) -> None:
    """kube-scheduler without GangScheduling sets PodGroupScheduled to True when the first pod is bound."""
    scene.cluster.restart(GANGS_OFF)
    eventually(lambda: readyz(scene.muster) == (200, "ready"), "Muster is ready again", 60)
    api = scene.cluster.api
    with own_nodes(api, place, count=1, room=8) as pool:
        made = api.create("jobs", gang_job("train", 12, pod=pool.where), place)
        (event,) = eventually(lambda: events_on(api, place, "train", "GangNotHeld"), "the cause is named", 90)
        assert event["type"] == "Warning"
        assert event["message"].startswith("8 of the gang's 12 pods started without the others; kube-scheduler")
        assert "feature gate GangScheduling is off" in event["message"]
        (group,) = pair_of(api, place, made)[1]
        (condition,) = [each for each in group["status"]["conditions"] if each["type"] == "PodGroupScheduled"]
        assert condition["status"] == "True", "what the scheduler claims"
        always(lambda: len(events_on(api, place, "train", "GangNotHeld")) == 1, "once", 6)
        assert not events_on(api, place, "train", "GangScheduled")
        pool.give_room(12)
        eventually(
            lambda: events_on(api, place, "train", "GangScheduled"), "once all have a node, it is true", 2 * SOON
        )


def test_a_scheduler_that_knows_no_gangs_binds_one_pod_after_the_other(scene: Scene, place: str) -> None:
    """Muster still does its part, and reports that no scheduler holds the gang."""
    scene.cluster.restart(OLD_SCHEDULER)
    eventually(lambda: readyz(scene.muster) == (200, "ready"), "Muster is ready again", 60)
    api = scene.cluster.api
    with own_nodes(api, place, count=1, room=2) as pool:
        made = api.create("jobs", gang_job("train", 3, pod=pool.where), place)
        eventually(lambda: len([pod for pod in pods_of(api, place, "train") if is_bound(pod)]) == 2, "two fit", 90)
        (_,), (group,) = pair_of(api, place, made)
        assert [group_of(pod) for pod in pods_of(api, place, "train")] == [group["metadata"]["name"]] * 3
        eventually(lambda: events_on(api, place, "train", "GangNotHeld"), "Muster says that nobody holds it", SOON)
        assert not events_on(api, place, "train", "GangScheduled")


def _with_condition(described: str) -> str:
    return described if "PodGroupScheduled" in described else ""


def everything(things: list[Object]) -> set[str]:
    return {thing["metadata"]["uid"] for thing in things}
