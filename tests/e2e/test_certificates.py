"""Certificates of an installed Muster: whatever becomes of them, the API server gets its answers."""

from collections.abc import Iterator
from functools import partial

import pytest

from tests.clusters.api import Api
from tests.clusters.cluster import Cluster
from tests.clusters.replicas import NAMESPACE, Replicas
from tests.clusters.vault import (
    DAY,
    SECRET,
    all_serve,
    bundle,
    fresh,
    put,
    rotate_leaf,
    secret,
    served_by,
    trusted,
    wait_for_another,
)
from tests.clusters.waiting import eventually
from tests.e2e.support.load import Load

QUICK = {"probeSeconds": 0.3}


@pytest.fixture(scope="module")
def replicas(local: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    with Replicas(local, tmp_path_factory.mktemp("certificates"), settings=QUICK) as running:
        running.wait_until_ready()
        yield running
    assert "Traceback" not in running.logs()


def test_two_replicas_that_start_at_once_share_one_certificate(local: Cluster, api: Api, replicas: Replicas) -> None:
    first, second = (served_by(replica) for replica in replicas)
    assert first == second == bundle(api).leaf.certificate
    made = [
        write
        for write in local.writes_by_muster()
        if write["objectRef"]["resource"] == "secrets" and write["responseStatus"]["code"] == 201
    ]
    assert len(made) == 1
    assert secret(api)["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "muster"}


@pytest.mark.parametrize("count", [10, pytest.param(100, marks=pytest.mark.full)])
@pytest.mark.timeout(900)
def test_rotations_under_load_lose_no_request(api: Api, replicas: Replicas, namespace: str, count: int) -> None:
    seen = set()
    with Load(api, namespace) as load:
        for _ in range(count):
            seen.add(rotate_leaf(api, replicas))
            load.more(3)
    assert load.lost == []
    assert len(seen) == count
    assert load.answered >= 3 * count


@pytest.mark.parametrize("count", [2, pytest.param(20, marks=pytest.mark.full)])
@pytest.mark.timeout(900)
def test_another_authority_under_load_loses_no_request(
    api: Api, replicas: Replicas, namespace: str, count: int
) -> None:
    """Somebody put another pair there, say from a backup. It is served when the API server trusts it, not before."""
    with Load(api, namespace) as load:
        for _ in range(count):
            before, after = bundle(api), fresh()
            put(api, after.data())
            eventually(partial(all_serve, replicas, after.leaf.certificate), "all serve the other one", 60)
            both = {before.authority.certificate, after.authority.certificate}
            assert all(both <= each for each in trusted(api)), "some replica may still serve the old one"
            load.more()
    assert load.lost == []


SPOILED = {
    "deleted": None,
    "empty": {},
    "garbage": {"ca.crt": "Z2FyYmFnZQ==", "ca.key": "Z2FyYmFnZQ==", "tls.crt": "AA==", "tls.key": ""},
    "expired": fresh(age=400 * DAY, authority_age=4000 * DAY).data(),
}


@pytest.mark.parametrize("state", SPOILED)
def test_muster_restores_a_damaged_secret_and_loses_no_request(
    api: Api, replicas: Replicas, namespace: str, state: str
) -> None:
    good, spoiled = secret(api)["data"], SPOILED[state]
    with Load(api, namespace) as load:
        if spoiled is None:
            api.delete("secrets", SECRET, NAMESPACE)
        else:
            put(api, spoiled)
        eventually(lambda: (api.find("secrets", SECRET, NAMESPACE) or {}).get("data") == good, "it is put back", 30)
        load.more()
    assert load.lost == []
    assert [replica.readyz() for replica in replicas] == [(200, "ready")] * 2


def test_a_leaf_for_another_host_is_replaced(api: Api, replicas: Replicas, namespace: str) -> None:
    known = bundle(api)
    foreign = fresh(host="somebody.else.svc")
    with Load(api, namespace) as load:
        put(api, {**known.data(), **{name: foreign.data()[name] for name in ("tls.crt", "tls.key")}})
        wait_for_another(api, replicas, known.leaf.certificate, foreign.leaf.certificate)
        load.more()
    assert load.lost == []
    assert bundle(api).authorities == known.authorities


def test_a_replica_that_starts_with_an_expired_certificate_creates_another(
    api: Api, replicas: Replicas, namespace: str
) -> None:
    """All were away: nobody knows a better one, and the API server trusts only the old authority."""
    replicas.stop()
    old = fresh(age=400 * DAY, authority_age=4000 * DAY)
    put(api, old.data())
    for replica in replicas:
        replica.start()
    replicas.wait_until_ready()
    assert all_serve(replicas, bundle(api).leaf.certificate)
    assert all(old.authority.certificate not in each for each in trusted(api))
    with Load(api, namespace) as load:
        load.more()
    assert load.lost == []
