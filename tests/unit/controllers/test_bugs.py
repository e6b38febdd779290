"""A bug in Muster that one object triggers does not affect other objects. And Jobs that cost nothing."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from muster.api.job import JobView
from muster.api.keys import JobKey
from muster.controllers import resync as module
from muster.controllers.podgroup.members import Members
from muster.controllers.resync import Resync
from muster.core import messages
from muster.core.reasons import EventReason, Reason
from muster.kube.client import Object
from muster.kube.resources import Resource
from muster.runtime.event_recorder import EventRecorder
from muster.runtime.internal_errors import InternalErrors
from muster.runtime.metrics import Metrics
from tests.builders import JobBuilder, a_gang, a_pod, a_workload
from tests.fake_cluster import FakeClient, FakeCluster
from tests.unit.controllers.parts import Parts, build

BAD, GOOD = a_gang("bad").uid("bad"), a_gang("good").uid("good")


class Counting(FakeClient):
    calls = 0

    async def get(self, resource: Resource, namespace: str, name: str) -> Object:
        self.calls += 1
        return await super().get(resource, namespace, name)

    async def list(self, resource: Resource, namespace: str = "", params: Mapping[str, str] | None = None) -> Object:
        self.calls += 1
        return await super().list(resource, namespace, params)


@pytest.fixture
def cluster() -> FakeCluster:
    made = FakeCluster()
    for job in (BAD, GOOD):
        made.apply(job)
    return made


def events(recorder: EventRecorder) -> list[str]:
    waiting = [recorder._queue.get_nowait() for _ in range(recorder._queue.qsize())]
    return [event.job.key.name for event in waiting if event.reason is EventReason.INTERNAL_ERROR]


def counted(recorder: EventRecorder, task: str) -> float | None:
    return recorder.metrics._registry.get_sample_value("muster_internal_errors_total", {"task": task})


def planted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, position: int = -1) -> None:
    """Fails where that argument is about the bad Job."""
    original = getattr(owner, name)

    def failing(*args: Any, **kwargs: Any) -> Any:
        if "bad" in str(args[position]):
            raise ZeroDivisionError("bug")
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, name, failing)


async def test_a_job_gets_one_internal_error_event_for_any_number_of_bugs(cluster: FakeCluster) -> None:
    recorder = build(FakeClient(cluster)).recorder
    for _ in range(5):
        recorder.post_internal_error(BAD.view(), ZeroDivisionError("bug"))
        recorder.post_internal_error(BAD.view(), ZeroDivisionError("in other words"))
    assert events(recorder) == ["bad"]
    recorder.post_internal_error(BAD.view(), KeyError("another bug"))
    assert events(recorder) == ["bad"]


def test_the_event_s_sentence_is_not_cut_off() -> None:
    assert len(messages.internal_error("X" * 60)) <= 400


async def test_a_bug_in_the_recorder_is_only_counted(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = build(FakeClient(cluster)).recorder
    planted(monkeypatch, EventRecorder, "post")
    recorder.post_internal_error(BAD.view(), KeyError("bug"))
    recorder.post_internal_error(GOOD.view(), KeyError("bug"))
    assert (events(recorder), counted(recorder, "events")) == (["good"], 1)


async def test_an_event_that_fails_does_not_end_the_recorder(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = build(FakeClient(cluster)).recorder
    planted(monkeypatch, EventRecorder, "_post")
    running = asyncio.create_task(recorder.run())
    for _ in range(10):
        recorder.warning(BAD.view(), EventReason.NAME_TAKEN, f"bad {_}")
    recorder.warning(GOOD.view(), EventReason.NAME_TAKEN, "good")
    await recorder.drain(1)
    assert not running.done()
    assert [event["involvedObject"]["name"] for event in cluster.find("events")] == ["good"]
    assert counted(recorder, "events") == 10
    running.cancel()


async def test_an_object_that_fails_in_the_resync_stays_in_the_cache(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = build(FakeClient(cluster))
    await parts.resync.once()
    planted(monkeypatch, JobView, "parse")
    cluster.apply(a_gang("newer"))
    await parts.resync.once()
    assert {key.name for key in parts.cache.jobs} == {"bad", "good", "newer"}, "what cannot be read is not gone"


async def test_a_job_whose_decision_fails_in_the_resync_gets_the_event(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = build(FakeClient(cluster))
    recorder = parts.recorder
    resync = Resync(
        parts.client,
        parts.cache,
        parts.intake(),
        parts.observer,
        parts.queue,
        parts.reconciler.rules,
        300,
        recorder.metrics,
        recorder.errors,
        recorder,
    )
    planted(monkeypatch, module, "decide", 0)
    await resync.once()
    assert (events(recorder), counted(recorder, "resync")) == (["bad"], 1)


async def test_a_resync_that_died_runs_at_once_when_it_starts_again(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = build(FakeClient(cluster))
    passes = 0

    async def once(_: Resync) -> int:
        nonlocal passes
        passes += 1
        if passes == 1:
            raise ZeroDivisionError("bug")
        return 0

    monkeypatch.setattr(Resync, "once", once)
    parts.resync.soon()
    with pytest.raises(ZeroDivisionError):
        await parts.resync.run(parts.health)
    again = asyncio.create_task(parts.resync.run(parts.health))
    await asyncio.sleep(0.02)
    assert passes == 2
    again.cancel()


async def test_a_watch_event_that_fails_affects_only_its_object(cluster: FakeCluster) -> None:
    parts = build(FakeClient(cluster))

    def trip(_: object) -> None:
        raise ZeroDivisionError("bug")

    intake = parts.intake(on_job=trip, on_pod_group=trip)
    recorder = parts.recorder
    intake.deliver(intake.job, BAD.view(), False)
    assert (events(recorder), counted(recorder, "watch")) == (["bad"], 1)
    intake.deliver(intake.workload, a_workload("w").describing(BAD).read(), False)
    assert counted(recorder, "watch") == 1


async def test_a_pod_that_trips_the_members_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    members = Members(lambda _: None, InternalErrors(Metrics()))
    planted(monkeypatch, Members, "_put")
    members.replaced([a_pod(name).naming_group("g").view() for name in ("bad", "good")])
    assert members.has_synced
    assert [pod.name for pod in members.of(("default", "g"))] == ["good"]


def aside(uid: str = "aside", **pod: str) -> JobBuilder:
    """A Job that no scheduler sees."""
    return a_gang("aside").uid(uid).with_pods(**(pod or {"nodeName": "node-1"}))


KEY = JobKey("default", "aside")


async def skipped(parts: Parts) -> Reason:
    return (await parts.reconciler.reconcile(KEY)).reason


async def test_once_reported_a_job_that_muster_stands_aside_from_costs_no_call(cluster: FakeCluster) -> None:
    client = Counting(cluster)
    parts = build(client)
    cluster.apply(aside())
    await parts.resync.once()
    parts.cache.mark_synced(True)
    assert await skipped(parts) is Reason.NODE_NAME_PRESET
    assert parts.recorder._queue.qsize() == 1, "it is reported"
    client.calls = 0
    for version in range(2, 7):
        parts.cache.put_job(aside().version(version).with_status(active=version).view())
        assert await skipped(parts) is Reason.NODE_NAME_PRESET
    assert client.calls == 0


async def test_muster_checks_it_again_for_a_new_job_a_new_reason_or_an_unsynced_cache(
    cluster: FakeCluster,
) -> None:
    client = Counting(cluster)
    parts = build(client)
    cluster.apply(aside())
    await parts.resync.once()
    parts.cache.mark_synced(True)
    await skipped(parts)
    client.calls = 0
    parts.cache.mark_synced(False)
    await skipped(parts)
    assert client.calls > 0, "the cache may be old"
    parts.cache.mark_synced(True)
    for version, changed in enumerate((aside(schedulerName="mine"), aside(), aside("next")), 7):
        parts.cache.put_job(changed.version(version).view())
        client.calls = 0
        await skipped(parts)
        assert client.calls > 0, version
