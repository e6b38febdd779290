"""`muster leave`: what it removes, in which order, and which problems it reports."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import takewhile

import pytest

from muster.api.lease import UNINSTALL_HOLDER
from muster.api.v1alpha2.podgroup import PROTECTION
from muster.config.loading import in_its_place
from muster.config.types import Certificates, Settings
from muster.core.election import Terms
from muster.kube.client import Object
from muster.kube.errors import Conflict, Forbidden, KubeError, NotFound, Unreachable
from muster.kube.resources import Resource
from muster.runtime import leader_election
from muster.runtime.leader_election import Leadership
from muster.uninstall.steps import Leave
from tests.fake_cluster import MUSTER, USER, FakeClient, FakeCluster

SETTINGS = in_its_place(Settings(), {"POD_NAMESPACE": "ours"})
MUTATING = "mutatingwebhookconfigurations", "", "muster"
VALIDATING = "validatingwebhookconfigurations", "", "muster"
LEASE, SECRET = ("leases", "ours", "muster"), ("secrets", "ours", "muster-certificates")
DEV = tuple((plural, "", "muster-dev") for plural, _, _ in (MUTATING, VALIDATING))
OWN, BUILT_IN = "scheduling.muster.dev", "scheduling.k8s.io"
FINALIZERS = "the finalizer of PodGroups of"
KILLED = (
    "belongs to a `muster run --dev`. If that process has ended, the webhooks refuse pods: run `muster leave --dev`"
)
PRIORITY_CLASSES = f"priorityclasses.{BUILT_IN}"


@dataclass(slots=True)
class Leaver(FakeClient):
    """On a server that serves PodGroups of that group only, and refuses the given calls."""

    group: str = OWN
    absent: set[str] = field(default_factory=set)
    refuses: dict[str, KubeError] = field(default_factory=dict)
    changing: int = 0
    """How many writes meet a conflict first."""

    async def list(self, resource: Resource, namespace: str = "", params: Mapping[str, str] | None = None) -> Object:
        self._stumble("list", resource)
        if str(resource) in self.absent or (resource.plural == "podgroups" and resource.group != self.group):
            raise NotFound("the server could not find the requested resource")
        return await FakeClient.list(self, resource, namespace, params)

    async def replace(self, resource: Resource, namespace: str, name: str, body: Object) -> Object:
        self._stumble("update", resource)
        self._change()
        return await FakeClient.replace(self, resource, namespace, name, body)

    async def patch(self, resource: Resource, namespace: str, name: str, body: Object, part: str = "") -> Object:
        self._stumble("patch", resource)
        self._change()
        return await FakeClient.patch(self, resource, namespace, name, body, part)

    async def delete(self, resource: Resource, namespace: str, name: str, preconditions: Mapping[str, str]) -> None:
        self._stumble("delete", resource)
        await FakeClient.delete(self, resource, namespace, name, preconditions)

    def _stumble(self, verb: str, resource: Resource) -> None:
        if error := self.refuses.get(f"{verb} {resource}"):
            raise error

    def _change(self) -> None:
        if self.changing:
            self.changing -= 1
            raise Conflict("the object has been modified")


@pytest.fixture
def cluster() -> FakeCluster:
    made = FakeCluster()
    for plural, namespace, name in (MUTATING, VALIDATING, *DEV, SECRET):
        made.create(plural, namespace, {"metadata": {"name": name}, "webhooks": [{"name": "w"}]}, USER)
    spec = {"holderIdentity": "muster-1", "leaseDurationSeconds": 15}
    made.create("leases", "ours", {"metadata": {"name": "muster"}, "spec": spec}, USER)
    for name in ("one", "two"):
        made.create("podgroups", "team", {"metadata": {"name": name, "finalizers": ["theirs"]}, "spec": {}}, USER)
    return made


def a_leave(
    client: FakeClient, dev: bool = False, settings: Settings = SETTINGS
) -> tuple[Leave, list[str], list[float]]:
    """And what it says, and how long it waits."""
    said: list[str] = []
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)
        await asyncio.sleep(0)

    return Leave(client, settings, said.append, dev, sleep=sleep, clock=lambda: sum(waited)), said, waited


def left_over(cluster: FakeCluster) -> set[tuple[str, str, str]]:
    """The two configurations stay, since they are the chart's: without webhooks, nothing is left of them."""
    found = {place for place in (MUTATING, VALIDATING, *DEV, LEASE, SECRET) if place in cluster.objects}
    return found - {place for place in (MUTATING, VALIDATING) if not has_webhooks(cluster, place)}


def has_webhooks(cluster: FakeCluster, place: tuple[str, str, str]) -> bool:
    return bool(cluster.objects[place].get("webhooks"))


def finalizers(cluster: FakeCluster) -> list[list[str]]:
    return [group["metadata"]["finalizers"] for group in cluster.find("podgroups")]


async def test_leave_takes_the_lease_then_removes_webhooks_finalizers_and_the_namespaced_objects(
    cluster: FakeCluster,
) -> None:
    leaving, said, waited = a_leave(Leaver(cluster))
    await leaving.run()
    ours = [change for change in cluster.history if change.actor == MUSTER]
    taken = [*takewhile(lambda change: change.plural == "leases", ours)]
    assert {change.object["spec"]["holderIdentity"] for change in taken} == {UNINSTALL_HOLDER}
    assert [f"{change.verb} {change.plural} {change.name}" for change in ours[len(taken) :]] == [
        "MODIFIED mutatingwebhookconfigurations muster",
        "MODIFIED validatingwebhookconfigurations muster",
        "MODIFIED podgroups one",
        "MODIFIED podgroups two",
        "DELETED secrets muster-certificates",
        "DELETED leases muster",
    ]
    assert leaving.problems == []
    assert finalizers(cluster) == [["theirs"], ["theirs"]], "somebody else's stays"
    assert left_over(cluster) == set(DEV)
    assert sum(waited) == 12 + 1, "until nobody leads and all have seen it, and once between two looks"
    assert len(taken) == 13, "and it does not run out meanwhile"
    assert said == [
        "acquired the Lease ours/muster: running replicas register no webhooks and form no new gangs",
        "no replica has noticed the uninstall, so none can complete gangs: not waiting for them",
        "removed the webhooks of mutatingwebhookconfigurations.admissionregistration.k8s.io muster",
        "removed the webhooks of validatingwebhookconfigurations.admissionregistration.k8s.io muster",
        "removed the finalizer from 2 PodGroups of scheduling.muster.dev",
        *(f"{plural}.admissionregistration.k8s.io muster-dev {KILLED}" for plural, _, _ in DEV),
        "removed secrets ours/muster-certificates",
        "removed leases.coordination.k8s.io ours/muster",
    ]


async def test_a_second_leave_finds_nothing_and_writes_nothing(cluster: FakeCluster) -> None:
    await a_leave(Leaver(cluster))[0].run()
    revision = cluster.revision
    leaving, said, _ = a_leave(Leaver(cluster))
    await leaving.run()
    assert (cluster.revision, leaving.problems) == (revision, [])
    assert "there is no Lease ours/muster, so there is no replica to notify" in said
    assert "there is no secrets ours/muster-certificates" in said


async def test_leave_removes_the_webhooks_of_a_killed_dev_run_if_asked(cluster: FakeCluster) -> None:
    leaving, said, _ = a_leave(Leaver(cluster), dev=True)
    await leaving.run()
    assert left_over(cluster) == set()
    assert not [line for line in said if KILLED in line]


async def test_a_secret_that_muster_does_not_own_stays(cluster: FakeCluster) -> None:
    settings = SETTINGS.model_copy(update={"certificates": Certificates(mode="files")})
    await a_leave(Leaver(cluster), settings=settings)[0].run()
    assert left_over(cluster) == {*DEV, SECRET}


async def test_leave_keeps_the_finalizers_of_the_built_in_api(cluster: FakeCluster) -> None:
    leaving, said, _ = a_leave(Leaver(cluster, group=BUILT_IN))
    await leaving.run()
    assert leaving.problems == []
    assert finalizers(cluster) == [["theirs", PROTECTION]] * 2
    assert f"PodGroups of {OWN} are not served here" in said


async def test_leave_removes_the_finalizers_of_the_crds_in_either_group(cluster: FakeCluster) -> None:
    await a_leave(Leaver(cluster, group=BUILT_IN, absent={PRIORITY_CLASSES}))[0].run()
    assert finalizers(cluster) == [["theirs"]] * 2


async def test_leave_retries_after_a_conflict(cluster: FakeCluster) -> None:
    leaving, _, _ = a_leave(Leaver(cluster, changing=3))
    await leaving.run()
    assert leaving.problems == []
    assert finalizers(cluster) == [["theirs"]] * 2
    assert left_over(cluster) == set(DEV)


FORBIDDEN = Forbidden("you cannot do that with this resource")
IN_THE_WAY = {
    "the Lease": ("update leases.coordination.k8s.io", "the Lease ours/muster cannot be taken", set()),
    "the mutating webhooks": (
        f"update {MUTATING[0]}.admissionregistration.k8s.io",
        f"the webhooks of {MUTATING[0]}.admissionregistration.k8s.io muster cannot be removed",
        {MUTATING},
    ),
    "the PodGroups": (f"list podgroups.{OWN}", f"{FINALIZERS} {OWN} cannot be removed", set()),
    "the PriorityClasses": (f"list {PRIORITY_CLASSES}", f"{FINALIZERS} {BUILT_IN} cannot be removed", set()),
    "one PodGroup": (f"patch podgroups.{OWN}", "the finalizer of PodGroup team/one cannot be removed", set()),
    "the Secret": ("delete secrets", "secrets ours/muster-certificates cannot be removed", {SECRET}),
}


@pytest.mark.parametrize("what", IN_THE_WAY)
async def test_leave_reports_a_forbidden_call_once_and_does_the_rest(cluster: FakeCluster, what: str) -> None:
    call, sentence, stays = IN_THE_WAY[what]
    leaving, _, _ = a_leave(Leaver(cluster, refuses={call: FORBIDDEN}))
    await leaving.run()
    assert [problem for problem in leaving.problems if problem.startswith(sentence)] == [f"{sentence}: {FORBIDDEN}"]
    assert left_over(cluster) - set(DEV) == stays


async def test_a_malformed_answer_is_a_problem(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(*_: object) -> Object:
        return {}

    monkeypatch.setattr(FakeClient, "get", nothing)
    leaving, _, _ = a_leave(Leaver(cluster))
    await leaving.run()
    for kind, _, _ in (MUTATING, VALIDATING):
        said = [each for each in leaving.problems if kind in each]
        assert len(said) == 1
        assert "returned another object" in said[0]


async def test_without_an_answer_leave_reports_one_sentence(cluster: FakeCluster) -> None:
    silent = Unreachable("the API server does not answer")
    leaving, said, _ = a_leave(Leaver(cluster, refuses={"update leases.coordination.k8s.io": silent}))
    await leaving.run()
    assert (said, leaving.problems) == ([], ["the API server does not answer"])


async def test_leave_names_a_muster_that_restores_the_webhooks(cluster: FakeCluster) -> None:
    leaving, said, _ = a_leave(Leaver(cluster))

    waits = leaving.sleep

    async def registered_again(seconds: float) -> None:
        await waits(seconds)
        if not has_webhooks(cluster, MUTATING):
            cluster.update(*MUTATING, lambda found: found.update(webhooks=[{"name": "w"}]), MUSTER)

    leaving.sleep = registered_again
    await leaving.run()
    assert leaving.problems == [
        "a running Muster restores what was removed: scale its Deployment to 0, then run this again"
    ]
    removed = f"removed the webhooks of {MUTATING[0]}.admissionregistration.k8s.io muster, which had reappeared"
    assert said.count(removed) == 2


async def test_running_replicas_stop_leading_and_a_later_one_leads(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leader_election, "LOOK_SECONDS", 0.01)
    del cluster.objects[LEASE]
    replicas = [a_replica(cluster, name) for name in ("first", "second")]
    tasks = [asyncio.create_task(replica.run()) for replica in replicas]
    await until(lambda: any(replica.leads() for replica in replicas))
    await asyncio.sleep(0.05)
    leaving, _, _ = a_leave(Leaver(cluster))
    leaving.sleep, leaving.clock = asyncio.sleep, time.monotonic
    await leaving.run()
    assert [(replica.uninstalled(), replica.leads()) for replica in replicas] == [(True, False)] * 2
    assert LEASE not in cluster.objects
    later = a_replica(cluster, "later")
    tasks.append(asyncio.create_task(later.run()))
    await until(later.leads)
    assert not later.uninstalled()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_the_lease_of_a_leave_that_died_expires(cluster: FakeCluster) -> None:
    cluster.objects[LEASE]["spec"]["holderIdentity"] = UNINSTALL_HOLDER
    cluster.objects[LEASE]["spec"]["leaseDurationSeconds"] = 1
    later = a_replica(cluster, "later")
    task = asyncio.create_task(later.run())
    await until(later.leads)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def a_replica(cluster: FakeCluster, name: str) -> Leadership:
    return Leadership(FakeClient(cluster), "ours", "muster", Terms(name, duration_seconds=0.6, renew_seconds=0.05))


async def until(check: object, seconds: float = 10.0) -> None:
    assert callable(check)
    for _ in range(int(seconds / 0.01)):
        if check():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"it did not happen within {seconds} s")
