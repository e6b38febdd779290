"""Jobs that no stream has shown: one read each, shared, and only so many."""

import asyncio
from dataclasses import dataclass, field

import pytest

from muster.api.job import JobView
from muster.api.keys import JobKey, JobRef, Uid
from muster.controllers.job.lookup import AT_A_TIME, BURST, PER_SECOND, Busy, Lookup
from muster.core.reasons import Reason
from muster.kube.client import Object
from muster.kube.errors import ServerFault
from muster.kube.resources import Resource
from tests.builders import a_gang
from tests.fake_cluster import FakeClient, FakeCluster
from tests.unit.controllers.parts import build

JOB = a_gang("train").uid("now")


@dataclass
class Server:
    answer: JobView | None = None
    error: Exception | None = None
    go: asyncio.Event = field(default_factory=asyncio.Event)
    reads: int = 0

    async def read(self, ref: JobRef) -> JobView | None:
        self.reads += 1
        await self.go.wait()
        if self.error is not None:
            raise self.error
        return self.answer


def made_up(number: int) -> JobRef:
    return JobRef(JobKey("default", "made-up"), Uid(f"uid-{number}"))


async def test_who_asks_for_one_job_at_once_waits_for_one_read() -> None:
    server = Server(JOB.view())
    lookup = Lookup()
    impatient, *others = [asyncio.create_task(lookup.find(JOB.ref, server.read)) for _ in range(10)]
    await asyncio.sleep(0)
    impatient.cancel()
    server.go.set()
    assert await asyncio.gather(*others) == [JOB.view()] * 9
    assert server.reads == 1
    assert not lookup._under_way


async def test_what_is_not_there_is_not_read_again_and_what_is_there_is() -> None:
    server = Server()
    server.go.set()
    lookup = Lookup()
    assert [await lookup.find(JOB.ref, server.read) for _ in range(5)] == [None] * 5
    assert server.reads == 1
    server.answer = a_gang("other").uid("then").view()
    for _ in range(2):
        assert await lookup.find(server.answer.ref, server.read) == server.answer
    assert server.reads == 3


async def test_an_error_reaches_who_asked_and_is_not_remembered() -> None:
    server = Server(error=ServerFault("away"))
    server.go.set()
    lookup = Lookup()
    with pytest.raises(ServerFault):
        await lookup.find(JOB.ref, server.read)
    server.error, server.answer = None, JOB.view()
    assert await lookup.find(JOB.ref, server.read) == JOB.view()


async def test_only_so_many_are_read_at_a_time() -> None:
    server = Server()
    lookup = Lookup()
    waiting = [asyncio.create_task(lookup.find(made_up(number), server.read)) for number in range(AT_A_TIME)]
    await asyncio.sleep(0.01)
    with pytest.raises(Busy, match="busy"):
        await lookup.find(made_up(AT_A_TIME), server.read)
    assert server.reads == AT_A_TIME
    server.go.set()
    await asyncio.gather(*waiting)
    assert await lookup.find(made_up(AT_A_TIME), server.read) is None


async def test_only_so_many_are_read_each_second() -> None:
    now = 1000.0
    server = Server()
    server.go.set()
    lookup = Lookup(clock=lambda: now)

    async def until_busy(start: int) -> int:
        for number in range(10_000):
            try:
                await lookup.find(made_up(start + number), server.read)
            except Busy:
                return number
        return 10_000

    assert await until_busy(0) == BURST
    now += 1
    assert await until_busy(100_000) == PER_SECOND


class Counting(FakeClient):
    def __init__(self, cluster: FakeCluster) -> None:
        super().__init__(cluster)
        self.calls: list[str] = []

    async def get(self, resource: Resource, namespace: str, name: str) -> Object:
        self.calls.append(f"get {resource.plural}")
        return await super().get(resource, namespace, name)

    async def list(self, resource: Resource, namespace: str = "", params: object = None) -> Object:
        self.calls.append(f"list {resource.plural}")
        return await super().list(resource, namespace, params)  # type: ignore[arg-type]


async def test_a_made_up_job_costs_one_call_and_nothing_is_remembered() -> None:
    client = Counting(FakeCluster())
    parts = build(client)
    gang_former = parts.gang_former
    for decide in (gang_former.ensure, gang_former.preview):
        client.calls.clear()
        parts.jobs.lookup._gone.forget(JOB.ref)
        assert (await decide(JOB.ref)).reason is Reason.JOB_GONE
        assert client.calls == ["get jobs"]
    assert not gang_former._flights._under_way
    assert parts.latency._seen.recall(JOB.ref.uid) is None


async def test_a_job_that_no_stream_has_shown_yet_is_read_once() -> None:
    cluster = FakeCluster()
    cluster.apply(JOB)
    client = Counting(cluster)
    await build(client).gang_former.ensure(JOB.ref)
    lists = [call for call in client.calls if call.startswith("list")]
    assert client.calls.index("get jobs") < client.calls.index(lists[0])
    assert client.calls[: client.calls.index("list workloads")].count("get jobs") == 1


@pytest.mark.parametrize(
    ("namespace", "name", "uid", "can"),
    [
        ("default", "train", "0b5f7a4e-1f1e-4c55-8d3f-4d3f5a0c7a11", True),
        ("default", "a" * 253, "now", True),
        ("default", "a" * 254, "now", False),
        ("default", "train", "u" * 65, False),
        ("default", "train", "u" * 1_000_000, False),
        ("default", "train", "", False),
        ("default", "", "now", False),
        ("", "train", "now", False),
        ("default", "../pods", "now", False),
        ("default", "train\n", "now", False),
        ("default", "train", "now\n", False),
        ("default", "Train", "now", False),
    ],
)
def test_names_and_uids_that_kubernetes_gives(namespace: str, name: str, uid: str, can: bool) -> None:
    assert JobRef(JobKey(namespace, name), Uid(uid)).can_exist is can
