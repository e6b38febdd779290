"""Muster is killed around each of its writes for a gang Job, and started again: the gang is still complete."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pytest

from tests.clusters.api import Api, Object
from tests.clusters.cluster import Cluster
from tests.clusters.muster import Muster
from tests.clusters.objects import all_pods, controlled_by, events_on, gang_job, is_bound, pods_of
from tests.clusters.pairs import assert_one_pair
from tests.clusters.proxy import Proxy, Trap, is_write_for
from tests.clusters.waiting import eventually

SIZE = 4
BOUND_SECONDS = 60
"""Most of it is the Job controller's, which waits longer after every pod that was refused."""

WRITES = {
    "the Workload": ("workloads", None),
    "the PodGroup": ("podgroups", None),
    "the event on the Workload": ("events", "WorkloadCreated"),
    "the event on the PodGroup": ("events", "PodGroupCreated"),
}


@dataclass(frozen=True)
class Scene:
    api: Api
    proxy: Proxy
    muster: Muster
    """Which talks to the API server through the proxy."""


@pytest.fixture(scope="module")
def scene(local: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    directory = tmp_path_factory.mktemp("sigkill")
    log = directory / "muster.log"
    with (
        Proxy(local.muster_kubeconfig(), directory) as proxy,
        Muster(proxy.kubeconfig, local.api, log) as muster,
    ):
        yield Scene(local.api, proxy, muster)
    assert "Traceback" not in log.read_text(), f"Muster logged a traceback: {log}"


@dataclass(frozen=True)
class Kills:
    number: int
    jobs: int
    """How many Jobs are at that very write at the same time."""


SAMPLE = pytest.param(Kills(1, jobs=2), id="once, with two Jobs there")
WHOLE = pytest.param(Kills(20, jobs=1), id="twenty times", marks=[pytest.mark.full, pytest.mark.timeout(900)])


@pytest.mark.parametrize("kills", [SAMPLE, WHOLE])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    "write", [pytest.param(each, marks=pytest.mark.full if "event" in each else []) for each in WRITES]
)
def test_a_gang_is_whole_although_muster_was_killed_around(
    scene: Scene, namespace: str, write: str, after: bool, kills: Kills
) -> None:
    for number in range(kills.number):
        names = [f"gang-{number}-{which}" for which in range(kills.jobs)]
        assert_whole_after_a_kill(scene, namespace, names, write, after)


def assert_whole_after_a_kill(scene: Scene, namespace: str, names: list[str], write: str, after: bool) -> None:
    api, muster = scene.api, scene.muster
    trap = scene.proxy.set(Trap(is_write_for(set(names), *WRITES[write]), muster.kill, after, count=len(names)))
    made = [api.create("jobs", gang_job(name, SIZE), namespace) for name in names]
    assert trap.sprung.wait(30), f"Muster did not come to write {write}"
    for job in made:
        assert_stopped_there(api, namespace, job, write, after)
    muster.start()
    muster.wait_until_ready()
    for job in made:
        name = job["metadata"]["name"]
        eventually(partial(all_pods, api, namespace, name, SIZE, is_bound), f"{name} is bound", BOUND_SECONDS)
        assert_one_pair(api, namespace, job, SIZE)
        assert_each_event_once(api, namespace, name)


def assert_stopped_there(api: Api, namespace: str, job: Object, write: str, after: bool) -> None:
    """The trap held: exactly that write has or has not happened, and no pod came before its group."""
    plural, reason = WRITES[write]
    if plural == "events":
        found = [e for e in events_on(api, namespace, job["metadata"]["name"]) if e["reason"] == reason]
    else:
        found = controlled_by(api.list(plural, namespace), job["metadata"]["uid"])
    assert len(found) == (1 if after else 0)
    if not controlled_by(api.list("podgroups", namespace), job["metadata"]["uid"]):
        assert not pods_of(api, namespace, job["metadata"]["name"])


def assert_each_event_once(api: Api, namespace: str, name: str) -> None:
    posted = Counter(e["reason"] for e in events_on(api, namespace, name) if e["source"].get("component") == "muster")
    assert set(posted) <= {"WorkloadCreated", "PodGroupCreated", "GangScheduled", "GangWaiting"}
    assert max(posted.values(), default=1) == 1, f"posted twice: {posted}"
