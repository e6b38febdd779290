"""A bug in Muster concerns one Job or one task: the process lives, and a gang beside it starts normally."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest

from tests.clusters.api import Api, ApiError
from tests.clusters.cluster import Cluster, start_cluster
from tests.clusters.objects import all_pods, asking, events_on, gang_job, group_of, is_bound, job, pods_of
from tests.clusters.pairs import assert_one_pair, pair_of
from tests.clusters.replicas import NAMESPACE, Replica, Replicas
from tests.clusters.site import install_crds
from tests.clusters.waiting import always, eventually
from tests.e2e.support import planted

SIZE = 3
SECONDS = 60
ERRORS, RESTARTS = "muster_internal_errors_total", "muster_task_restarts_total"


class Planted:
    """Two replicas with the same planted bugs, and the switches for their tasks."""

    def __init__(self, replicas: Replicas, folder: Path) -> None:
        self.replicas, self._folder = replicas, folder
        for replica in replicas:
            (folder / replica.name).mkdir()

    def leader(self) -> Replica:
        def who() -> Replica | None:
            lease = self.replicas.api.find("leases", "muster", NAMESPACE)
            holder = lease["spec"].get("holderIdentity") if lease else ""
            return next((each for each in self.replicas if each.identity == holder), None)

        return eventually(who, "one of the replicas leads")

    def switch(self, replica: Replica, task: str) -> Path:
        return self._folder / replica.name / task

    def assert_alive(self) -> None:
        assert all(replica.running for replica in self.replicas)
        assert "Traceback" not in self.replicas.logs()


@contextmanager
def begun(cluster: Cluster, folder: Path, count: int, **settings: object) -> Iterator[Planted]:
    switches = folder / "switches"
    switches.mkdir()
    program = (sys.executable, "-P", planted.__file__, str(switches))
    chosen = {"resyncSeconds": 3, "leadership": {"durationSeconds": 6, "renewSeconds": 2}, **settings}
    with Replicas(cluster, folder, count, chosen, program=program) as replicas:
        made = Planted(replicas, switches)
        replicas.wait_until_ready()
        yield made
        codes = [replica.terminate() for replica in replicas]  # one SIGTERM each
    assert codes == [0] * count, "SIGTERM ends it in order"


@pytest.fixture(scope="module")
def muster(local: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planted]:
    with begun(local, tmp_path_factory.mktemp("planted"), 2) as made:
        yield made


def metric(replica: Replica, name: str, task: str) -> float:
    found = re.search(rf'^{name}{{task="{task}"}} (\S+)$', replica.metrics(), re.MULTILINE)
    return float(found[1]) if found else 0.0


def sum_of(muster: Planted, task: str) -> float:
    return sum(metric(replica, ERRORS, task) for replica in muster.replicas)


def assert_starts_as_a_gang(api: Api, namespace: str, name: str) -> None:
    eventually(partial(all_pods, api, namespace, name, SIZE, is_bound), f"the pods of {name} are bound", SECONDS)
    assert_one_pair(api, namespace, api.get("jobs", name, namespace), SIZE)


def assert_waits(api: Api, namespace: str, name: str) -> None:
    """No pod, and the Job controller's own event has the sentence."""

    def refused() -> bool:
        events = events_on(api, namespace, name, "FailedCreate")
        return any("PlantedBug, which is a bug in Muster" in event["message"] for event in events)

    eventually(refused, "the refusal says that it is a bug in Muster", SECONDS)
    assert not pods_of(api, namespace, name)


WAITS, STARTS = assert_waits, assert_starts_as_a_gang


@dataclass(frozen=True)
class Stage:
    task: str
    """Who counts the bug."""
    outcome: object
    event: bool = True


STAGES = {
    "observe": Stage("jobs", WAITS),
    "decide": Stage("pods", WAITS),
    "resync": Stage("resync", STARTS),
    "execute": Stage("jobs", WAITS),
    "report": Stage("jobs", STARTS),
    "posting": Stage("events", STARTS, event=False),
    "reconcile": Stage("jobs", STARTS),
    "pod-webhook": Stage("pods", WAITS),
    "status": Stage("gang-status", STARTS),
    "watch": Stage("watch", STARTS),
    "parse": Stage("watch", WAITS, event=False),
}
IN_EVERY_RUN = {"decide", "execute", "status"}


@pytest.mark.parametrize(
    "stage", [pytest.param(each, marks=[] if each in IN_EVERY_RUN else pytest.mark.full) for each in STAGES]
)
def test_a_bug_on_one_job_concerns_that_job_alone(api: Api, muster: Planted, namespace: str, stage: str) -> None:
    bad, expected, before = f"bad-{stage}", STAGES[stage], sum_of(muster, STAGES[stage].task)
    for name in (bad, "good"):
        api.create("jobs", gang_job(name, SIZE), namespace)
    assert_starts_as_a_gang(api, namespace, "good")
    expected.outcome(api, namespace, bad)  # type: ignore[operator]
    eventually(lambda: sum_of(muster, expected.task) > before, "the bug is counted", SECONDS)
    if expected.event:
        assert_one_event(api, namespace, bad)
    assert not events_on(api, namespace, "good", "InternalError")
    muster.assert_alive()
    assert all(replica.readyz() == (200, "ready") for replica in muster.replicas)


def assert_one_event(api: Api, namespace: str, name: str) -> None:
    """However often it is tried again, and by both replicas."""
    (event,) = eventually(partial(events_on, api, namespace, name, "InternalError"), "the event", SECONDS)
    assert event["type"] == "Warning"
    assert event["message"].startswith("Muster failed on this Job with PlantedBug, which is a bug in Muster.")
    assert "excludedNamespaces" in event["message"], "what to do is not cut off"
    always(lambda: len(events_on(api, namespace, name, "InternalError")) == 1, "there is one event", 1, every=0.3)


def test_a_bug_in_the_guard_refuses_that_change_alone(api: Api, muster: Planted, namespace: str) -> None:
    for name in ("bad-guard", "good"):
        body = job(name, parallelism=1, completions=SIZE, completionMode="Indexed")
        api.create("jobs", body, namespace)
    with pytest.raises(ApiError) as refused:
        api.patch("jobs", "bad-guard", {"spec": {"parallelism": 2}}, namespace)
    assert refused.value.status == 403
    assert "muster: failed on Job 'bad-guard' with PlantedBug, which is a bug in Muster" in refused.value.message
    api.patch("jobs", "good", {"spec": {"parallelism": 2}}, namespace)
    assert_one_event(api, namespace, "bad-guard")
    assert sum_of(muster, "parallelism-guard") > 0
    muster.assert_alive()


@pytest.mark.full
def test_a_bug_in_the_advice_about_intents_refuses_nothing(api: Api, muster: Planted, namespace: str) -> None:
    wrong = '{"nonsense": 1}'
    assert not api.warnings("jobs", "", asking(gang_job("bad-intents", SIZE), wrong), namespace)
    assert api.warnings("jobs", "", asking(gang_job("good", SIZE), wrong), namespace)
    assert sum_of(muster, "intents") > 0
    muster.assert_alive()


TASKS = [
    "generation",
    "events",
    "certificates",
    "leader-election",
    "leader-work",
    "api-probe",
    "resync",
    "watch",
    "webhooks",
    "jobs",
    "gang-status",
    "admission-port",
]


@pytest.mark.parametrize(
    "task", [pytest.param(each, marks=[] if each == "resync" else pytest.mark.full) for each in TASKS]
)
def test_a_task_that_keeps_dying_makes_its_replica_not_ready_until_it_lives(
    api: Api, muster: Planted, namespace: str, task: str
) -> None:
    """The other replica answers meanwhile."""
    replica = muster.leader()
    switch = muster.switch(replica, task)
    switch.write_text("always")
    try:
        sentence = f"the task {task} keeps failing with PlantedBug, which is a bug in Muster; its log says where"
        eventually(
            lambda: replica.readyz()[0] == 503 and sentence in replica.readyz()[1], "/readyz reports it", SECONDS
        )
        api.create("jobs", gang_job("good", SIZE), namespace)
        assert_starts_as_a_gang(api, namespace, "good")
    finally:
        switch.unlink()
    assert metric(replica, RESTARTS, task) >= 3
    eventually(lambda: replica.readyz() == (200, "ready"), "the replica is ready again", SECONDS)
    muster.assert_alive()


INNER_TASKS = [task for task in TASKS if task not in {"generation", "leader-work"}]
"""Without those that run others: their death cancels the tasks in them, which then do not die by themselves."""


@pytest.mark.full
def test_every_task_may_die_once(api: Api, muster: Planted, namespace: str) -> None:
    """All at once, and on both replicas: each starts again, and the gang beside them starts."""
    muster.leader()
    before = {
        (replica.name, task): metric(replica, RESTARTS, task) for replica in muster.replicas for task in INNER_TASKS
    }
    for replica in muster.replicas:
        for task in INNER_TASKS:
            muster.switch(replica, task).write_text("once")

    def restarted(replica: Replica, task: str) -> bool:
        return metric(replica, RESTARTS, task) > before[replica.name, task]

    eventually(
        lambda: all(any(restarted(replica, task) for replica in muster.replicas) for task in INNER_TASKS),
        "each task died",
        SECONDS,
    )
    for replica in muster.replicas:  # those of the leader's work do not run on the other one
        for task in INNER_TASKS:
            muster.switch(replica, task).unlink(missing_ok=True)
    api.create("jobs", gang_job("good", SIZE), namespace)
    assert_starts_as_a_gang(api, namespace, "good")
    for replica in muster.replicas:
        eventually(partial(is_ready, replica), "the replica is ready", SECONDS)
    muster.assert_alive()


def is_ready(replica: Replica) -> bool:
    return replica.readyz() == (200, "ready")


IGNORE = {"pods": {"failurePolicy": "Ignore", "timeoutSeconds": 20}}
"""So long that no call is lost to a busy machine: what passes without its gang does so for the planted bug."""


@pytest.mark.full
def test_on_crd_profiles_a_bug_concerns_one_pod_group(tmp_path: Path) -> None:
    """With CRDs, and with `failurePolicy: Ignore`: what Muster fails on passes without its gang."""
    cluster = start_cluster("planted", "--profile", "stock", "--nodes", "4", "--node-cpu", "16")
    try:
        cluster = replace(cluster, scheduling_group="scheduling.muster.dev")
        install_crds(cluster)
        api = cluster.api
        with begun(cluster, tmp_path, 1, webhooks=IGNORE) as muster:
            for name in ("bad-protection", "bad-member", "bad-pod-webhook", "good"):
                api.create("jobs", gang_job(name, SIZE), "default")
            for name in ("bad-protection", "bad-member", "good"):
                assert_starts_as_a_gang(api, "default", name)
            eventually(partial(is_marked_scheduled, api, "good"), "the PodGroup is marked as scheduled", SECONDS)
            for task in ("podgroup-protection", "pod-reflector", "pods"):
                eventually(lambda task=task: sum_of(muster, task) > 0, f"{task} counts the bug", SECONDS)  # type: ignore[misc]
            assert not is_marked_scheduled(api, "bad-protection")
            plain = eventually(
                partial(all_pods, api, "default", "bad-pod-webhook", SIZE, is_bound), "plain pods", SECONDS
            )
            assert {group_of(pod) for pod in plain} == {None}
            assert_one_event(api, "default", "bad-pod-webhook")
            muster.assert_alive()
    finally:
        cluster.down()


def is_marked_scheduled(api: Api, name: str) -> bool:
    _, (group,) = pair_of(api, "default", api.get("jobs", name, "default"))
    conditions = group.get("status", {}).get("conditions", [])
    return any(each["type"] == "PodGroupScheduled" and each["status"] == "True" for each in conditions)
