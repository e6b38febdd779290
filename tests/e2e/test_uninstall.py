"""Muster is installed and uninstalled while Jobs are being created, its parts in any order: every Job gets its pods.

No Job is in the middle of getting its pods when a part is taken away: such a one is split, with some of its pods made
while there was somebody to ask, and some after that. docs/install.md says so.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Self

import pytest

from tests.e2e.support.api import Api
from tests.e2e.support.clusters import Cluster, bare_cluster, rights
from tests.e2e.support.leaving import delete_all
from tests.e2e.support.objects import all_pods, events_on, gang_job, group_of, pods_of
from tests.e2e.support.pairs import pair_of
from tests.e2e.support.replicas import NAMESPACE, WEBHOOKS, Replicas
from tests.e2e.support.waiting import eventually

EVERY_SECONDS = 0.5
SIZE = 4
REFUSED = "FailedCreate"
STARTED_SECONDS = 90
"""The Job controller's longest pause is a minute."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    made = bare_cluster("uninstall", "--nodes", "8", "--node-cpu", "64")
    yield made
    made.down()


class Stream:
    """Somebody who creates one gang after the other, whatever happens."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api, self._namespace = api, namespace
        self.names: list[str] = []
        self._ended, self._turn = threading.Event(), threading.Lock()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(30)

    def more(self, count: int = 3) -> None:
        goal = len(self.names) + count
        eventually(lambda: len(self.names) >= goal, "more Jobs are created")

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Inside the block nobody is created, and each Job has all its pods, or was refused the first."""
        with self._turn:
            eventually(lambda: not self._beginning(), "no Job is in the middle of it", STARTED_SECONDS)
            yield

    def _beginning(self) -> list[str]:
        pods = self._api.list("pods", self._namespace)
        made = Counter(pod["metadata"]["labels"]["batch.kubernetes.io/job-name"] for pod in pods)
        waiting = [name for name in self.names if made[name] < SIZE]
        return [name for name in waiting if made[name] or not events_on(self._api, self._namespace, name, REFUSED)]

    def _run(self) -> None:
        while not self._ended.wait(EVERY_SECONDS):
            with self._turn:
                name = f"gang-{len(self.names)}"
                self._api.create("jobs", gang_job(name, SIZE, cpu="10m"), self._namespace)
                self.names.append(name)


Step = Callable[[Api, Replicas], None]


def end_processes(_: Api, replicas: Replicas) -> None:
    replicas.stop()


def kill_processes(_: Api, replicas: Replicas) -> None:
    for replica in replicas:
        replica.kill()


def delete_roles(api: Api, _: Replicas) -> None:
    for document in reversed(rights()):
        if document["kind"].startswith("ClusterRole"):
            api.delete(document["kind"].lower() + "s", document["metadata"]["name"])
    eventually(lambda: not any(api.find(kind, "muster") for kind in WEBHOOKS), "the webhooks go with their owner", 60)


def delete_namespace(api: Api, _: Replicas) -> None:
    api.delete("namespaces", NAMESPACE)
    eventually(lambda: api.find("namespaces", NAMESPACE) is None, "Muster's namespace is gone", 60)


def delete_webhooks(api: Api, _: Replicas) -> None:
    """Muster, if it runs, registers them again."""
    for kind in WEBHOOKS:
        if api.find(kind, "muster") is not None:
            api.delete(kind, "muster")


ORDERS: dict[str, tuple[Step, ...]] = {
    "the roles first": (delete_roles, end_processes, delete_namespace),
    "the processes first, by force": (kill_processes, delete_namespace, delete_roles),
    "the namespace first": (delete_namespace, end_processes, delete_roles),
    "the webhooks first": (delete_webhooks, delete_roles, delete_namespace, end_processes),
    "the webhooks last": (end_processes, delete_namespace, delete_webhooks, delete_roles),
}


@pytest.mark.parametrize("order", [pytest.param(each, marks=pytest.mark.full) for each in ORDERS])
def test_no_job_is_disturbed_and_no_webhook_stays(cluster: Cluster, order: str, tmp_path: Path) -> None:
    api = cluster.api
    place = api.create("namespaces", {"metadata": {"generateName": "test-"}})["metadata"]["name"]
    with Stream(api, place) as stream:
        stream.more()
        cluster.install_rights()
        with Replicas(cluster, tmp_path, count=1) as replicas:
            stream.more(1)
            replicas.wait_until_ready()
            stream.more()
            for step in ORDERS[order]:
                with stream.at_rest():
                    step(api, replicas)
                stream.more(1)
            assert not any(api.find(kind, "muster") for kind in WEBHOOKS)
            stream.more()
    with_gang = [name for name in stream.names if is_whole(api, place, name)]
    assert stream.names[0] not in with_gang, "Muster was not there yet"
    assert with_gang, "Muster was there"
    assert stream.names[-1] not in with_gang, "Muster was not there any more"
    assert "Traceback" not in replicas.logs()
    delete_all(api, place)


def is_whole(api: Api, place: str, name: str) -> bool:
    """All its pods are there, in one group or all in none; True if in one."""
    pods = eventually(partial(all_pods, api, place, name, SIZE), f"{name} has its pods", STARTED_SECONDS)
    groups = {group_of(pod) for pod in pods}
    assert len(groups) == 1, f"{name} is half in and half out: {[group_of(pod) for pod in pods_of(api, place, name)]}"
    if groups != {None}:
        _, (group,) = pair_of(api, place, api.get("jobs", name, place))
        assert groups == {group["metadata"]["name"]}
    return groups != {None}
