"""Muster notices an API that comes, goes or changes, and reports what it lacks."""

import asyncio
from collections.abc import Mapping

import pytest

from muster.api.profile import CRD_IN_OWN_GROUP, NATIVE
from muster.controllers import api_monitor
from muster.controllers.api_monitor import ProfileChanged, keep_probing, wait_for_profile
from muster.controllers.profile.agreement import OwnAgreement
from muster.controllers.profile.chooser import ProfileChooser
from muster.kube.client import Object
from muster.kube.errors import KubeError, NotFound, ServerFault
from muster.kube.resources import Resource
from muster.runtime.health import API, WATCHING, Health
from tests.builders import a_gang
from tests.fake_cluster import FakeClient, FakeCluster
from tests.unit.controllers.parts import Parts, build

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


async def probing_of(parts: Parts, setting: str = "auto") -> None:
    chooser = ProfileChooser(parts.client, setting, OwnAgreement(), lambda: True, using=parts.profile)
    await keep_probing(chooser, parts.client, parts.profile, parts.health, every_seconds=0.01)


async def test_probing_reports_a_problem_and_its_end(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_monitor, "SOON_SECONDS", 0.01)
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
    monkeypatch.setattr(api_monitor, "SOON_SECONDS", 0.01)
    client = Deaf(cluster)
    parts = build(client)
    parts.health.announce(API, "not asked yet")
    parts.health.announce(WATCHING, "the watch streams have not started yet")
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
    assert parts.health.ready, "also after the API server was away, watches are not checked"
    running.cancel()


class Choosy(Moody):
    """Serves nothing but these groups and versions."""

    serves: tuple[str, ...] = ()

    async def list(self, resource: Resource, namespace: str = "", params: Mapping[str, str] | None = None) -> Object:
        found = await super().list(resource, namespace, params)
        if resource.plural in {"workloads", "podgroups"} and f"{resource.group}/{resource.version}" not in self.serves:
            raise NotFound("the server could not find the requested resource")
        return found


async def test_muster_waits_for_an_api_and_reports_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_monitor, "SOON_SECONDS", 0.01)
    client, health = Choosy(FakeCluster()), Health()
    chooser = ProfileChooser(client, "auto", OwnAgreement(), lambda: True)
    waiting = asyncio.create_task(wait_for_profile(chooser, health))
    await asyncio.sleep(0.03)
    assert "run `muster crds install`" in health.sentence
    client.error = ServerFault("etcd is away")
    await asyncio.sleep(0.03)
    assert health.sentence == "not ready: etcd is away"
    client.error, client.serves = None, (CRD_IN_OWN_GROUP.api_version,)
    assert await asyncio.wait_for(waiting, 1) == CRD_IN_OWN_GROUP


async def test_another_api_ends_the_generation_of_the_old_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_monitor, "SOON_SECONDS", 0.01)
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


async def test_only_the_configured_api_is_probed(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Choosy(FakeCluster())
    client.serves = (CRD_IN_OWN_GROUP.api_version, NATIVE.api_version)
    parts = build(client, CRD_IN_OWN_GROUP)
    probing = asyncio.create_task(probing_of(parts, CRD_IN_OWN_GROUP.group))
    await asyncio.sleep(0.05)
    assert not probing.done(), "the better API is not what was asked for"
    probing.cancel()
