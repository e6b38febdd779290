"""The resync trusts no stream: it finds what was lost, and continues if a list or a Job fails."""

import asyncio
from collections.abc import Mapping

import pytest

from muster.api.keys import JobKey
from muster.controllers import resync as module
from muster.core.decide import decide
from muster.core.decision import Decision
from muster.core.observed import Observed
from muster.core.policy import Rules
from muster.kube.client import Object
from muster.kube.errors import KubeError, ServerFault
from muster.kube.resources import Resource
from tests.builders import a_gang, a_workload
from tests.fake_cluster import FakeClient, FakeCluster
from tests.unit.controllers.parts import build

JOB = a_gang("train").uid("now")


class Moody(FakeClient):
    """Lists fail while there is an error."""

    error: KubeError | None = None

    async def list(self, resource: Resource, namespace: str = "", params: Mapping[str, str] | None = None) -> Object:
        if self.error:
            raise self.error
        return await super().list(resource, namespace, params)

    async def create(self, resource: Resource, namespace: str, body: Object) -> Object:
        return {"status": {"allowed": True}}


@pytest.fixture
def cluster() -> FakeCluster:
    made = FakeCluster()
    made.apply(JOB)
    return made


async def test_a_resync_reads_every_page_and_skips_unreadable_objects(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muster.kube.client.PAGE_SIZE", "2")
    for number in range(4):
        cluster.apply(a_gang(f"job-{number}"))
    broken = a_gang("aaa").build()
    broken["spec"]["parallelism"] = "many"
    cluster.apply(broken)
    parts = build(FakeClient(cluster))
    assert await parts.resync.once() == 5
    assert len(parts.cache.jobs) == 5
    assert await parts.resync.once() == 0


async def test_a_resync_after_a_restore_of_etcd_updates_the_cache(
    cluster: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """Revisions start again at an older number: by them alone, everything cached would stay newer forever."""
    for number in range(20):
        cluster.apply(a_gang(f"lost-{number}"))
    parts = build(FakeClient(cluster))
    await parts.resync.once()
    restored = FakeCluster()
    restored.apply(a_gang("train").uid("restored").suspended())
    parts.resync.client = FakeClient(restored)
    await parts.resync.once()
    assert {(job.key.name, job.uid, job.suspended) for job in parts.cache.jobs.values()} == {
        ("train", "restored", True)
    }
    assert "went back" in caplog.text
    caplog.clear()
    assert await parts.resync.once() == 0
    assert "went back" not in caplog.text


async def test_a_resync_finds_deleted_objects(cluster: FakeCluster) -> None:
    parts = build(FakeClient(cluster))
    await parts.resync.once()
    cluster.remove("jobs", "default", "train", "user")
    assert await parts.resync.once() == 1
    assert JobKey("default", "train") not in parts.cache.jobs


async def test_a_resync_drops_the_cached_decision_of_a_job_whose_workload_no_stream_has_shown(
    cluster: FakeCluster,
) -> None:
    parts = build(FakeClient(cluster))
    await parts.resync.once()
    forgotten: list[str] = []
    parts.resync.intake.forget = forgotten.append
    cluster.apply(a_workload("w").describing(JOB))
    assert await parts.resync.once() == 1
    assert forgotten == ["now"]
    assert await parts.resync.once() == 0
    assert forgotten == ["now"]


async def test_a_resync_queues_a_job_whose_wake_up_was_lost(cluster: FakeCluster) -> None:
    parts = build(FakeClient(cluster))
    await parts.resync.once()
    parts.queue.done(await parts.queue.get())  # and nothing came of it
    assert await parts.resync.once() == 0, "nothing drifted"
    assert await asyncio.wait_for(parts.queue.get(), 1) == JobKey("default", "train")


async def test_a_job_whose_decision_fails_does_not_end_the_resync(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.apply(a_gang("other"))
    parts = build(FakeClient(cluster))

    def trip(seen: Observed, rules: Rules) -> Decision:
        if seen.job is not None and seen.job.key.name == "train":
            raise ValueError("a bug")
        return decide(seen, rules)

    monkeypatch.setattr(module, "decide", trip)
    await parts.resync.once()
    queued = {await asyncio.wait_for(parts.queue.get(), 1) for _ in range(2)}
    assert queued == {JobKey("default", "train"), JobKey("default", "other")}


async def test_a_resync_that_fails_is_retried_soon(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SOON_SECONDS", 0.01)
    client = Moody(cluster)
    client.error = ServerFault("away")
    parts = build(client)
    running = asyncio.create_task(parts.resync.run(parts.health))
    parts.resync.soon()
    await asyncio.sleep(0.05)
    assert not parts.cache.jobs
    client.error = None
    for _ in range(100):
        await asyncio.sleep(0.01)
        if parts.cache.jobs:
            break
    assert parts.cache.jobs
    running.cancel()


class WithoutWorkloads(FakeClient):
    """Cannot list them while there is an error."""

    error: ServerFault | None = None

    async def list(self, resource: Resource, namespace: str = "", params: Mapping[str, str] | None = None) -> Object:
        if self.error and resource.plural == "workloads":
            raise self.error
        return await super().list(resource, namespace, params)


async def test_a_resync_that_fails_in_the_middle_queues_its_jobs_the_next_time() -> None:
    """They are in the cache by then, and a Job from which Muster stands aside is queued for no other reason."""
    cluster = FakeCluster()
    for each in (JOB, a_workload("one").describing(JOB), a_workload("other").describing(JOB)):
        cluster.apply(each)
    client = WithoutWorkloads(cluster)
    parts, client.error = build(client), ServerFault("etcd is away")
    with pytest.raises(ServerFault):
        await parts.resync.once()
    client.error = None
    assert (await parts.resync.once(), len(parts.queue)) == (1, 1)
    assert await parts.resync.once() == 0
