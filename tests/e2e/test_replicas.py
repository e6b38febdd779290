"""Several replicas: which one leads, how fast another one takes over, and that safety does not depend on a leader."""

import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.clusters.api import Api, ApiError, Object
from tests.clusters.audit import touches_jobs_or_pods
from tests.clusters.cluster import Cluster
from tests.clusters.objects import all_pods, events_on, gang_job, is_bound, pods_of
from tests.clusters.pairs import assert_one_pair, pair_of
from tests.clusters.replicas import NAMESPACE, Replica, Replicas
from tests.clusters.waiting import always, eventually
from tests.e2e.support.invariants import Invariants
from tests.e2e.support.relay import Answer, Call, Relay, failure

SIZE = 3
JOB_NAME = "batch.kubernetes.io/job-name"
KILLED_SECONDS, RELEASED_SECONDS = 20.0, 5.0
"""The promises: from the end of a leader to the next one's first write."""


@contextmanager
def installed(cluster: Cluster, folder: Path, count: int = 2, **settings: object) -> Iterator[Replicas]:
    with Replicas(cluster, folder, count, settings) as running:
        running.wait_until_ready()
        yield running
    assert "Traceback" not in running.logs()


def leader(api: Api, replicas: Replicas) -> Replica:
    def who() -> Replica | None:
        lease = api.find("leases", "muster", NAMESPACE)
        holder = lease["spec"].get("holderIdentity") if lease else ""
        return next((each for each in replicas if each.running and each.identity == holder), None)

    return eventually(who, "one of the replicas leads")


def seconds_until_next_write(
    api: Api, replicas: Replicas, namespace: str, name: str, end: Callable[[], object]
) -> float:
    """From the leader's end to the pair of a Job that only a leader creates: no pod of it reaches a webhook."""
    with replicas.relay.cut():
        began = time.monotonic()
        end()
        made = api.create("jobs", gang_job(name, SIZE), namespace)
        eventually(lambda: all(pair_of(api, namespace, made)), "the next leader makes the pair", 60, every=0.05)
        taken = time.monotonic() - began
        assert not pods_of(api, namespace, name)
    return taken


class Load:
    """Gangs that are made all the time, and some that are deleted and made again under their name."""

    def __init__(self, api: Api, namespace: str, every_seconds: float, churn: float = 0.0) -> None:
        self._api, self._namespace, self._every, self._churn = api, namespace, every_seconds, churn
        self._chance = random.Random(7)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.names: list[str] = []
        self.problems: list[str] = []
        self.remade = self.deleted = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self._stop.set()
            self._thread.join(30)

    def _run(self) -> None:
        for number in itertools.count():
            if self._stop.wait(self._every):
                return
            try:
                self._step(f"gang-{number}")
            except ApiError as error:
                self.problems.append(str(error))

    def _step(self, name: str) -> None:
        self._create(name)
        if self._chance.random() < self._churn:
            gone = self._chance.choice(self.names[-4:])
            self._api.delete("jobs", gone, self._namespace)
            self.names.remove(gone)
            self.deleted += 1
        if self._chance.random() < self._churn and (settled := [n for n in self.names if self._has_its_pods(n)]):
            again = self._chance.choice(settled)
            self._api.delete("jobs", again, self._namespace)
            self.names.remove(again)
            self._create(again)
            self.remade += 1

    def _create(self, name: str) -> None:
        self._api.create("jobs", gang_job(name, SIZE, cpu="10m"), self._namespace)
        self.names.append(name)

    def _has_its_pods(self, name: str) -> bool:
        """The Job controller counts by name what it has asked for: a Job that is replaced while its pods are being
        created waits for those of the one before it, for five minutes, no matter which replica answers the webhook."""
        return len(pods_of(self._api, self._namespace, name)) == SIZE


def assert_all_whole(api: Api, namespace: str, load: Load, watched: Invariants) -> None:
    """Every Job has its pods, as one gang, with one pair; and that was so at every revision."""
    assert not load.problems, "a Job is always accepted"

    eventually(lambda: all_bound(api, namespace, load.names), "every pod of every gang is bound", 120, every=0.5)
    jobs = {job["metadata"]["uid"] for job in api.list("jobs", namespace)}

    def no_orphans() -> bool:
        for kind in ("workloads", "podgroups"):
            assert len(api.list(kind, namespace)) == len(jobs), f"{kind} that have outlived their Job"
        return True

    eventually(no_orphans, "the collector has done its work", 90, every=0.5)
    for job in api.list("jobs", namespace):
        assert_one_pair(api, namespace, job, SIZE)
    eventually(watched.has_seen_everything, "the watches have shown everything")
    problems = watched.broken()
    assert not problems, "\n".join(problems[:20])
    print(f"{len(load.names)} Jobs, {load.deleted} deleted, {load.remade} made again, {watched.pods_made()} pods made")


def all_bound(api: Api, namespace: str, names: list[str]) -> bool:
    bound = Counter(pod["metadata"]["labels"][JOB_NAME] for pod in api.list("pods", namespace) if is_staying(pod))
    for name in names:
        assert bound[name] == SIZE, f"{name} has {bound[name]} pods on nodes; {last_words(api, namespace, name)}"
    return True


def is_staying(pod: Object) -> bool:
    return is_bound(pod) and "deletionTimestamp" not in pod["metadata"]


def last_words(api: Api, namespace: str, name: str) -> list[str]:
    """The state of the pods and the events on the Job."""
    pods = [f"{pod['metadata']['name']}: {pod['status']}" for pod in pods_of(api, namespace, name)]
    return [*pods, *(f"{event['reason']}: {event['message']}" for event in events_on(api, namespace, name))]


LOADS = [5, pytest.param(120, marks=[pytest.mark.full, pytest.mark.timeout(900)])]


@pytest.mark.parametrize("seconds", LOADS)
def test_two_leaders_at_once_break_nothing(local: Cluster, namespace: str, tmp_path: Path, seconds: int) -> None:
    api = local.api
    with installed(local, tmp_path, leadership={"enabled": False}) as replicas:
        assert all("muster_leader 1.0" in each.metrics() for each in replicas)
        began = local.audit_position()
        load = Load(api, namespace, every_seconds=0.25, churn=0.3)
        with Invariants(api, namespace) as watched:
            with load.running():
                time.sleep(seconds)
            assert_all_whole(api, namespace, load, watched)
        assert load.remade
        assert load.deleted
        assert not [write for write in local.writes_by_muster(began) if touches_jobs_or_pods(write)]


@pytest.mark.full
def test_replicas_whose_watching_is_dead_still_admit(local: Cluster, namespace: str, tmp_path: Path) -> None:
    """The streams end again and again, whatever the supervisor tries; all other calls go well."""
    api, relay = local.api, Relay(local.muster_kubeconfig()).listen()
    ended: set[str] = set()

    def end_streams(call: Call) -> Answer | None:
        if not call.is_watch or "fieldSelector" in call.query:  # the latter only asks whether it may watch
            return None
        ended.add(call.plural)
        return failure(404)

    with Replicas(local, tmp_path, 2, kubeconfig=relay.kubeconfig(tmp_path)) as replicas:
        replicas.wait_until_ready()
        with relay.meddling(end_streams):
            relay.cut_watches()
            eventually(lambda: {"jobs", "workloads", "podgroups"} <= ended, "every stream has ended", 90)
            made = api.create("jobs", gang_job("train", SIZE), namespace)
            eventually(lambda: all_pods(api, namespace, "train", SIZE, is_bound), "the gang starts", 90)
            assert_one_pair(api, namespace, made, SIZE)
            assert all(each.running and each.readyz()[0] == 200 for each in replicas)
    relay.close()


@pytest.fixture(scope="module")
def replicas(local: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    """Two, of which one leads. Tests that need others come before those that use this one: a cluster has one Muster."""
    with installed(local, tmp_path_factory.mktemp("replicas")) as running:
        yield running


def test_only_the_leader_does_eager_work_and_its_gauge_is_1(api: Api, replicas: Replicas, namespace: str) -> None:
    leading = leader(api, replicas)
    gauges = {each.identity: "muster_leader 1.0" in each.metrics() for each in replicas}
    assert gauges == {each.identity: each is leading for each in replicas}
    seconds_until_next_write(api, replicas, namespace, "train", lambda: None)
    others = "".join(each.log() for each in replicas if each is not leading)
    assert f"{namespace}/train" in leading.log()
    assert f"{namespace}/train" not in others
    always(lambda: leader(api, replicas) is leading, "it still leads", 2)


TAKEOVERS = [1, pytest.param(25, marks=[pytest.mark.full, pytest.mark.timeout(1800)])]


@pytest.mark.parametrize("times", TAKEOVERS)
@pytest.mark.parametrize("how", ["released", "killed"])
def test_another_replica_takes_over_in_time(api: Api, replicas: Replicas, namespace: str, how: str, times: int) -> None:
    taken, names = list[float](), [f"gang-{number}" for number in range(times)]
    for name in names:
        leading = leader(api, replicas)
        end = leading.kill if how == "killed" else leading.terminate
        taken.append(seconds_until_next_write(api, replicas, namespace, name, end))
        leading.start()
        replicas.wait_until_ready()
    eventually(lambda: all_bound(api, namespace, names), "every gang starts", 90)
    eventually(lambda: has_one_event_each(api, namespace, names), "each has one event, from the leader")
    print(f"leader {how} {times} times: the next write came after {max(taken):.1f} s at most: {taken}")
    assert max(taken) < (KILLED_SECONDS if how == "killed" else RELEASED_SECONDS)


def has_one_event_each(api: Api, namespace: str, names: list[str]) -> bool:
    return [len(events_on(api, namespace, name, "GangScheduled")) for name in names] == [1] * len(names)


ROUNDS = [1, pytest.param(10, marks=[pytest.mark.full, pytest.mark.timeout(1800)])]


@pytest.mark.parametrize("rounds", ROUNDS)
def test_a_rolling_restart_under_load_loses_no_pod_and_no_gang(
    api: Api, replicas: Replicas, namespace: str, rounds: int
) -> None:
    load = Load(api, namespace, every_seconds=0.5)
    with Invariants(api, namespace) as watched:
        with load.running():
            for replica in [*replicas] * rounds:
                assert replica.terminate() == 0
                replica.start()
                replica.wait_until_ready()
        assert_all_whole(api, namespace, load, watched)
