"""Where the certificate comes from: replicas share one Secret, and restore it; files are read as they are."""

import asyncio
import base64
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from muster.kube.client import Object
from muster.kube.errors import Conflict, KubeError, NotFound
from muster.kube.resources import Resource
from muster.serving.certificates import self_signed
from muster.serving.rotation import CA_CERTIFICATE, CERTIFICATE, KEY, Plan, Unusable
from muster.serving.sources import Files, SharedSecret
from tests.fake_cluster import USER, FakeClient, FakeCluster

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
HOST = "muster.muster-system.svc"
PLACE = ("secrets", "muster-system", "muster-certificates")
DAY = timedelta(days=1)


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster()


def replica(cluster: FakeCluster, clock: Clock, client: FakeClient | None = None) -> SharedSecret:
    plan = Plan((HOST,), 3650 * DAY, 90 * DAY)
    return SharedSecret(client or FakeClient(cluster), *PLACE[1:], plan, clock)


async def test_the_first_replica_creates_the_secret_and_a_settled_one_costs_no_write(
    cluster: FakeCluster, clock: Clock
) -> None:
    first, second = replica(cluster, clock), replica(cluster, clock)
    served = await first.read()
    assert (await second.read(), await first.read()) == (served, served)
    assert cluster.revision == 1
    (secret,) = cluster.find("secrets")
    assert (secret["type"], set(secret["data"])) == ("Opaque", {"ca.crt", "ca.key", "tls.crt", "tls.key"})
    assert served.problem(HOST, NOW) == ""


class WithoutNamespace(FakeClient):
    async def create(self, resource: Resource, namespace: str, body: Object) -> Object:
        raise NotFound(f'namespaces "{namespace}" not found')


async def test_a_namespace_that_is_missing_is_named_as_the_cause(cluster: FakeCluster, clock: Clock) -> None:
    with pytest.raises(KubeError, match="namespace muster-system does not exist"):
        await replica(cluster, clock, WithoutNamespace(cluster)).read()


@pytest.mark.parametrize("count", [2, 8])
async def test_replicas_that_start_together_agree_on_one_certificate(
    cluster: FakeCluster, clock: Clock, count: int
) -> None:
    served = await asyncio.gather(*(replica(cluster, clock).read() for _ in range(count)))
    assert len(set(served)) == 1
    assert cluster.revision == 1


SPOILERS: dict[str, Callable[[Object], None]] = {
    "emptied": lambda secret: secret.pop("data"),
    "garbage in it": lambda secret: secret["data"].update({"ca.crt": base64.b64encode(b"garbage").decode()}),
    "without the authority's key": lambda secret: secret["data"].pop("ca.key"),
}


@pytest.mark.parametrize("spoil", SPOILERS.values(), ids=list(SPOILERS))
async def test_a_damaged_secret_is_restored(
    cluster: FakeCluster, clock: Clock, spoil: Callable[[Object], None]
) -> None:
    running, other = replica(cluster, clock), replica(cluster, clock)
    served = await running.read()
    await other.read()
    cluster.update(*PLACE, spoil, USER)
    assert set(await asyncio.gather(running.read(), other.read())) == {served}
    assert cluster.revision == 3


async def test_a_deleted_secret_is_restored(cluster: FakeCluster, clock: Clock) -> None:
    running, other = replica(cluster, clock), replica(cluster, clock)
    served = await running.read()
    await other.read()
    cluster.remove(*PLACE, actor=USER)
    assert set(await asyncio.gather(running.read(), other.read())) == {served}
    assert len(cluster.find("secrets")) == 1


async def test_a_new_process_replaces_an_unusable_secret(cluster: FakeCluster, clock: Clock) -> None:
    before = await replica(cluster, clock).read()
    cluster.update(*PLACE, SPOILERS["without the authority's key"], USER)
    after = await asyncio.gather(*(replica(cluster, clock).read() for _ in range(3)))
    assert len(set(after)) == 1
    assert after[0] != before


async def test_labels_of_others_on_the_secret_stay(cluster: FakeCluster, clock: Clock) -> None:
    cluster.create(
        *PLACE[:2], {"metadata": {"name": PLACE[2], "labels": {"team": "a"}}, "type": "kubernetes.io/tls"}, USER
    )
    await replica(cluster, clock).read()
    (secret,) = cluster.find("secrets")
    assert secret["metadata"]["labels"] == {"team": "a"}
    assert secret["type"] == "kubernetes.io/tls", "the API server would refuse another one"


async def test_replicas_renew_a_leaf_once(cluster: FakeCluster, clock: Clock) -> None:
    replicas = [replica(cluster, clock) for _ in range(3)]
    before = await asyncio.gather(*(each.read() for each in replicas))
    clock.now += 61 * DAY
    after = await asyncio.gather(*(each.read() for each in replicas))
    assert len(set(after)) == 1
    assert after[0].authority == before[0].authority
    assert after[0].certificate != before[0].certificate
    assert cluster.revision == 2


async def test_a_secret_that_keeps_changing_is_an_error(cluster: FakeCluster, clock: Clock) -> None:
    class Contended(FakeClient):
        async def replace(self, resource: Resource, namespace: str, name: str, body: Object) -> Object:
            raise Conflict("changed")

    cluster.create(*PLACE[:2], {"metadata": {"name": PLACE[2]}}, USER)
    with pytest.raises(Conflict, match="keeps changing"):
        await replica(cluster, clock, Contended(cluster)).read()


async def test_a_secret_that_vanishes_before_the_write_is_created_again(cluster: FakeCluster, clock: Clock) -> None:
    class Vanishing(FakeClient):
        async def replace(self, resource: Resource, namespace: str, name: str, body: Object) -> Object:
            self.cluster.remove(*PLACE, actor=USER)
            raise NotFound("gone")

    cluster.create(*PLACE[:2], {"metadata": {"name": PLACE[2]}}, USER)
    assert (await replica(cluster, clock, Vanishing(cluster)).read()).problem(HOST, NOW) == ""


def put(directory: Path, host: str = HOST) -> None:
    made = self_signed(host)
    for name, content in {CA_CERTIFICATE: made.authority, CERTIFICATE: made.certificate, KEY: made.private_key}.items():
        (directory / name).write_bytes(content)


def files(directory: Path) -> Files:
    return Files(directory, HOST, lambda: datetime.now(UTC))


async def test_files_are_read_anew_each_time(tmp_path: Path) -> None:
    put(tmp_path)
    first = await files(tmp_path).read()
    put(tmp_path)
    assert await files(tmp_path).read() != first


BAD_FILES: dict[str, tuple[Callable[[Path], None], str]] = {
    "nothing there": (lambda directory: (directory / KEY).unlink(), "tls.key cannot be used: No such file"),
    "no certificate": (lambda directory: _write(directory, CERTIFICATE, b"x"), "cannot be used"),
    "no authority": (lambda directory: _write(directory, CA_CERTIFICATE, b"x"), "cannot be read"),
    "half written": (lambda directory: _write(directory, KEY, self_signed(HOST).private_key), "cannot be used"),
    "for somebody else": (lambda directory: put(directory, "x"), f"cannot be used: it is not for {HOST}"),
    "another authority": (
        lambda directory: _write(directory, CA_CERTIFICATE, self_signed(HOST).authority),
        "it is not signed by the authority in ca.crt",
    ),
}


@pytest.mark.parametrize(("spoil", "why"), BAD_FILES.values(), ids=list(BAD_FILES))
async def test_unusable_files_are_an_error(spoil: Callable[[Path], None], why: str, tmp_path: Path) -> None:
    put(tmp_path)
    spoil(tmp_path)
    with pytest.raises(Unusable) as raised:
        await files(tmp_path).read()
    assert why in str(raised.value)
    assert str(raised.value).isprintable()


def _write(directory: Path, name: str, content: bytes) -> None:
    (directory / name).write_bytes(content)
