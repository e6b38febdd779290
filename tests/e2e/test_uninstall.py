"""Muster is installed and uninstalled while Jobs are being created, its parts in any order: every Job gets its pods.

`muster leave` prevents split gangs. Without it, a Job whose pods are being created when a part is removed is split.
docs/install.md documents it.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.clusters.cluster import Cluster, bare_cluster, rights
from tests.clusters.leaving import delete_all, leave_as_the_hook_does
from tests.clusters.replicas import NAMESPACE, WEBHOOKS, Replicas, registered
from tests.clusters.waiting import eventually
from tests.e2e.support.stream import Stream


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    made = bare_cluster("uninstall", "--nodes", "8", "--node-cpu", "64")
    yield made
    made.down()


Step = Callable[[Cluster, Replicas], None]


def end_processes(_: Cluster, replicas: Replicas) -> None:
    replicas.stop()


def kill_processes(_: Cluster, replicas: Replicas) -> None:
    for replica in replicas:
        replica.kill()


def delete_roles(cluster: Cluster, _: Replicas) -> None:
    for document in reversed(rights()):
        if document["kind"].startswith("ClusterRole"):
            cluster.api.delete(document["kind"].lower() + "s", document["metadata"]["name"])


def delete_namespace(cluster: Cluster, _: Replicas) -> None:
    cluster.api.delete("namespaces", NAMESPACE)
    eventually(lambda: cluster.api.find("namespaces", NAMESPACE) is None, "Muster's namespace is gone", 60)
    began = time.monotonic()
    eventually(lambda: configurations(cluster) == [], "the webhooks go with their owner", 60, every=0.05)
    print(f"the webhooks went {time.monotonic() - began:.2f} s after the namespace")


def delete_webhooks(cluster: Cluster, _: Replicas) -> None:
    """Muster, if it runs, may not create them again."""
    for kind in configurations(cluster):
        cluster.api.delete(kind, "muster")


def leave(cluster: Cluster, _: Replicas) -> None:
    left = leave_as_the_hook_does(cluster)
    assert (left.code, left.err) == (0, ""), left.out
    assert registered(cluster.api) == []


def configurations(cluster: Cluster) -> list[str]:
    return [kind for kind in WEBHOOKS if cluster.api.find(kind, "muster") is not None]


ORDERS: dict[str, tuple[Step, ...]] = {
    "the roles first": (delete_roles, end_processes, delete_namespace),
    "the processes first, by force": (kill_processes, delete_namespace, delete_roles),
    "the namespace first": (delete_namespace, end_processes, delete_roles),
    "the webhooks first": (delete_webhooks, delete_roles, delete_namespace, end_processes),
    "the webhooks last": (end_processes, delete_namespace, delete_webhooks, delete_roles),
    "left, then the roles": (leave, delete_roles, end_processes, delete_namespace),
    "left, then the processes, by force": (leave, kill_processes, delete_namespace, delete_roles),
    "left, then the namespace": (leave, delete_namespace, end_processes, delete_roles),
}


def deleted_by_hand(cluster: Cluster, replicas: Replicas) -> None:
    """As `kubectl delete namespace` does: the processes go with it. Pods refused meanwhile come once it is gone."""
    kill_processes(cluster, replicas)
    delete_namespace(cluster, replicas)


ORDERS |= {"only the namespace": (deleted_by_hand,)}
IN_EVERY_RUN = {"only the namespace"}


@pytest.mark.parametrize(
    "order", [pytest.param(each, marks=[] if each in IN_EVERY_RUN else pytest.mark.full) for each in ORDERS]
)
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
                with nullcontext() if leave in ORDERS[order] else stream.at_rest():
                    step(cluster, replicas)
                stream.more(1)
            assert configurations(cluster) == []
            stream.more()
        with_gang = stream.outcome().gangs
    assert stream.names[0] not in with_gang, "Muster was not there yet"
    assert with_gang, "Muster was there"
    assert stream.names[-1] not in with_gang, "Muster was not there any more"
    assert "Traceback" not in replicas.logs()
    delete_all(api, place)
