"""The loops that trust nobody, and the look at pods that trusts no label."""

import asyncio
from collections.abc import Mapping

import pytest

from muster.api.dialect import CRD_IN_OWN_GROUP, NATIVE
from muster.api.keys import JobKey
from muster.core.decide import Decision, Rules, decide
from muster.core.observed import NO_PODS, Observed, Pods
from muster.kube import client as paging
from muster.kube.client import Object
from muster.kube.errors import KubeError, NotFound, ServerFault
from muster.kube.resources import Resource
from muster.runtime import checking
from muster.runtime.agreement import OwnAgreement
from muster.runtime.checking import ProfileChanged, keep_probing, wait_for_dialect
from muster.runtime.health import API, WATCHING, Health
from muster.runtime.profile import ProfileChooser
from tests.builders import a_gang, a_pod, a_workload
from tests.fake_cluster import FakeClient, FakeCluster
from tests.unit.runtime.parts import Parts, build

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


async def test_a_resync_reads_every_page_and_passes_over_what_cannot_be_read(
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


async def test_a_resync_after_a_restore_of_etcd_shows_what_is_really_there(
    cluster: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """Revisions start again at an older number: by them alone, everything cached would stay newer for good."""
    for number in range(20):
        cluster.apply(a_gang(f"lost-{number}"))
    parts = build(FakeClient(cluster))
    await parts.resync.once()
    restored = FakeCluster()
    restored.apply(a_gang("train").uid("restored").suspended())
    parts.observer.client = FakeClient(restored)
    await parts.resync.once()
    assert {(job.key.name, job.uid, job.suspended) for job in parts.cache.jobs.values()} == {
        ("train", "restored", True)
    }
    assert "went back" in caplog.text
    caplog.clear()
    assert await parts.resync.once() == 0
    assert "went back" not in caplog.text


async def test_a_resync_notices_what_is_gone(cluster: FakeCluster) -> None:
    parts = build(FakeClient(cluster))
    await parts.resync.once()
    cluster.remove("jobs", "default", "train", "user")
    assert await parts.resync.once() == 1
    assert JobKey("default", "train") not in parts.cache.jobs


async def test_a_resync_makes_up_for_a_lost_wake_up(cluster: FakeCluster) -> None:
    parts = build(FakeClient(cluster))
    await parts.resync.once()
    parts.queue.done(await parts.queue.get())  # and nothing came of it
    assert await parts.resync.once() == 0, "nothing drifted"
    assert await asyncio.wait_for(parts.queue.get(), 1) == JobKey("default", "train")


async def test_a_job_that_trips_the_decision_does_not_end_the_resync(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.apply(a_gang("other"))
    parts = build(FakeClient(cluster))

    def trip(seen: Observed, rules: Rules) -> Decision:
        if seen.job is not None and seen.job.key.name == "train":
            raise ValueError("a bug")
        return decide(seen, rules)

    monkeypatch.setattr(checking, "decide", trip)
    await parts.resync.once()
    queued = {await asyncio.wait_for(parts.queue.get(), 1) for _ in range(2)}
    assert queued == {JobKey("default", "train"), JobKey("default", "other")}


async def test_a_resync_that_fails_is_made_again_soon(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "SOON_SECONDS", 0.01)
    client = Moody(cluster)
    client.error = ServerFault("away")
    parts = build(client)
    running = asyncio.create_task(parts.resync.run(parts.health))
    parts.resync.soon()
    await asyncio.sleep(0.05)
    assert not parts.cache.jobs
    client.error = None
    await asyncio.sleep(0.05)
    assert parts.cache.jobs
    running.cancel()


async def probing_of(parts: Parts, setting: str = "auto") -> None:
    observer = parts.observer
    profile = ProfileChooser(observer.client, setting, OwnAgreement(), lambda: True, using=observer.dialect)
    await keep_probing(profile, observer, parts.health, every_seconds=0.01)


async def test_probing_tells_a_problem_and_its_end(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "SOON_SECONDS", 0.01)
    client = Moody(cluster)
    parts = build(client)
    client.error = ServerFault("etcd is away")
    running = asyncio.create_task(probing_of(parts))
    await asyncio.sleep(0.05)
    assert parts.health.sentence == "not ready: etcd is away"
    client.error = None
    await asyncio.sleep(0.05)
    assert parts.health.is_well(API)
    running.cancel()


class Deaf(Moody):
    """No watch begins."""

    deaf: bool = True

    async def list(self, resource: Resource, namespace: str = "", params: Mapping[str, str] | None = None) -> Object:
        if self.deaf and "watch" in (params or {}):
            raise ServerFault("no watches today")
        return await super().list(resource, namespace, params)


async def test_muster_is_not_ready_before_it_can_watch_and_stays_ready_when_it_no_longer_can(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "SOON_SECONDS", 0.01)
    client = Deaf(cluster)
    parts = build(client)
    parts.health.announce(API, "not asked yet")
    parts.health.announce(WATCHING, "watching has not started yet")
    running = asyncio.create_task(probing_of(parts))
    await asyncio.sleep(0.05)
    assert "no watches today" in parts.health.sentence
    client.deaf = False
    await asyncio.wait_for(parts.health.wait_until_well(API), 1)
    parts.health.well(WATCHING)
    client.deaf = True
    await asyncio.sleep(0.05)
    assert parts.health.ready
    client.error = ServerFault("etcd is away")
    await asyncio.sleep(0.05)
    assert parts.health.sentence == "not ready: etcd is away"
    client.error = None
    await asyncio.sleep(0.05)
    assert parts.health.ready, "also after the API server was away, nobody asks for watches"
    running.cancel()


class Choosy(Moody):
    """Serves nothing but these groups and versions."""

    serves: tuple[str, ...] = ()

    async def list(self, resource: Resource, namespace: str = "", params: Mapping[str, str] | None = None) -> Object:
        found = await super().list(resource, namespace, params)
        if resource.plural in {"workloads", "podgroups"} and f"{resource.group}/{resource.version}" not in self.serves:
            raise NotFound("the server could not find the requested resource")
        return found


async def test_muster_waits_for_an_api_and_says_for_what(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "SOON_SECONDS", 0.01)
    client, health = Choosy(FakeCluster()), Health()
    profile = ProfileChooser(client, "auto", OwnAgreement(), lambda: True)
    waiting = asyncio.create_task(wait_for_dialect(profile, health))
    await asyncio.sleep(0.03)
    assert "run `muster crds install`" in health.sentence
    client.error = ServerFault("etcd is away")
    await asyncio.sleep(0.03)
    assert health.sentence == "not ready: etcd is away"
    client.error, client.serves = None, (CRD_IN_OWN_GROUP.api_version,)
    assert await asyncio.wait_for(waiting, 1) == CRD_IN_OWN_GROUP


async def test_another_api_ends_the_life_that_knew_the_old_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "SOON_SECONDS", 0.01)
    client = Choosy(FakeCluster())
    client.serves = (CRD_IN_OWN_GROUP.api_version,)
    parts = build(client, CRD_IN_OWN_GROUP)
    probing = asyncio.create_task(probing_of(parts))
    await asyncio.sleep(0.05)
    assert not probing.done()
    client.serves = ()
    await parts.health.pause(API, 5)
    assert "does not serve" in parts.health.sentence
    assert not probing.done(), "an API that went may come back"
    client.serves = (NATIVE.api_version,)
    with pytest.raises(ProfileChanged):
        await asyncio.wait_for(probing, 1)


async def test_what_is_asked_for_is_what_is_probed(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Choosy(FakeCluster())
    client.serves = (CRD_IN_OWN_GROUP.api_version, NATIVE.api_version)
    parts = build(client, CRD_IN_OWN_GROUP)
    probing = asyncio.create_task(probing_of(parts, CRD_IN_OWN_GROUP.group))
    await asyncio.sleep(0.05)
    assert not probing.done(), "the better API is not what was asked for"
    probing.cancel()


IMPOSTOR = a_pod("impostor").labelled(**{"batch.kubernetes.io/controller-uid": "now"})


@pytest.mark.parametrize(
    ("pods", "seen"),
    [
        pytest.param([], NO_PODS, id="none"),
        pytest.param([IMPOSTOR], NO_PODS, id="a pod that only wears the label"),
        pytest.param([a_pod("a").of(JOB)], Pods(True, True), id="a plain one"),
        pytest.param([a_pod("a").of(JOB).in_group("g")], Pods(True, True, "g"), id="a member"),
        pytest.param([a_pod("a").of(JOB).in_group("g").phase("Failed")], Pods(True, False), id="one that ended"),
        pytest.param(
            [*[a_pod(f"a{n}").of(JOB).phase("Failed") for n in range(30)], a_pod("z").of(JOB).in_group("g")],
            Pods(True, True, "g"),
            id="one alive behind pages of ended ones",
        ),
    ],
)
async def test_what_is_seen_of_the_pods(cluster: FakeCluster, pods: list[object], seen: Pods) -> None:
    for pod in pods:
        cluster.apply(pod)  # type: ignore[arg-type]
    assert await build(FakeClient(cluster)).observer.pods(JOB.ref) == seen


async def test_where_members_are_annotated_the_field_is_not_looked_at(cluster: FakeCluster) -> None:
    observer = build(FakeClient(cluster), CRD_IN_OWN_GROUP).observer
    cluster.apply(a_pod("a").of(JOB).in_group("by-field"))
    assert await observer.pods(JOB.ref) == Pods(True, True)
    cluster.remove("pods", "default", "a", "user")
    cluster.apply(a_pod("b").of(JOB).naming_group("by-annotation"))
    assert await observer.pods(JOB.ref) == Pods(True, True, "by-annotation")


async def test_a_stranger_s_workload_is_found_behind_many_others(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "PAGE_SIZE", "3")
    for number in range(10):
        cluster.apply(a_workload(f"other-{number}"))
    cluster.apply(a_workload("theirs").describing(JOB))
    unreadable = a_workload("broken").build()
    unreadable["spec"]["controllerRef"] = "x"
    cluster.apply(unreadable)
    seen = await build(FakeClient(cluster)).observer.live(JOB.ref)
    assert [workload.metadata.name for workload in seen.workloads] == ["theirs"]
