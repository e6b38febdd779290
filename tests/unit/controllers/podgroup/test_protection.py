"""The protection of PodGroups on a cluster in memory: one write at most, and only when nothing is in doubt."""

import asyncio
from collections.abc import Callable

import pytest

from muster.api.keys import ObjectKey
from muster.api.profile import CRD_IN_OWN_GROUP
from muster.api.v1alpha2.podgroup import PROTECTION
from muster.controllers.podgroup import protection as module
from muster.controllers.podgroup.members import Members
from muster.controllers.podgroup.protection import PodGroupProtection
from muster.kube.client import Object
from muster.kube.errors import Conflict, KubeError, NotFound, ServerFault, Throttled
from muster.kube.resources import Resource
from muster.runtime.internal_errors import InternalErrors
from muster.runtime.metrics import Metrics
from muster.runtime.workqueue import WorkQueue
from tests.builders import LONG_AGO, PodBuilder, PodGroupBuilder, a_pod, a_pod_group
from tests.fake_cluster import MUSTER, FakeClient, FakeCluster
from tests.unit.controllers.parts import build

PLACE = ("default", "g")


class Client(FakeClient):
    """Counts reads and patches, and refuses those for which it has an error."""

    def __init__(self, cluster: FakeCluster) -> None:
        super().__init__(cluster)
        self.patches: list[tuple[str, Object]] = []
        self.errors: list[KubeError] = []
        self.gets = 0

    async def get(self, resource: Resource, namespace: str, name: str) -> Object:
        self.gets += 1
        return await super().get(resource, namespace, name)

    async def patch(self, resource: Resource, namespace: str, name: str, body: Object, part: str = "") -> Object:
        self.patches.append((part, body))
        if self.errors:
            raise self.errors.pop(0)
        return await super().patch(resource, namespace, name, body, part)


class Kept:
    """A PodGroup, its pods, and the protection that looks at both."""

    def __init__(self, group: PodGroupBuilder, *pods: PodBuilder) -> None:
        self.cluster = FakeCluster()
        self.client = Client(self.cluster)
        parts = build(self.client, CRD_IN_OWN_GROUP)
        self.cache, self.queue = parts.cache, WorkQueue[ObjectKey]()
        errors = InternalErrors(Metrics())
        self.members = Members(self.queue.add, errors)
        self.protection = PodGroupProtection(parts.pod_groups, self.cache, self.queue, self.members, errors)
        self.cache.mark_synced(True)
        self.cluster.apply(group)
        self.look()
        self.members.replaced([pod.view() for pod in pods])

    def look(self) -> None:
        """The stream shows the group as it is."""
        self.cache.put_pod_group(CRD_IN_OWN_GROUP.read_pod_group(self.stored))

    @property
    def stored(self) -> Object:
        return self.cluster.get("podgroups", *PLACE)

    @property
    def exists(self) -> bool:
        return ("podgroups", *PLACE) in self.cluster.objects


def pods(number: int, phase: str = "Running") -> list[PodBuilder]:
    return [a_pod(f"p{index}").naming_group("g").bound().phase(phase) for index in range(number)]


def group(min_count: int = 2) -> PodGroupBuilder:
    return a_pod_group("g").gang(min_count)


async def test_a_deleted_group_without_living_members_loses_its_finalizer() -> None:
    kept = Kept(group().being_deleted().protected(), *pods(1, "Succeeded"))
    await kept.protection.protect(PLACE)
    assert not kept.exists
    assert [change.actor for change in kept.cluster.history[-2:]] == [MUSTER, MUSTER]


async def test_muster_removes_only_its_own_finalizer() -> None:
    kept = Kept(group().being_deleted().protected("a/b"))
    await kept.protection.protect(PLACE)
    assert kept.stored["metadata"]["finalizers"] == ["a/b"]


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: Kept(group().being_deleted().protected(), *pods(1)), id="a member lives"),
        pytest.param(lambda: Kept(group().protected()), id="nobody deletes it"),
    ],
)
async def test_the_finalizer_stays_in_these_cases(make: Callable[[], Kept]) -> None:
    made = make()
    await made.protection.protect(PLACE)
    assert made.stored["metadata"]["finalizers"] == [PROTECTION]
    assert not made.client.patches


async def test_the_end_of_the_last_member_releases_the_group() -> None:
    kept = Kept(group().being_deleted().protected(), *pods(1))
    await kept.protection.protect(PLACE)
    assert kept.exists
    kept.members.deleted(pods(1)[0].build())
    assert len(kept.queue) == 1, "the group is queued"
    await kept.protection.protect(PLACE)
    assert not kept.exists


async def test_the_condition_comes_once_enough_pods_have_nodes_and_stays() -> None:
    target = {
        "type": "DisruptionTarget",
        "status": "False",
        "reason": "None",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    made = group().reporting(target)
    made.metadata["generation"] = 3
    kept = Kept(made, *pods(1))
    await kept.protection.protect(PLACE)
    assert not kept.client.patches
    kept.members.replaced([pod.view() for pod in pods(2)])
    await kept.protection.protect(PLACE)
    other, condition = kept.stored["status"]["conditions"]
    assert other == target
    assert condition.pop("lastTransitionTime").endswith("Z")
    assert condition == {
        "type": "PodGroupScheduled",
        "status": "True",
        "reason": "Scheduled",
        "message": "",
        "observedGeneration": 3,
    }
    kept.look()
    for members in (pods(2), pods(1), []):
        kept.members.replaced([pod.view() for pod in members])
        await kept.protection.protect(PLACE)
    assert [part for part, _ in kept.client.patches] == ["status"], "it is written once, and never goes back"


async def test_a_false_condition_is_replaced() -> None:
    condition = {"type": "PodGroupScheduled", "status": "False", "reason": "Waiting"}
    kept = Kept(group().reporting(condition), *pods(2))
    await kept.protection.protect(PLACE)
    assert [each["status"] for each in kept.stored["status"]["conditions"]] == ["True"]


async def test_nothing_is_decided_while_the_members_are_being_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LISTING_SECONDS", 0.01)
    kept = Kept(group().being_deleted().protected())
    kept.members.lost()
    await kept.protection.protect(PLACE)
    assert kept.stored["metadata"]["finalizers"] == [PROTECTION]
    assert await asyncio.wait_for(kept.queue.get(), 2) == PLACE, "it is looked at again"


async def test_a_group_that_is_gone_needs_no_write() -> None:
    kept = Kept(group(), *pods(2))
    await kept.protection.protect(("default", "another"))
    assert not kept.client.patches


@pytest.mark.parametrize("synced", [True, False], ids=["A36-57 by the cache", "A36-57 by a read"])
async def test_pods_that_name_an_absent_group_are_no_error(synced: bool) -> None:
    kept = Kept(group(), a_pod("lost").naming_group("absent").phase("Succeeded"))
    kept.cache.mark_synced(synced)
    await kept.protection.protect(("default", "absent"))
    assert (kept.client.patches, kept.client.gets) == ([], 0 if synced else 1)


ANOTHER = a_pod("other").naming_group("another").bound()


@pytest.mark.parametrize(
    ("members", "active"),
    [
        pytest.param([], False, id="A36-59 none"),
        pytest.param(pods(1), True, id="A36-59 an active one"),
        pytest.param(pods(2, "Failed"), False, id="A36-59 only those that ended"),
        pytest.param([*pods(1), a_pod("done").naming_group("g").phase("Succeeded")], True, id="A36-59 some of both"),
        pytest.param([ANOTHER], False, id="A36-59 an active one of another group"),
        pytest.param([a_pod("none").bound()], False, id="A36-59 an active one of no group"),
    ],
)
async def test_which_pods_keep_a_group_that_is_deleted(members: list[PodBuilder], active: bool) -> None:
    kept = Kept(group().being_deleted().protected(), *members)
    await kept.protection.protect(PLACE)
    assert kept.exists is active


async def test_a_write_fails_if_the_group_changed_meanwhile() -> None:
    kept = Kept(group(), *pods(2))
    kept.cluster.update("podgroups", *PLACE, lambda raw: raw["metadata"].update(labels={"a": "b"}), "user")
    with pytest.raises(Conflict):
        await kept.protection.protect(PLACE)
    assert "status" not in kept.stored


@pytest.fixture
def retried(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the protection has to wait, each time that it tries again."""
    seconds: list[float] = []

    def retry(self: WorkQueue[ObjectKey], key: ObjectKey, at_least_seconds: float = 0.0) -> None:
        seconds.append(at_least_seconds)
        self.add(key)

    monkeypatch.setattr(WorkQueue, "retry", retry)
    return seconds


async def worked(kept: Kept) -> None:
    kept.queue.add(PLACE)
    running = asyncio.create_task(kept.protection.workers().run())
    await asyncio.sleep(0.05)
    assert not running.done(), "whatever goes wrong, the workers live"
    running.cancel()


@pytest.mark.parametrize("error", [NotFound("gone"), Conflict("changed")], ids=["not found", "conflict"])
async def test_a_conflict_is_neither_logged_nor_retried(
    error: KubeError, retried: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    kept = Kept(group(), *pods(2))
    kept.client.errors = [error]
    await worked(kept)
    assert (len(kept.client.patches), retried, caplog.records) == (1, [], [])


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        pytest.param(ServerFault("etcd is away"), 0.0, id="the server fails"),
        pytest.param(Throttled("too many requests", 7.0), 7.0, id="the server says when"),
    ],
)
async def test_an_error_is_logged_and_retried(
    error: KubeError, seconds: float, retried: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    kept = Kept(group(), *pods(2))
    kept.client.errors = [error]
    await worked(kept)
    assert retried == [seconds]
    assert kept.stored["status"]["conditions"][0]["status"] == "True"
    assert "default/g: failed, retrying" in caplog.text


async def test_a_bug_in_muster_does_not_end_the_protection(
    retried: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    kept = Kept(group(), *pods(2))
    kept.client.errors = [ZeroDivisionError("bug")]  # type: ignore[list-item]
    await worked(kept)
    assert retried == [0.0]
    assert "unexpected error" in caplog.text


async def test_while_nothing_is_watched_a_group_without_members_is_read() -> None:
    kept = Kept(group().protected(), *pods(1, "Succeeded"))
    kept.cluster.update("podgroups", *PLACE, lambda raw: raw["metadata"].update(deletionTimestamp=LONG_AGO), "user")
    await kept.protection.protect(PLACE)
    assert kept.exists, "the streams are up: they will tell"
    kept.cache.mark_synced(False)
    await kept.protection.protect(PLACE)
    assert not kept.exists


async def test_while_nothing_is_watched_a_group_with_members_costs_no_read() -> None:
    kept = Kept(group(), *pods(1))
    kept.cache.mark_synced(False)
    kept.cluster.remove("podgroups", *PLACE, "user", force=True)
    await kept.protection.protect(PLACE)
    assert not kept.client.gets
