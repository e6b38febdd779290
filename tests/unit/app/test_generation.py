"""One generation per scheduling API: what is built for which API, and how one generation follows another."""

import asyncio
from collections.abc import Callable
from typing import cast

import pytest

from muster.admission.server import AdmissionServer
from muster.api.profile import CRD_IN_KUBERNETES_GROUP, CRD_IN_OWN_GROUP, NATIVE, ApiProfile
from muster.app import generation, wiring
from muster.app.cluster import Cluster
from muster.app.generation import run_generations
from muster.app.modes import Serving
from muster.app.wiring import Parts, build, build_chooser, leader_work_of, works_of
from muster.config.types import Settings
from muster.controllers.api_monitor import ProfileChanged
from muster.controllers.profile.agreement import OwnAgreement
from muster.kube.client import Object
from muster.kube.credentials import Credentials
from muster.kube.errors import Forbidden
from muster.kube.http import HttpClient
from muster.kube.login import Endpoint
from muster.kube.reflector import Reflector
from muster.kube.resources import Resource
from muster.runtime.background import BackgroundTasks
from muster.runtime.event_recorder import EventRecorder
from muster.runtime.health import ADMISSION, API, WATCHING, Health
from muster.runtime.internal_errors import InternalErrors
from muster.runtime.leader_election import Alone
from muster.runtime.metrics import Metrics
from muster.runtime.supervisor import Supervisor
from muster.runtime.tasks import Task
from muster.watching.thread import WatchThread
from muster.webhooks import dev
from muster.webhooks.dev import DevWebhooks
from tests.fake_cluster import FakeClient, FakeCluster
from tests.unit.kube.misbehaving import FakeLogin


class Reluctant(FakeClient):
    """Refuses so many creations."""

    refusals = 0

    async def create(self, resource: Resource, namespace: str, body: Object) -> Object:
        if self.refusals:
            self.refusals -= 1
            raise Forbidden("cannot create resource")
        return await super().create(resource, namespace, body)


async def idle(*_: object) -> None:
    await asyncio.Event().wait()


def a_cluster(client: FakeClient | None = None) -> Cluster:
    client = client or FakeClient(FakeCluster())
    health, settings = Health(), Settings(scheduler_names=frozenset({"mine"}))
    errors = InternalErrors(Metrics())
    return Cluster(
        client=cast("HttpClient", client),
        credentials=Credentials(FakeLogin(Endpoint("https://h:1"))),
        settings=settings,
        health=health,
        metrics=errors.metrics,
        errors=errors,
        server=AdmissionServer(health, errors.metrics, errors),
        serving=Serving(DevWebhooks(client, "https://h:1", b"ca", settings), run=idle, end=idle),
        recorder=EventRecorder(client, "test", errors.metrics, errors),
        background=BackgroundTasks(),
        supervisor=Supervisor(health, errors),
        lead=Alone(),
        agreement=OwnAgreement(),
    )


@pytest.mark.parametrize("profile", [NATIVE, CRD_IN_KUBERNETES_GROUP, CRD_IN_OWN_GROUP])
async def test_on_crd_profiles_muster_protects_and_completes_pod_groups_itself(profile: ApiProfile) -> None:
    parts = build(a_cluster(), profile)
    assert (parts.upkeep is None) is profile.native
    assert (parts.handlers.pod_groups is None) is profile.native
    assert parts.profile == parts.handlers.profile == parts.resync.rules.profile == profile
    policies = {parts.handlers.guard.rules.policy, parts.resync.rules.policy, parts.reconciler.rules.policy}
    (policy,) = policies
    assert policy.groups_by_annotation is not profile.native
    assert policy.scheduler_names == {"mine"}, "what the operator decided"


@pytest.mark.parametrize("profile", [NATIVE, CRD_IN_OWN_GROUP])
async def test_the_tasks_of_a_generation(profile: ApiProfile) -> None:
    cluster = a_cluster()
    parts = build(cluster, profile)
    leader_work = leader_work_of(cluster, parts)
    works = works_of(cluster, parts, build_chooser(cluster), leader_work)
    every = {Task.API_PROBE, Task.RESYNC, Task.WATCH, Task.LEADER_WORK, Task.WEBHOOKS}
    assert set(works) == (every if profile.native else every | {Task.POD_REFLECTOR})
    always = {Task.JOBS, Task.GANG_STATUS}
    assert set(leader_work.works) == (always if profile.native else always | {Task.POD_GROUP_PROTECTION})
    assert len(leader_work.queues) == len(leader_work.works), "one queue for each kind of worker"


class Served:
    """The APIs that the server has, one after the other, and what becomes of each life."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *profiles: ApiProfile, end: Callable[[], Exception]) -> None:
        self.profiles, self.end, self.parts = list(profiles), end, list[Parts]()
        self.sentences: list[str] = []
        monkeypatch.setattr(generation, "wait_for_profile", self.wait)
        monkeypatch.setattr(generation, "_run_generation", self.work)

    async def wait(self, chooser: object, health: Health) -> ApiProfile:
        self.sentences.append(health.sentence)
        return self.profiles.pop(0)

    async def work(self, cluster: Cluster, parts: Parts, chooser: object) -> None:
        assert cluster.server.handlers is parts.handlers, "admission answers for the API that is there"
        assert not cluster.health.is_well(WATCHING)
        assert not cluster.health.is_well(ADMISSION)
        self.parts.append(parts)
        error = ProfileChanged() if self.profiles else self.end()
        raise ExceptionGroup("the life ended", [error])


async def test_another_api_starts_a_generation_that_shares_nothing_with_the_old_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    served = Served(monkeypatch, CRD_IN_OWN_GROUP, NATIVE, end=lambda: ZeroDivisionError("bug"))
    with pytest.raises(ExceptionGroup) as raised:
        await run_generations(a_cluster())
    assert raised.group_contains(ZeroDivisionError), "what is not a change of the API is the supervisor's"
    assert [parts.profile for parts in served.parts] == [CRD_IN_OWN_GROUP, NATIVE]
    first, second = served.parts
    assert first.cache is not second.cache
    assert first.queue is not second.queue
    assert "changes to another scheduling API" in served.sentences[1]


async def test_a_change_of_the_api_passes_the_supervisor_and_other_errors_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    profiles, probes, cluster = [CRD_IN_OWN_GROUP, NATIVE], list[ApiProfile](), a_cluster()
    settled = asyncio.Event()

    async def found(*_: object) -> ApiProfile:
        return profiles.pop(0)

    async def probe(_: object, __: object, profile: ApiProfile, *___: object) -> None:
        probes.append(profile)
        if len(probes) == 1:
            raise ZeroDivisionError("bug")
        if profile != NATIVE:
            raise ProfileChanged
        settled.set()

    monkeypatch.setattr(generation, "wait_for_profile", found)
    monkeypatch.setattr(wiring, "keep_probing", probe)
    for owner in (WatchThread, Reflector):
        monkeypatch.setattr(owner, "run", idle)
    cluster.supervisor.first_restart_seconds = 0.01
    living = asyncio.create_task(run_generations(cluster))
    await asyncio.wait_for(settled.wait(), 5)
    assert probes == [CRD_IN_OWN_GROUP, CRD_IN_OWN_GROUP, NATIVE]
    assert not living.done()
    living.cancel()
    with pytest.raises(asyncio.CancelledError):
        await living


async def test_muster_registers_webhooks_once_it_can_work_and_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dev, "REGISTER_AGAIN_SECONDS", 0.02)
    client = Reluctant(FakeCluster())
    client.refusals = 1
    cluster = a_cluster(client)
    for part in (API, WATCHING, ADMISSION):
        cluster.health.announce(part, f"{part} has not begun")
    assert cluster.serving.webhooks is not None
    registering = asyncio.create_task(cluster.serving.webhooks.keep(CRD_IN_OWN_GROUP, cluster.health))
    cluster.health.well(API)
    await asyncio.sleep(0.01)
    assert not client.cluster.history, "pods must not wait for a Muster that sees nothing"
    cluster.health.well(WATCHING)
    await asyncio.sleep(0.01)
    assert cluster.health.sentence == "not ready: the webhooks cannot be registered: cannot create resource"
    await asyncio.wait_for(registering, 1)
    assert cluster.health.ready
    (mutating,) = client.cluster.find("mutatingwebhookconfigurations")
    assert [webhook["name"] for webhook in mutating["webhooks"]] == ["pods.muster.dev", "pod-groups.muster.dev"]
