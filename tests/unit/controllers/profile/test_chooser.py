"""Probing, agreeing and changing: the chooser on an API server in memory."""

import asyncio
from collections.abc import Mapping

import pytest

from muster.api.lease import PROFILE
from muster.api.profile import CRD_IN_OWN_GROUP, NATIVE, ApiProfile
from muster.controllers.profile import chooser as module
from muster.controllers.profile.agreement import Agreement, LeaseAgreement, OwnAgreement
from muster.controllers.profile.chooser import ProfileChooser
from muster.core.profile_choice import AGREEING_PROBES, Agree, Change, Choice, Keep, ProbeAgain
from muster.kube.api_detection import gangs_exist
from muster.kube.client import Object
from muster.kube.errors import KubeError, NotFound, ServerFault
from muster.kube.resources import Resource
from tests.builders import a_gang, a_pod, a_pod_group
from tests.fake_cluster import USER, FakeClient, FakeCluster

LEASE = ("leases", "muster-system", "muster")
JOB = a_gang("train").uid("now")
INDEX = {"batch.kubernetes.io/job-completion-index": "0"}


class Server(FakeClient):
    """One of the API servers of a cluster, with its own idea of what it serves."""

    def __init__(self, cluster: FakeCluster, *serves: ApiProfile) -> None:
        super().__init__(cluster)
        self.serves = serves
        self.error: KubeError | None = None

    async def list(self, resource: Resource, namespace: str = "", params: Mapping[str, str] | None = None) -> Object:
        if self.error is not None:
            raise self.error
        groups = {each.api_version for each in self.serves}
        if resource.plural in {"workloads", "podgroups"} and f"{resource.group}/{resource.version}" not in groups:
            raise NotFound("the server could not find the requested resource")
        return await super().list(resource, namespace, params)

    async def get(self, resource: Resource, namespace: str, name: str) -> Object:
        if self.error is not None:
            raise self.error
        return await super().get(resource, namespace, name)


@pytest.fixture
def cluster() -> FakeCluster:
    made = FakeCluster()
    put_lease(made)
    return made


def put_lease(cluster: FakeCluster) -> None:
    cluster.create("leases", "muster-system", {"metadata": {"name": "muster"}, "spec": {}}, USER)


def a_chooser(server: Server, leads: bool = True, setting: str = "auto") -> ProfileChooser:
    return ProfileChooser(server, setting, LeaseAgreement(server, "muster-system", "muster"), lambda: leads)


def agreed(cluster: FakeCluster) -> str:
    annotations = cluster.get(*LEASE)["metadata"].get("annotations") or {}
    return str(annotations.get(PROFILE, ""))


async def settled(chooser: ProfileChooser) -> Choice:
    """What comes of it after enough probes."""
    choice: Choice = ProbeAgain()
    for _ in range(AGREEING_PROBES + 1):
        choice = await chooser.look()
        if isinstance(choice, Change):
            chooser.use(choice.to)
    return choice


async def test_two_replicas_whose_servers_differ_use_one_profile(cluster: FakeCluster) -> None:
    first = a_chooser(Server(cluster, NATIVE))
    second = a_chooser(Server(cluster, CRD_IN_OWN_GROUP), leads=False)
    assert await first.look() == Change(NATIVE)
    choice = await settled(second)
    assert isinstance(choice, Keep)
    assert "which this replica's API server does not serve" in choice.problem
    assert (second.using, agreed(cluster)) == (None, "native")


async def test_a_leader_keeps_the_profile_of_living_gangs_and_changes_once_they_are_gone(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GANGS_SECONDS", 0.0)
    first = a_chooser(Server(cluster, NATIVE, CRD_IN_OWN_GROUP), leads=False)
    second = a_chooser(Server(cluster, CRD_IN_OWN_GROUP))
    await settled(first)
    cluster.apply(a_pod("member").of(JOB).labelled(**INDEX).in_group("g"))
    choice = await settled(second)
    assert isinstance(choice, Keep)
    assert "does not switch while gangs of the old API exist" in choice.problem
    cluster.remove("pods", "default", "member", USER)
    await settled(second)
    assert (agreed(cluster), second.using) == (CRD_IN_OWN_GROUP.name, CRD_IN_OWN_GROUP)
    assert await first.is_outdated()
    assert await first.look() == Change(CRD_IN_OWN_GROUP), "the other one follows"


async def test_one_contrary_probe_changes_nothing(cluster: FakeCluster) -> None:
    server = Server(cluster, NATIVE)
    chooser = a_chooser(server)
    await settled(chooser)
    server.serves = (CRD_IN_OWN_GROUP,)
    assert await chooser.look() == ProbeAgain()
    server.serves = (NATIVE,)
    assert await chooser.look() == Keep()
    assert agreed(cluster) == "native"


async def test_a_pinned_leader_changes_at_once_and_the_others_follow(cluster: FakeCluster) -> None:
    server = Server(cluster, NATIVE, CRD_IN_OWN_GROUP)
    auto = a_chooser(server, leads=False)
    await settled(auto)
    cluster.apply(a_pod("member").of(JOB).labelled(**INDEX).in_group("g"))
    pinned = a_chooser(server, setting="scheduling.muster.dev")
    await settled(pinned)
    assert (pinned.using, agreed(cluster)) == (CRD_IN_OWN_GROUP, CRD_IN_OWN_GROUP.name)
    assert await auto.look() == Change(CRD_IN_OWN_GROUP)


async def test_a_replica_that_starts_waits_for_the_lease(cluster: FakeCluster) -> None:
    cluster.remove(*LEASE, USER)
    server = Server(cluster, NATIVE)
    chooser = a_chooser(server)
    assert isinstance(await chooser.look(), Agree), "the election is about to make it"
    server.error = ServerFault("etcd is away")
    choice = await chooser.look()
    assert isinstance(choice, Keep)
    assert "cannot read the Lease, which names the API that the replicas use: etcd is away" in choice.problem


async def test_a_running_replica_goes_on_without_the_lease_and_writes_the_agreement_again(cluster: FakeCluster) -> None:
    chooser = a_chooser(Server(cluster, NATIVE))
    await settled(chooser)
    cluster.remove(*LEASE, USER)
    assert isinstance(await chooser.look(), Agree)
    assert not await chooser.is_outdated()
    put_lease(cluster)
    assert await chooser.look() == Keep()
    assert agreed(cluster) == "native"


@pytest.mark.parametrize("annotation", ["", "something else", 7, None])
async def test_any_annotation_is_an_agreement_or_none(cluster: FakeCluster, annotation: object) -> None:
    def scribble(lease: Object) -> None:
        lease["metadata"]["annotations"] = {PROFILE: annotation}

    cluster.update(*LEASE, scribble, USER)
    assert await LeaseAgreement(FakeClient(cluster), "muster-system", "muster").read() is None
    await settled(a_chooser(Server(cluster, NATIVE)))
    assert agreed(cluster) == "native"


async def test_the_second_replica_does_not_overwrite_an_agreement(cluster: FakeCluster) -> None:
    agreement = LeaseAgreement(FakeClient(cluster), "muster-system", "muster")
    await asyncio.gather(agreement.agree(NATIVE, None), agreement.agree(CRD_IN_OWN_GROUP, None))
    won = await agreement.read()
    assert won is not None
    await agreement.agree(CRD_IN_OWN_GROUP if won == NATIVE else NATIVE, None)
    assert await agreement.read() == won


async def test_a_single_replica_keeps_its_first_agreement() -> None:
    agreement: Agreement = OwnAgreement()
    await agreement.agree(NATIVE, None)
    await agreement.agree(CRD_IN_OWN_GROUP, None)
    assert await agreement.read() == NATIVE


@pytest.mark.parametrize(
    ("thing", "served", "living"),
    [
        pytest.param(None, True, False, id="nothing"),
        pytest.param("ours", True, True, id="a PodGroup of ours"),
        pytest.param("ours", False, False, id="one that nobody serves binds nobody"),
        pytest.param("member", False, True, id="a living member of an API that is gone"),
        pytest.param("plain", False, False, id="a plain pod"),
        pytest.param("ended", False, False, id="a member that ended"),
    ],
)
async def test_these_objects_show_that_gangs_live(thing: str | None, served: bool, living: bool) -> None:
    cluster, plain = FakeCluster(), a_pod("member").of(JOB).labelled(**INDEX)
    match thing:
        case "ours":
            cluster.apply(a_pod_group("g").ours())
        case "member":
            cluster.apply(plain.in_group("g"))
        case "ended":
            cluster.apply(plain.in_group("g").phase("Succeeded"))
        case "plain":
            cluster.apply(plain)
    client = Server(cluster, *((NATIVE,) if served else ()))
    assert await gangs_exist(client, NATIVE, served) is living
