"""Events: each is posted once, and posting never hurts what it tells about."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial

import pytest

from muster.core.decide import Decision, Membership
from muster.core.reasons import EventReason, Reason
from muster.kube.client import Object
from muster.kube.errors import Forbidden, KubeError, ServerFault
from muster.kube.resources import Resource
from muster.runtime import event_recorder as module
from muster.runtime.event_recorder import MAX_EVENT_MESSAGE, Event, EventRecorder, Subject
from tests.builders import a_gang
from tests.fake_cluster import FakeClient, FakeCluster

JOB = a_gang("train").uid("now").view()
AMBIGUOUS = (
    "AmbiguousWorkloads: more than one Workload claims to describe the Job (a, b); the pods are scheduled one by one"
)


class FailingClient(FakeClient):
    """Fails as often as told, then works."""

    def __init__(self, cluster: FakeCluster, *errors: KubeError) -> None:
        super().__init__(cluster)
        self.errors = list(errors)

    async def create(self, resource: Resource, namespace: str, body: Object) -> Object:
        if self.errors:
            raise self.errors.pop(0)
        return await super().create(resource, namespace, body)


@asynccontextmanager
async def running(recorder: EventRecorder) -> AsyncIterator[None]:
    task = asyncio.create_task(recorder.run())
    yield
    await recorder.drain(2)
    task.cancel()


def messages(cluster: FakeCluster) -> list[str]:
    return sorted(event["message"] for event in cluster.find("events"))


async def test_the_same_text_is_posted_once() -> None:
    cluster = FakeCluster()
    recorder = EventRecorder(FakeClient(cluster), "one")
    async with running(recorder):
        recorder.normal(JOB, EventReason.WORKLOAD_CREATED, "a")
        recorder.normal(JOB, EventReason.WORKLOAD_CREATED, "a")
        recorder.normal(JOB, EventReason.WORKLOAD_CREATED, "b")
    assert messages(cluster) == ["a", "b"]


async def test_another_replica_meets_already_exists_and_is_quiet(caplog: pytest.LogCaptureFixture) -> None:
    cluster = FakeCluster()
    for instance in ("one", "two"):
        recorder = EventRecorder(FakeClient(cluster), instance)
        async with running(recorder):
            recorder.warning(JOB, EventReason.STANDING_ASIDE, "a")
    assert messages(cluster) == ["a"]
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


async def test_a_server_that_is_away_for_a_moment_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.001)
    cluster = FakeCluster()
    recorder = EventRecorder(FailingClient(cluster, ServerFault("away"), ServerFault("away")), "one")
    async with running(recorder):
        recorder.normal(JOB, EventReason.WORKLOAD_CREATED, "a")
    assert messages(cluster) == ["a"]


async def test_what_cannot_be_posted_is_logged_and_the_next_one_comes(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.001)
    monkeypatch.setattr(module, "POSTERS", 1)
    cluster = FakeCluster()
    errors = [Forbidden("no"), *[ServerFault("away")] * module.TRIES]
    recorder = EventRecorder(FailingClient(cluster, *errors), "one")
    async with running(recorder):
        for text in ("forbidden", "never", "fine"):
            recorder.normal(JOB, EventReason.WORKLOAD_CREATED, text)
    assert messages(cluster) == ["fine"]
    assert sum("was not posted" in record.message for record in caplog.records) == 2


async def test_a_storm_is_dropped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = EventRecorder(FakeClient(FakeCluster()), "one", _queue=asyncio.Queue(2))
    for number in range(5):
        recorder.normal(JOB, EventReason.WORKLOAD_CREATED, str(number))
    assert b"muster_events_dropped_total 3.0" in recorder.metrics.page()


async def test_what_was_dropped_can_be_posted_later() -> None:
    cluster = FakeCluster()
    recorder = EventRecorder(FakeClient(cluster), "one", _queue=asyncio.Queue(1))
    tell = partial(recorder.normal, JOB, EventReason.WORKLOAD_CREATED)
    assert [tell("a"), tell("b"), tell("a")] == [True, False, False]
    async with running(recorder):
        await recorder.drain(2)
        assert [tell("b"), tell("a")] == [True, False]
    assert messages(cluster) == ["a", "b"]
    assert b'muster_events_total{reason="WorkloadCreated"} 2.0' in recorder.metrics.page(), "a dropped one was not told"


async def test_what_the_server_was_away_for_can_be_posted_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.001)
    cluster = FakeCluster()
    recorder = EventRecorder(FailingClient(cluster, *[ServerFault("away")] * module.TRIES), "one")
    async with running(recorder):
        recorder.normal(JOB, EventReason.WORKLOAD_CREATED, "a")
        await recorder.drain(2)
        recorder.normal(JOB, EventReason.WORKLOAD_CREATED, "a")
    assert messages(cluster) == ["a"]


async def test_memory_of_what_was_posted_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED", 3)
    recorder = EventRecorder(FakeClient(FakeCluster()), "one")
    for number in range(10):
        recorder.normal(JOB, EventReason.WORKLOAD_CREATED, str(number))
    assert len(recorder._posted) == 3


@pytest.mark.parametrize(
    ("decision", "told"),
    [
        pytest.param(Decision(Reason.NOT_PARALLEL, Membership.PLAIN), [], id="silence about Jobs that are not ours"),
        pytest.param(
            Decision(Reason.AMBIGUOUS_WORKLOADS, Membership.PLAIN, detail="a, b"),
            [AMBIGUOUS],
            id="why Muster stands aside",
        ),
    ],
)
async def test_what_is_reported(decision: Decision, told: list[str]) -> None:
    cluster = FakeCluster()
    recorder = EventRecorder(FakeClient(cluster), "one")
    async with running(recorder):
        recorder.decision(JOB, decision)
        recorder.decision(None, decision)
    assert messages(cluster) == told


def test_an_event_as_the_api_server_wants_it() -> None:
    event = Event(Subject.of(JOB), "Warning", EventReason.NAME_TAKEN, "x\n" + "y" * 5000)
    manifest = event.manifest(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "pod-1")
    assert manifest["metadata"] == {"name": event.name, "namespace": "default"}
    assert manifest["involvedObject"]["uid"] == "now"
    assert manifest["firstTimestamp"] == "2026-01-02T03:04:05Z"
    assert "\n" not in manifest["message"]
    assert len(manifest["message"]) <= MAX_EVENT_MESSAGE
    assert len(event.name) <= 253


async def test_a_stand_aside_is_counted_once_by_its_reason() -> None:
    recorder = EventRecorder(FakeClient(FakeCluster()), "test")
    for _ in range(3):
        recorder.decision(JOB, Decision(Reason.PLAIN_PODS, Membership.PLAIN))
    recorder.decision(JOB, Decision(Reason.NOT_INDEXED, Membership.PLAIN))
    assert b'muster_jobs_skipped_total{reason="PlainPods"} 1.0' in recorder.metrics.page()
    assert b"NotIndexed" not in recorder.metrics.page()
