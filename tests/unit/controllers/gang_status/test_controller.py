"""The gang status controller on a cluster in memory: it posts one event per wait, and a settled gang costs nothing."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from muster.api.keys import JobKey, Uid
from muster.api.profile import NATIVE
from muster.controllers.gang_status.controller import GangStatusController, listed
from muster.core.gang_silence import Pace
from muster.core.gang_status import Gang, MemberSummary
from muster.kube.client import Object
from muster.kube.errors import ServerFault
from muster.kube.resources import Resource
from muster.runtime.ttl_cache import TtlCache
from muster.runtime.workqueue import WorkQueue
from tests.builders import JobBuilder, PodBuilder, PodGroupBuilder, a_gang, a_pod
from tests.fake_cluster import FakeClient, FakeCluster
from tests.unit.controllers.parts import build
from tests.unit.core.seeing import our_group, our_workload
from tests.unit.made import a_recorder

KEY = JobKey("default", "train")
NOW = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
JUST_NOW = "2026-01-01T00:00:50Z"
FULL = "0/3 nodes are available: 3 Insufficient cpu."


def job(**status: object) -> JobBuilder:
    return a_gang("train").uid("now").with_status(**status)


def group() -> PodGroupBuilder:
    return our_group(job()).uid("group")


class Client(FakeClient):
    """Counts lists, and fails on demand."""

    def __init__(self, cluster: FakeCluster) -> None:
        super().__init__(cluster)
        self.lists = 0
        self.fails = False

    async def list(self, resource: Resource, namespace: str = "", params: Mapping[str, str] | None = None) -> Object:
        self.lists += 1
        if self.fails:
            raise ServerFault("etcd is away")
        return await super().list(resource, namespace, params)


class Stage:
    """A gang, and the gang status controller of one replica, which may be replaced by another one's."""

    def __init__(self, pace: Pace) -> None:
        self.pace, self.cluster = pace, FakeCluster()
        self.client = Client(self.cluster)
        self.parts = build(self.client)
        self.cache = self.parts.cache
        self.cache.mark_synced(True)
        self.restart()
        self.cache.put_workload(our_workload(job()).read())
        self.shows(job(), group())

    def restart(self) -> None:
        """Another process: it remembers nothing."""
        recorder = a_recorder(self.client, "test")
        known = self.cache, self.parts.reconciler.rules, recorder, listed(self.client, NATIVE), WorkQueue[JobKey]()
        paced = recorder.errors, self.pace, TtlCache[Uid, float](self.pace.between)
        self.gang_status = GangStatusController(*known, *paced, clock=lambda: NOW)

    def pause(self) -> None:
        self.gang_status.queue.close()
        self.gang_status.forget()

    def at(self, **seconds: float) -> "Stage":
        """At another pace from now on."""
        self.pace = self.gang_status.pace = replace(self.pace, **seconds)
        return self

    def shows(self, job: JobBuilder | None = None, group: PodGroupBuilder | None = None) -> None:
        if job is not None:
            self.cache.put_job(job.view())
        if group is not None:
            self.cache.put_pod_group(group.read())

    def has(self, *pods: PodBuilder) -> None:
        for raw in self.cluster.find("pods"):
            self.cluster.remove("pods", "default", raw["metadata"]["name"], "user")
        for pod in pods:
            self.cluster.apply(pod.of(job()).in_group(group().name))

    async def consider(self, times: int = 1) -> None:
        for _ in range(times):
            await self.gang_status.consider(KEY)

    async def posted(self) -> list[str]:
        """All events that were ever posted, by all replicas: reason and message."""
        recorder = self.gang_status.recorder
        posting = asyncio.create_task(recorder.run())
        await recorder.drain(2)
        posting.cancel()
        written = [change.object for change in self.cluster.history if change.plural == "events"]
        return [f"{event['reason']}: {event['message'].partition(' (')[0].partition(';')[0]}" for event in written]


@pytest.fixture
def stage() -> Stage:
    return Stage(Pace(patience=0.0, silence=0.0, between=0.0))


def pods(number: int) -> list[PodBuilder]:
    return [a_pod(f"p{index}").uid(f"uid-{index}") for index in range(number)]


SCHEDULED = "GangScheduled: The gang of 4 is scheduled"
TWO_EXIST = "GangWaiting: 2 of the gang's 4 pods exist"
NO_ROOM = f"GangWaiting: 0 of the gang's 4 pods have a node: {FULL}"
ONE_LOST = f"GangWaiting: 3 of the gang's 4 pods have a node: {FULL}"
STARTED = group().scheduled(when=JUST_NOW)


async def test_a_gang_that_starts_gets_one_event_and_costs_no_list(stage: Stage) -> None:
    stage.shows(job(ready=4), STARTED)
    await stage.consider(times=3)
    assert await stage.posted() == [SCHEDULED]
    stage.restart()
    await stage.consider()
    assert await stage.posted() == [SCHEDULED], "also by the next process"
    assert stage.client.lists == 0


async def test_a_gang_that_was_scheduled_long_ago_gets_no_event(stage: Stage) -> None:
    stage.shows(job(ready=4), STARTED)
    stage.gang_status.clock = lambda: NOW + timedelta(hours=1)
    await stage.consider()
    assert not stage.gang_status.recorder._posted


async def test_a_wait_gets_one_event_and_its_end_another(stage: Stage) -> None:
    stage.has(*pods(2))
    await stage.consider(times=2)
    stage.has(*(pod.unschedulable(FULL) for pod in pods(4)))
    await stage.consider(times=2)
    assert await stage.posted() == [TWO_EXIST, NO_ROOM]
    stage.restart()
    await stage.consider()
    stage.shows(job(ready=4), STARTED.version(9))
    stage.gang_status.clock = lambda: NOW + timedelta(hours=1)
    await stage.consider(times=2)
    assert await stage.posted() == [TWO_EXIST, NO_ROOM, SCHEDULED], "also if it was long ago: somebody waits for it"


async def test_each_loss_gets_one_event_and_its_end_another(stage: Stage) -> None:
    stage.shows(job(ready=4), STARTED)
    await stage.consider()
    expected = [SCHEDULED]
    for nth in (1, 2):
        lost = a_pod(f"new{nth}").uid(f"new{nth}").unschedulable(FULL)
        stage.has(*(pod.bound() for pod in pods(3)), lost)
        stage.shows(job(ready=3, failed=nth))
        await stage.consider(times=2)
        assert await stage.posted() == [*expected, ONE_LOST]
        stage.restart()
        await stage.consider()
        stage.shows(job(ready=4, failed=nth))
        await stage.consider(times=2)
        assert await stage.posted() == (expected := [*expected, ONE_LOST, SCHEDULED])


async def test_a_loss_that_is_replaced_gets_no_event(stage: Stage) -> None:
    stage.shows(job(ready=3), STARTED)
    stage.has(*(pod.bound() for pod in pods(4)))
    await stage.consider(times=2)
    assert await stage.posted() == [SCHEDULED]


@pytest.mark.parametrize("verdict", ["", "no placement"])
async def test_a_wait_gets_its_event_only_after_a_while(stage: Stage, verdict: str) -> None:
    stage.at(**{"patience" if verdict else "silence": 0.1})
    stage.shows(group=group().scheduled("False", verdict) if verdict else group())
    await stage.consider()
    assert (await stage.posted(), stage.client.lists) == ([], 0)
    assert await asyncio.wait_for(stage.gang_status.queue.get(), 2) == KEY, "it is looked at again"
    await stage.consider()
    assert len(await stage.posted()) == 1


async def test_a_gang_with_a_verdict_and_no_change_is_not_listed_again(stage: Stage) -> None:
    stage.shows(group=group().scheduled("False", "no placement"))
    stage.has(*pods(4))
    await stage.consider(times=5)
    assert stage.client.lists == 1
    assert not stage.gang_status.queue._due, "the stream of PodGroups tells"
    stage.shows(job(active=3))
    await stage.consider(times=5)
    assert stage.client.lists == 2


async def test_a_gang_without_a_verdict_is_checked_with_growing_pauses(stage: Stage) -> None:
    pauses = []
    for _ in range(9):
        await stage.consider()
        pauses.append(stage.gang_status._waits[KEY].pause)
        stage.gang_status.queue._due.clear()
    assert pauses == [10, 20, 40, 80, 160, 300, 300, 300, 300]


async def test_changing_messages_do_not_cause_a_storm_of_events(stage: Stage) -> None:
    stage.at(between=30.0).restart()
    for nth in range(20):
        stage.has(*(pod.unschedulable(f"node {chr(97 + nth)} is full") for pod in pods(4)))
        stage.gang_status.queue._due.clear()
        await stage.consider()
    assert await stage.posted() == ["GangWaiting: 0 of the gang's 4 pods have a node: node a is full"]
    assert 25 < stage.gang_status.queue._due[KEY] - asyncio.get_running_loop().time() <= 30, "it is posted later"


async def test_changing_numbers_give_no_new_event(stage: Stage) -> None:
    for nth in range(5):
        stage.has(*(pod.unschedulable(f"0/{nth} nodes are available") for pod in pods(4)))
        await stage.consider()
    assert len(await stage.posted()) == 1


async def test_the_controller_forgets_a_deleted_gang(stage: Stage) -> None:
    stage.cache.mark_synced(False)
    await stage.consider()
    assert not stage.gang_status._waits, "while nothing is watched, nothing is known"
    stage.cache.mark_synced(True)
    await stage.consider()
    assert stage.gang_status._waits
    stage.cache.drop_job(KEY, job().ref.uid)
    await stage.consider()
    assert not stage.gang_status._waits


async def test_a_replica_that_does_not_lead_remembers_nothing(stage: Stage) -> None:
    await stage.consider()
    stage.pause()
    assert not stage.gang_status._waits
    stage.gang_status.pod_group_changed(("default", group().name))
    assert len(stage.gang_status.queue) == 0


async def test_a_change_of_a_group_queues_its_job(stage: Stage) -> None:
    stage.gang_status.pod_group_changed(("default", group().name))
    stage.gang_status.pod_group_changed(("default", "of nobody"))
    assert await stage.gang_status.queue.get() == KEY
    assert len(stage.gang_status.queue) == 0


async def test_a_gang_that_changes_during_the_list_gets_no_outdated_event(stage: Stage) -> None:
    look = stage.gang_status.look

    async def slow(gang: Gang) -> MemberSummary | None:
        stage.shows(job(ready=4), STARTED)
        return await look(gang)

    stage.gang_status.look = slow
    await stage.consider()
    assert await stage.posted() == []


async def test_where_some_pods_skip_the_webhook_only_own_groups_count(stage: Stage) -> None:
    stage.gang_status.rules = replace(stage.gang_status.rules, adopt_existing_only=True)
    await stage.consider()
    assert len(await stage.posted()) == 1
    theirs = group()
    del theirs.metadata["labels"]
    stage.shows(group=theirs.version(9))
    stage.has(*(pod.unschedulable(FULL) for pod in pods(4)))
    await stage.consider()
    assert len(await stage.posted()) == 1


async def test_the_controller_retries_when_the_server_is_down(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    stage.client.fails = True
    stage.gang_status.queue.add(KEY)
    working = asyncio.create_task(stage.gang_status.workers().run())
    await asyncio.sleep(0.02)
    assert "failed, retrying: etcd is away" in caplog.text
    stage.client.fails = False
    await asyncio.sleep(0.4)
    assert not working.done()
    working.cancel()
    assert len(await stage.posted()) == 1


async def test_pods_of_others_are_not_members(stage: Stage) -> None:
    stage.has(*pods(2))
    stage.cluster.apply(a_pod("plain").of(job()))
    stage.cluster.apply(a_pod("claims").of(job()).in_group(group().name).owned_by("v1", "Thing", "t", "t"))
    stranger = a_pod("stranger").of(a_gang("train").uid("earlier")).in_group(group().name)
    stage.cluster.apply(stranger.labelled(**{"batch.kubernetes.io/controller-uid": "now"}))
    await stage.consider()
    assert await stage.posted() == [TWO_EXIST.replace("2", "3", 1)]
