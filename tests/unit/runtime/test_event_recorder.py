"""Events: each is posted once, and a failed post affects nothing else."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial

import pytest

from muster.core.decision import Decision, Membership
from muster.core.reasons import EventReason, Reason
from muster.kube.client import Object
from muster.kube.errors import Forbidden, KubeError, ServerFault
from muster.kube.resources import Resource
from muster.runtime import event_recorder as module
from muster.runtime.event_recorder import MAX_EVENT_MESSAGE, Event, EventRecorder, Subject
from tests.builders import a_gang
from tests.fake_cluster import FakeClient, FakeCluster
from tests.unit.made import a_recorder

JOB = a_gang("train").uid("now").view()
AMBIGUOUS = (
    "AmbiguousWorkloads: more than one Workload claims to describe the Job (a, b); the pods are scheduled one by one"
)


class FailingClient(FakeClient):
    """Fails once per given error, then works."""

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
    recorder = a_recorder(FakeClient(cluster), "one")
    async with running(recorder):
        recorder.normal(JOB, EventReason.WORKLOAD_CREATED, "a")
        recorder.normal(JOB, EventReason.WORKLOAD_CREATED, "a")
        recorder.normal(JOB, EventReason.WORKLOAD_CREATED, "b")
    assert messages(cluster) == ["a", "b"]


async def test_a_replica_ignores_already_exists(caplog: pytest.LogCaptureFixture) -> None:
    cluster = FakeCluster()
    for instance in ("one", "two"):
        recorder = a_recorder(FakeClient(cluster), instance)
        async with running(recorder):
            recorder.warning(JOB, EventReason.STANDING_ASIDE, "a")
    assert messages(cluster) == ["a"]
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


async def test_the_recorder_retries_when_the_server_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.001)
    cluster = FakeCluster()
    recorder = a_recorder(FailingClient(cluster, ServerFault("away"), ServerFault("away")), "one")
    async with running(recorder):
        recorder.normal(JOB, EventReason.WORKLOAD_CREATED, "a")
    assert messages(cluster) == ["a"]


async def test_an_event_that_cannot_be_posted_is_logged_and_the_next_one_is_posted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.001)
    monkeypatch.setattr(module, "POSTERS", 1)
    cluster = FakeCluster()
    errors = [Forbidden("no"), *[ServerFault("away")] * module.TRIES]
    recorder = a_recorder(FailingClient(cluster, *errors), "one")
    async with running(recorder):
        for text in ("forbidden", "never", "fine"):
            recorder.normal(JOB, EventReason.WORKLOAD_CREATED, text)
    assert messages(cluster) == ["fine"]
    assert sum("was not posted" in record.message for record in caplog.records) == 2


async def test_events_beyond_the_queue_are_dropped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = a_recorder(FakeClient(FakeCluster()), "one", _queue=asyncio.Queue(2))
    for number in range(5):
        recorder.normal(JOB, EventReason.WORKLOAD_CREATED, str(number))
    assert b"muster_events_dropped_total 3.0" in recorder.metrics.page()


async def test_a_dropped_event_can_be_posted_later() -> None:
    cluster = FakeCluster()
    recorder = a_recorder(FakeClient(cluster), "one", _queue=asyncio.Queue(1))
    post = partial(recorder.normal, JOB, EventReason.WORKLOAD_CREATED)
    assert [post("a"), post("b"), post("a")] == [True, False, False]
    async with running(recorder):
        await recorder.drain(2)
        assert [post("b"), post("a")] == [True, False]
    assert messages(cluster) == ["a", "b"]
    assert b'muster_events_total{reason="WorkloadCreated"} 2.0' in recorder.metrics.page(), (
        "a dropped event was not posted"
    )


async def test_an_event_that_failed_can_be_posted_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.001)
    cluster = FakeCluster()
    recorder = a_recorder(FailingClient(cluster, *[ServerFault("away")] * module.TRIES), "one")
    async with running(recorder):
        recorder.normal(JOB, EventReason.WORKLOAD_CREATED, "a")
        await recorder.drain(2)
        recorder.normal(JOB, EventReason.WORKLOAD_CREATED, "a")
    assert messages(cluster) == ["a"]


async def test_memory_of_what_was_posted_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED", 3)
    recorder = a_recorder(FakeClient(FakeCluster()), "one")
    for number in range(10):
        recorder.normal(JOB, EventReason.WORKLOAD_CREATED, str(number))
    assert len(recorder._posted) == 3


@pytest.mark.parametrize(
    ("decision", "posted"),
    [
        pytest.param(Decision(Reason.NOT_PARALLEL, Membership.PLAIN), [], id="silence about Jobs that are not ours"),
        pytest.param(
            Decision(Reason.AMBIGUOUS_WORKLOADS, Membership.PLAIN, detail="a, b"),
            [AMBIGUOUS],
            id="why Muster stands aside",
        ),
    ],
)
async def test_the_reason_of_a_decision_determines_its_event(decision: Decision, posted: list[str]) -> None:
    cluster = FakeCluster()
    recorder = a_recorder(FakeClient(cluster), "one")
    async with running(recorder):
        recorder.decision(JOB, decision)
        recorder.decision(None, decision)
    assert messages(cluster) == posted


def test_an_event_has_the_fields_that_the_api_server_requires() -> None:
    event = Event(Subject.of(JOB), "Warning", EventReason.NAME_TAKEN, "x\n" + "y" * 5000)
    manifest = event.manifest(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "pod-1")
    assert manifest["metadata"] == {"name": event.name, "namespace": "default"}
    assert manifest["involvedObject"]["uid"] == "now"
    assert manifest["firstTimestamp"] == "2026-01-02T03:04:05Z"
    assert "\n" not in manifest["message"]
    assert len(manifest["message"]) <= MAX_EVENT_MESSAGE
    assert len(event.name) <= 253


async def test_a_stand_aside_is_counted_once_by_its_reason() -> None:
    recorder = a_recorder(FakeClient(FakeCluster()), "test")
    for _ in range(3):
        recorder.decision(JOB, Decision(Reason.PLAIN_PODS, Membership.PLAIN))
    recorder.decision(JOB, Decision(Reason.NOT_INDEXED, Membership.PLAIN))
    assert b'muster_jobs_skipped_total{reason="PlainPods"} 1.0' in recorder.metrics.page()
    assert b"NotIndexed" not in recorder.metrics.page()


async def test_a_decision_without_an_event_is_logged_with_its_reason(caplog: pytest.LogCaptureFixture) -> None:
    recorder = a_recorder(FakeClient(FakeCluster()), "test")
    with caplog.at_level(logging.DEBUG, "muster"):
        recorder.decision(JOB, Decision(Reason.NOT_PARALLEL, Membership.PLAIN))
    assert f"no event: {Reason.NOT_PARALLEL}" in caplog.text
