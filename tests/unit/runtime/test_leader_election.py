"""Leader election with a Lease, and the work that runs while leading."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from muster.core.election import Terms
from muster.kube.client import Object
from muster.kube.errors import KubeError, NotFound, ServerFault
from muster.kube.resources import LEASES, Resource
from muster.runtime import leader_election
from muster.runtime.leader_election import Alone, Leadership
from tests.fake_cluster import USER, FakeClient, FakeCluster

STEP_SECONDS = 0.005


class Shaky(FakeClient):
    """Fails on demand."""

    error: KubeError | None = None

    async def get(self, resource: Resource, namespace: str, name: str) -> Object:
        if self.error is not None:
            raise self.error
        return await super().get(resource, namespace, name)

    async def replace(self, resource: Resource, namespace: str, name: str, body: Object) -> Object:
        if self.error is not None:
            raise self.error
        return await super().replace(resource, namespace, name, body)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leader_election, "LOOK_SECONDS", 0.01)


def a_replica(cluster: FakeCluster, name: str) -> Leadership:
    return Leadership(Shaky(cluster), "muster-system", "muster", Terms(name, duration_seconds=0.6, renew_seconds=0.05))


@asynccontextmanager
async def running(*replicas: Leadership) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(replica.run()) for replica in replicas]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def until(check: Callable[[], bool], seconds: float = 5.0) -> None:
    for _ in range(int(seconds / STEP_SECONDS)):
        if check():
            return
        await asyncio.sleep(STEP_SECONDS)
    raise AssertionError(f"it did not happen within {seconds} s")


def the_lease(cluster: FakeCluster) -> Object:
    (lease,) = cluster.find("leases")
    spec: Object = lease["spec"]
    return spec


async def test_one_of_two_replicas_leads_and_the_other_takes_over_on_release() -> None:
    cluster = FakeCluster()
    first, second = a_replica(cluster, "first"), a_replica(cluster, "second")
    async with running(first):
        await until(first.leads)
        async with running(second):
            await asyncio.sleep(0.2)
            assert (first.leads(), second.leads()) == (True, False)
            await first.release()
            assert not first.leads()
            await until(second.leads, 0.3)
    assert (the_lease(cluster)["holderIdentity"], the_lease(cluster)["leaseTransitions"]) == ("second", 1)


async def test_a_replica_takes_over_once_the_lease_of_a_dead_leader_expires() -> None:
    cluster = FakeCluster()
    first, second = a_replica(cluster, "first"), a_replica(cluster, "second")
    async with running(first):
        await until(first.leads)
    async with running(second):
        await until(second.leads, 3)
        assert not first.leads(), "its time was up before"


async def test_a_leader_survives_errors_for_a_while_and_then_steps_down() -> None:
    cluster = FakeCluster()
    replica = a_replica(cluster, "only")
    async with running(replica):
        await until(replica.leads)
        assert isinstance(replica.client, Shaky)
        replica.client.error = ServerFault("etcd is away")
        await asyncio.sleep(0.1)
        assert replica.leads(), "one lost renewal is no reason"
        await until(lambda: not replica.leads(), 1)
        replica.client.error = None
        await until(replica.leads, 1)


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({}, id="an empty Lease"),
        pytest.param({"holderIdentity": "nobody", "leaseDurationSeconds": 10**9}, id="a duration of ages"),
        pytest.param({"holderIdentity": "", "leaseTransitions": -5}, id="a negative count"),
        pytest.param({"holderIdentity": "x", "renewTime": "9999-12-31T23:59:59Z"}, id="a time in the far future"),
    ],
)
async def test_a_replica_takes_over_any_malformed_lease(spec: Object) -> None:
    cluster = FakeCluster()
    cluster.create("leases", "muster-system", {"metadata": {"name": "muster"}, "spec": spec}, USER)
    replica = a_replica(cluster, "only")
    async with running(replica):
        await until(replica.leads, 3)


async def test_the_holder_creates_a_deleted_lease_again() -> None:
    cluster = FakeCluster()
    first, second = a_replica(cluster, "first"), a_replica(cluster, "second")
    async with running(first):
        await until(first.leads)
        async with running(second):
            await asyncio.sleep(0.05)
            cluster.remove("leases", "muster-system", "muster", USER)
            await until(lambda: bool(cluster.find("leases")))
            await asyncio.sleep(0.1)
            assert (first.leads(), second.leads()) == (True, False)


class Work:
    def __init__(self) -> None:
        self.begun = self.ended = 0

    async def __call__(self) -> None:
        self.begun += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.ended += 1


async def test_the_work_runs_while_the_replica_leads() -> None:
    cluster, work = FakeCluster(), Work()
    replica = a_replica(cluster, "only")
    working = asyncio.create_task(replica.while_leading(work))
    async with running(replica):
        await until(lambda: work.begun == 1)
        cluster.update(
            "leases", "muster-system", "muster", lambda lease: lease["spec"].update(holderIdentity="thief"), USER
        )
        await until(lambda: work.ended == 1, 0.3)
        await until(lambda: work.begun == 2, 3)
        assert replica.metrics.page().count(b"muster_leader 1.0") == 1
        await replica.release()
        assert work.ended == 2, "before the Lease was given back"
        assert the_lease(cluster)["holderIdentity"] == ""
    working.cancel()
    with suppress(asyncio.CancelledError):
        await working


async def test_the_work_ends_also_while_a_call_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, work = FakeCluster(), Work()
    replica = a_replica(cluster, "only")
    working = asyncio.create_task(replica.while_leading(work))

    async def hangs(self: object, resource: Resource, namespace: str, name: str, body: Object | None = None) -> Object:
        await asyncio.Event().wait()
        return {}

    async with running(replica):
        await until(lambda: work.begun == 1)
        monkeypatch.setattr(Shaky, "get", hangs)
        monkeypatch.setattr(Shaky, "replace", hangs)
        await until(lambda: work.ended == 1, 1)
    working.cancel()


async def test_an_error_of_the_work_is_raised() -> None:
    async def fail() -> None:
        raise ZeroDivisionError("bug")

    replica = a_replica(FakeCluster(), "only")
    async with running(replica):
        with pytest.raises(ZeroDivisionError):
            await asyncio.wait_for(replica.while_leading(fail), 2)


async def test_a_cancellation_while_the_work_ends_is_not_lost() -> None:
    begun, ending = asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ending.set()
            await asyncio.sleep(0.05)

    replica = a_replica(FakeCluster(), "only")
    async with running(replica):
        working = asyncio.create_task(replica.while_leading(slow))
        await asyncio.wait_for(begun.wait(), 2)
        releasing = asyncio.create_task(replica.release())
        await asyncio.wait_for(ending.wait(), 2)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(asyncio.shield(working), 2)
        assert working.cancelled()
        await releasing


async def test_a_replica_that_is_alone_always_leads() -> None:
    work = Work()
    working = asyncio.create_task(Alone().while_leading(work))
    await asyncio.sleep(0)
    assert (Alone().leads(), work.begun) == (True, 1)
    await Alone().release()
    working.cancel()


async def test_a_renewal_writes_holder_and_duration_and_keeps_the_rest() -> None:
    cluster = FakeCluster()
    replica = a_replica(cluster, "only")
    async with running(replica):
        await until(replica.leads)
        first = dict(the_lease(cluster))
        cluster.update(
            "leases", "muster-system", "muster", lambda lease: lease["metadata"].update(labels={"kept": "yes"}), USER
        )
        await until(lambda: the_lease(cluster)["renewTime"] != first["renewTime"])
    assert the_lease(cluster) == {**first, "renewTime": the_lease(cluster)["renewTime"]}
    assert (first["holderIdentity"], first["leaseDurationSeconds"], first["leaseTransitions"]) == ("only", 1, 0)
    assert cluster.get("leases", "muster-system", "muster")["metadata"]["labels"] == {"kept": "yes"}
    assert LEASES.path("muster-system", "muster").endswith("/namespaces/muster-system/leases/muster")


class WithoutNamespace(FakeClient):
    """Counts how often a Lease is tried."""

    tried = 0

    async def create(self, resource: Resource, namespace: str, body: Object) -> Object:
        WithoutNamespace.tried += 1
        raise NotFound(f'namespaces "{namespace}" not found')


async def test_a_namespace_that_is_missing_is_named_and_asked_for_with_pauses(caplog: pytest.LogCaptureFixture) -> None:
    terms = Terms("first", duration_seconds=0.6, renew_seconds=0.05)
    alone = Leadership(WithoutNamespace(FakeCluster()), "muster-system", "muster", terms)
    async with running(alone):
        await asyncio.sleep(0.1)
    assert 1 <= WithoutNamespace.tried <= 15
    assert "namespace muster-system does not exist" in caplog.text


class Slow(FakeClient):
    """Two calls take longer than a renewal may, one does not."""

    async def get(self, resource: Resource, namespace: str, name: str) -> Object:
        await asyncio.sleep(0.3)
        return await super().get(resource, namespace, name)

    async def replace(self, resource: Resource, namespace: str, name: str, body: Object) -> Object:
        await asyncio.sleep(0.3)
        return await super().replace(resource, namespace, name, body)


async def test_a_slow_api_server_delays_a_leader_and_does_not_prevent_one() -> None:
    cluster = FakeCluster()
    cluster.create("leases", "muster-system", {"metadata": {"name": "muster"}, "spec": {}}, USER)
    replica = Leadership(Slow(cluster), "muster-system", "muster", Terms("only", duration_seconds=3, renew_seconds=0.5))
    async with running(replica):
        await until(replica.leads)
