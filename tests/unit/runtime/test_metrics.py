"""The metrics about the work."""

import asyncio

import pytest

from muster.api.v1alpha2.podgroup import GangState, PodGroup
from muster.controllers.cache import Cache
from muster.runtime.latency import POD_GROUP, SCHEDULED, WORKLOAD, LatencyTracker
from muster.runtime.metrics import Metrics
from muster.runtime.workqueue import WorkQueue
from tests.builders import PodGroupBuilder, a_gang, a_pod_group
from tests.fake_cluster import FakeClient, FakeCluster
from tests.unit.controllers.parts import build

JOB = a_gang("train").uid("now")


def a_group(version: int, name: str = "g") -> PodGroupBuilder:
    return a_pod_group(name).uid(name).controlled_by(JOB).gang(4).version(version)


def got_nodes(group: PodGroupBuilder) -> PodGroupBuilder:
    return group.reporting({"type": "PodGroupScheduled", "status": "True", "reason": "Scheduled"})


def counted(cache: Cache) -> dict[str, int]:
    return {state.value: number for state, number in cache.gangs.items() if number}


def test_gangs_are_counted_as_they_come_change_and_go() -> None:
    cache = Cache()
    cache.put_pod_group(a_group(1).read())
    cache.put_pod_group(a_group(2, "other").read())
    assert counted(cache) == {"waiting": 2}
    cache.put_pod_group(got_nodes(a_group(5)).read())
    assert counted(cache) == {"waiting": 1, "scheduled": 1}
    cache.put_pod_group(a_group(3).read())
    assert counted(cache) == {"waiting": 1, "scheduled": 1}, "an older view changes nothing"
    cache.put_pod_group(got_nodes(a_group(6)).being_deleted().read())
    assert counted(cache) == {"waiting": 1, "ending": 1}
    cache.drop_pod_group(a_group(7).read().metadata)
    cache.drop_pod_group(a_group(8, "other").uid("another").read().metadata)
    assert counted(cache) == {"waiting": 1}, "one of another UID is not this one"
    cache.put_pod_group(a_pod_group("free").uid("free").read())
    assert counted(cache) == {"waiting": 1}, "what is no Job's is no gang of a Job"
    for group in cache.unlisted(PodGroup, set(), "9"):
        assert isinstance(group, PodGroup)
        cache.drop_pod_group(group.metadata)
    assert counted(cache) == {}
    assert set(GangState) == {"waiting", "scheduled", "ending"}


def test_the_time_to_each_stage_is_measured_once_and_from_the_first_sight(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("muster.runtime.latency.time.monotonic", lambda: now)
    watch = LatencyTracker(Metrics())
    uid = JOB.ref.uid
    watch.stop(uid, WORKLOAD)
    assert b"muster_formation_seconds_count" not in watch.metrics.page(), "nobody saw it begin"
    watch.start(uid)
    now += 0.2
    watch.start(uid)
    watch.stop(uid, WORKLOAD)
    now += 7.0
    watch.stop(uid, WORKLOAD)
    watch.stop(uid, SCHEDULED)
    page = watch.metrics.page().decode()
    assert 'muster_formation_seconds_count{stage="workload"} 1.0' in page
    assert 'muster_formation_seconds_bucket{le="0.25",stage="workload"} 1.0' in page
    assert 'muster_formation_seconds_bucket{le="5.0",stage="scheduled"} 0.0' in page
    assert 'muster_formation_seconds_bucket{le="10.0",stage="scheduled"} 1.0' in page
    assert f'stage="{POD_GROUP}"' not in page


async def test_forming_a_gang_is_measured() -> None:
    cluster = FakeCluster()
    cluster.apply(JOB)
    parts = build(FakeClient(cluster))
    await parts.gang_former.ensure(JOB.ref)
    page = parts.recorder.metrics.page().decode()
    for stage in (WORKLOAD, POD_GROUP):
        assert f'muster_formation_seconds_count{{stage="{stage}"}} 1.0' in page


async def test_retries_are_counted() -> None:
    metrics = Metrics()
    queue = WorkQueue[str](metrics.retries.labels("jobs").inc)
    queue.retry("key")
    assert b'muster_retries_total{queue="jobs"} 1.0' in metrics.page()
    queue.close()


async def test_a_resync_that_finds_something_is_counted_as_drift() -> None:
    cluster = FakeCluster()
    parts = build(FakeClient(cluster))
    running = asyncio.create_task(parts.resync.run(parts.health))
    cluster.apply(JOB)
    parts.resync.soon()
    for _ in range(50):
        await asyncio.sleep(0)
    running.cancel()
    page = parts.recorder.metrics.page()
    assert b'muster_resyncs_total{outcome="done"} 1.0' in page
    assert b"muster_resync_drift_jobs_total 1.0" in page
