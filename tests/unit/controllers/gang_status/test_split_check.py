"""The check for split gangs, on a cluster in memory: which gangs it reports, how often, and what it costs."""

import asyncio
import math
from collections.abc import Callable, Mapping

import pytest

from muster.api.profile import CRD_IN_OWN_GROUP, NATIVE, ApiProfile
from muster.controllers.gang_status import split_check as module
from muster.controllers.gang_status.split_check import SplitCheck
from muster.kube.client import PAGE_SIZE, Object
from muster.kube.errors import ServerFault
from muster.kube.resources import Resource
from tests.builders import JobBuilder, PodBuilder, PodGroupBuilder, a_gang, a_pod
from tests.fake_cluster import FakeClient, FakeCluster
from tests.unit.controllers.parts import build
from tests.unit.core.seeing import our_group
from tests.unit.made import a_recorder


class Client(FakeClient):
    def __init__(self, cluster: FakeCluster) -> None:
        super().__init__(cluster)
        self.asked: list[Mapping[str, str]] = []
        self.fails = False

    async def list(self, resource: Resource, namespace: str = "", params: Mapping[str, str] | None = None) -> Object:
        assert (resource.plural, namespace) == ("pods", "")
        self.asked.append(dict(params or {}))
        if self.fails:
            raise ServerFault("etcd is away")
        return await super().list(resource, namespace, params)


class Stage:
    def __init__(self, profile: ApiProfile = NATIVE) -> None:
        self.profile = profile
        self.cluster = FakeCluster()
        self.client = Client(self.cluster)
        self.parts = build(self.client, profile)
        self.leading = True
        self.recorder = a_recorder(self.client, "test")
        self.check = SplitCheck(self.client, profile, self.parts.cache, self.recorder, lambda: self.leading)

    def shows(self, job: JobBuilder, group: PodGroupBuilder) -> None:
        self.parts.cache.put_job(job.view())
        self.parts.cache.put_pod_group(group.read())

    def has(self, *pods: PodBuilder) -> None:
        for raw in self.cluster.find("pods"):
            self.cluster.remove("pods", "default", raw["metadata"]["name"], "user")
        for pod in pods:
            self.cluster.apply(pod)

    def member(self, name: str) -> PodBuilder:
        pod = outsider(name)
        return pod.in_group("group") if self.profile.native else pod.naming_group("group")

    async def posted(self) -> list[str]:
        posting = asyncio.create_task(self.recorder.run())
        await self.recorder.drain(2)
        posting.cancel()
        return [event["reason"] for event in self.cluster.find("events")]


def gang(name: str = "train") -> JobBuilder:
    return a_gang(name).uid(name)


def outsider(name: str) -> PodBuilder:
    return a_pod(name).uid(name).of(gang())


@pytest.fixture(params=[NATIVE, CRD_IN_OWN_GROUP], ids=["native", "crds"])
def stage(request: pytest.FixtureRequest) -> Stage:
    made = Stage(request.param)
    made.shows(gang(), our_group(gang()).uid("group"))
    return made


async def test_a_split_gang_is_reported_once_per_occasion(stage: Stage) -> None:
    for occasion in (1, 2):
        stage.has(stage.member("a"), stage.member("b"), outsider(f"plain{occasion}").bound(), outsider("y"))
        for _ in range(3):
            await stage.check.run()
        assert stage.check.count() == 1
        assert await stage.posted() == ["GangSplit"] * occasion
        stage.has(*(stage.member(name) for name in "abcd"))
        await stage.check.run()
        assert stage.check.count() == 0


async def test_a_pod_outside_the_group_that_ends_gives_no_new_event(stage: Stage) -> None:
    stage.has(stage.member("a"), outsider("x"), outsider("y"))
    await stage.check.run()
    stage.has(stage.member("a"), outsider("y"))
    await stage.check.run()
    assert (stage.check.count(), await stage.posted()) == (1, ["GangSplit"])


HARMLESS: dict[str, Callable[[Stage], list[PodBuilder]]] = {
    "all are in it": lambda stage: [stage.member("a"), stage.member("b")],
    "all are out": lambda _: [outsider("x"), outsider("y")],
    "the one outside has ended": lambda stage: [stage.member("a"), outsider("x").phase("Failed")],
    "the one outside goes": lambda stage: [stage.member("a"), outsider("x").being_deleted()],
    "the member goes": lambda stage: [stage.member("a").being_deleted(), outsider("x")],
    "every member has a node": lambda stage: [stage.member("a").bound(), outsider("x")],
    "the one outside is another Job's": lambda stage: [stage.member("a"), a_pod("x").of(gang("other"))],
}


@pytest.mark.parametrize("case", HARMLESS)
async def test_these_gangs_are_not_split(stage: Stage, case: str) -> None:
    stage.has(*HARMLESS[case](stage))
    await stage.check.run()
    assert (stage.check.count(), await stage.posted()) == (0, [])


async def test_without_a_gang_nothing_is_listed() -> None:
    stage = Stage()
    stage.shows(gang(), our_group(gang()).basic())
    await stage.check.run()
    assert stage.client.asked == []


async def test_only_the_leader_lists_and_counts(stage: Stage) -> None:
    stage.has(stage.member("a"), outsider("x"))
    await stage.check.run()
    stage.leading = False
    assert stage.check.count() == 0
    await stage.check.run()
    assert len(stage.client.asked) == 1


async def test_one_paged_list_serves_any_number_of_gangs(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SLICE", 2)
    for number in range(20):
        job = gang(f"job{number}")
        stage.shows(job, our_group(job).uid(f"group{number}"))
    stage.has(*(stage.member(f"p{number}") for number in range(1100)), outsider("x"))
    await stage.check.run()
    assert len(stage.client.asked) == math.ceil(1101 / int(PAGE_SIZE))
    assert {(asked["limit"], asked["labelSelector"]) for asked in stage.client.asked} == {
        (PAGE_SIZE, "batch.kubernetes.io/controller-uid")
    }


async def test_the_check_retries_at_the_next_resync_when_the_server_is_down(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    stage.has(stage.member("a"), outsider("x"))
    await stage.check.run()
    stage.client.fails = True
    await stage.check.run()
    assert "next resync" in caplog.text
    assert stage.check.count() == 1, "what is known stays"


async def test_the_check_follows_each_resync(stage: Stage) -> None:
    parts = build(FakeClient(stage.cluster), stage.profile)
    done = asyncio.Event()

    async def after() -> None:
        done.set()

    parts.resync.after = after
    parts.resync.soon()
    running = asyncio.create_task(parts.resync.run(parts.health))
    await asyncio.wait_for(done.wait(), 5)
    running.cancel()
