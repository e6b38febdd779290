"""A PodGroup is replaced by one of another size, on a cluster in memory. Faults have a sweep of their own."""

from collections.abc import Callable
from typing import Any

import pytest

from muster.api.profile import CRD_IN_OWN_GROUP, NATIVE, ApiProfile
from muster.api.v1alpha2.podgroup import PROTECTION
from muster.kube.errors import Forbidden, Rejected
from muster.kube.resources import Resource
from tests.builders import JobBuilder, Object, PodBuilder, a_gang, a_pod, a_workload, missing_right
from tests.fake_cluster import MUSTER, USER, FakeClient, FakeCluster
from tests.unit.controllers.parts import Parts, build
from tests.unit.core.seeing import GROUP_NAME, our_group, our_workload

JOB = a_gang("test-job").uid("test-job-uid")
PLACE = ("podgroups", "default", GROUP_NAME)


def lost() -> JobBuilder:
    job = a_gang("test-job").uid("test-job-uid")
    return job.with_status(completedIndexes="0", succeeded=1, failed=1, active=3, ready=2)


def a_member(index: int, profile: ApiProfile = NATIVE) -> PodBuilder:
    pod = a_pod(f"pod-{index}").uid(f"pod-{index}-uid").of(JOB, index)
    return pod.in_group(GROUP_NAME) if profile.native else pod.naming_group(GROUP_NAME)


def a_cluster(job: JobBuilder, profile: ApiProfile = NATIVE, waiting: bool = True) -> FakeCluster:
    """Index 0 has succeeded, 2 and 3 run; the pod of index 1 is back."""
    cluster = FakeCluster()
    back = a_member(1, profile)
    for thing in (
        job,
        our_workload(),
        our_group().protected(),
        a_member(0, profile).bound().phase("Succeeded"),
        back if waiting else back.bound(),
        a_member(2, profile).bound(),
        a_member(3, profile).bound(),
    ):
        cluster.apply(thing)
    return cluster


async def settled(cluster: FakeCluster, profile: ApiProfile = NATIVE, client: FakeClient | None = None) -> Parts:
    """Everything was listed, and every Job that wants something was worked on once."""
    parts = build(client or FakeClient(cluster), profile)
    await parts.resync.once()
    parts.cache.mark_synced(True)
    while len(parts.queue):
        key = await parts.queue.get()
        await parts.reconciler.reconcile(key)
        parts.queue.done(key)
    return parts


def written(cluster: FakeCluster) -> list[tuple[str, str]]:
    return [(change.verb, change.plural) for change in cluster.history if change.actor == MUSTER]


def posted(parts: Parts) -> list[str]:
    queue = parts.recorder._queue
    return [str(event.reason) for event in (queue.get_nowait() for _ in range(queue.qsize()))]


def size_of(cluster: FakeCluster) -> int:
    return int(cluster.objects[PLACE]["spec"]["schedulingPolicy"]["gang"]["minCount"])


REPLACED = [("MODIFIED", "podgroups"), ("MODIFIED", "podgroups"), ("DELETED", "podgroups"), ("ADDED", "podgroups")]
"""Marked, let go, gone, made."""


@pytest.mark.parametrize("profile", [NATIVE, CRD_IN_OWN_GROUP], ids=["built in", "CRDs"])
async def test_the_group_is_replaced_under_its_name_and_nothing_else_is_touched(profile: ApiProfile) -> None:
    cluster = a_cluster(lost(), profile)
    parts = await settled(cluster, profile)
    assert size_of(cluster) == 3
    assert written(cluster) == REPLACED
    assert posted(parts) == ["GangResized"]


async def test_once_it_has_its_size_nothing_more_is_read_or_written(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = a_cluster(lost())
    parts = await settled(cluster)
    for call in ("get", "list"):
        monkeypatch.setattr(FakeClient, call, not_expected)
    await parts.reconciler.reconcile(JOB.ref.key)
    assert len(written(cluster)) == len(REPLACED)
    assert not await parts.resync._unsettled()


def unlost() -> JobBuilder:
    """Index 0 has succeeded, a pod is not ready, and none was ever lost."""
    return a_gang("test-job").uid("test-job-uid").with_status(completedIndexes="0", succeeded=1, active=3, ready=2)


@pytest.mark.parametrize("job", [lost(), unlost()], ids=["lost", "never lost"])
async def test_a_pod_that_is_only_not_ready_yet_is_no_reason_and_costs_one_list(
    job: JobBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = a_cluster(job, waiting=False)
    parts = await settled(cluster)
    assert written(cluster) == []
    listed: list[str] = []
    real = FakeClient.list

    async def counted(client: FakeClient, resource: Resource, *more: Any, **options: Any) -> Any:
        listed.append(resource.plural)
        return await real(client, resource, *more, **options)

    monkeypatch.setattr(FakeClient, "get", not_expected)
    monkeypatch.setattr(FakeClient, "list", counted)
    await parts.reconciler.reconcile(JOB.ref.key)
    assert listed == ["pods"]


async def test_a_pod_that_never_got_its_node_does_not_wait_for_those_that_have_ended() -> None:
    """The scheduler lost its binding, with the API server. No pod has failed."""
    cluster = a_cluster(unlost())
    parts = await settled(cluster)
    assert size_of(cluster) == 3
    assert written(cluster) == REPLACED
    assert posted(parts) == ["GangResized"]


async def test_a_pod_that_is_going_waits_for_nothing() -> None:
    cluster = a_cluster(lost())
    cluster.update("pods", "default", "pod-1", lambda pod: pod["metadata"].update(deletionTimestamp="now"), USER)
    await settled(cluster)
    assert written(cluster) == []


async def test_a_pod_that_only_claims_to_be_the_job_s_is_no_reason() -> None:
    cluster = a_cluster(lost(), waiting=False)
    stranger = a_member(1).uid("stranger").in_group(GROUP_NAME)
    stranger.raw["metadata"].update(name="stranger", ownerReferences=[])
    cluster.apply(stranger)
    await settled(cluster)
    assert written(cluster) == []


async def test_labels_and_annotations_of_others_stay() -> None:
    cluster = a_cluster(lost())
    marks = {"labels": {"app.kubernetes.io/managed-by": "muster", "team": "a"}, "annotations": {"note": "b"}}
    cluster.update(*PLACE, lambda group: group["metadata"].update(marks), USER)
    before = cluster.objects[PLACE]
    await settled(cluster)
    after = cluster.objects[PLACE]
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    for field in ("labels", "annotations", "ownerReferences", "finalizers"):
        assert after["metadata"][field] == before["metadata"][field]
    assert after["spec"]["podGroupTemplateRef"] == before["spec"]["podGroupTemplateRef"]


async def test_a_finalizer_of_somebody_else_is_respected() -> None:
    cluster = a_cluster(lost())
    cluster.update(*PLACE, lambda group: group["metadata"].update(finalizers=["theirs", PROTECTION]), USER)
    await settled(cluster)
    await settled(cluster)
    assert cluster.objects[PLACE]["metadata"]["finalizers"] == ["theirs"]
    assert written(cluster) == REPLACED[:2], "and nothing is written again and again"
    cluster.remove(*PLACE, USER, force=True)
    await settled(cluster)
    assert size_of(cluster) == 3


CLAIMING = "resourceClaims: [{name: gpu, resourceClaimName: gpus}]"


def _claiming(group: Object) -> None:
    group["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "gpus"}]


def _not_ours(group: Object) -> None:
    group["metadata"].update(labels={})


@pytest.mark.parametrize("change", [_claiming, _not_ours], ids=["it has claims", "it is a user's own"])
async def test_what_may_not_be_replaced_is_told_and_not_touched(change: Callable[[Object], None]) -> None:
    cluster = a_cluster(lost().asking(CLAIMING) if change is _claiming else lost())
    cluster.update(*PLACE, change, USER)
    parts = await settled(cluster)
    assert written(cluster) == []
    assert posted(parts) == ["GangNotResized"]


async def test_what_the_server_does_not_take_as_it_was_is_made_from_the_template() -> None:
    cluster = a_cluster(lost())
    cluster.update(*PLACE, lambda group: group["spec"].update(priority=7), USER)
    await settled(cluster, client=RefusesPriority(cluster))
    assert size_of(cluster) == 3
    assert "priority" not in cluster.objects[PLACE]["spec"]


async def test_a_server_that_takes_no_new_one_is_no_secret() -> None:
    cluster = a_cluster(lost())
    parts = await settled(cluster, client=RejectsPodGroups(cluster))
    assert PLACE not in cluster.objects
    assert posted(parts) == ["GangNotResized"]


async def test_a_server_that_stores_another_size_is_not_asked_again_and_again() -> None:
    cluster = a_cluster(lost())
    parts = await settled(cluster, client=KnowsBetter(cluster))
    for _ in range(3):
        await parts.reconciler.reconcile(JOB.ref.key)
    assert written(cluster) == REPLACED
    assert posted(parts) == ["GangResized", "GangNotResized"]


async def test_a_missing_right_is_told_to_whoever_runs_the_cluster() -> None:
    cluster = a_cluster(lost())
    parts = build(MayNotDelete(cluster))
    await parts.resync.once()
    parts.cache.mark_synced(True)
    with pytest.raises(Forbidden):
        await parts.reconciler.reconcile(JOB.ref.key)
    assert "cannot delete" in parts.health.sentence
    assert written(cluster) == []


async def test_a_job_that_asks_for_more_gets_it_without_a_pod_that_waits() -> None:
    cluster = a_cluster(a_gang("test-job", 6).uid("test-job-uid"), waiting=False)
    await settled(cluster)
    assert size_of(cluster) == 6
    assert written(cluster) == REPLACED


async def test_a_rival_workload_does_not_keep_a_gang_from_being_resized() -> None:
    cluster = a_cluster(lost())
    cluster.apply(a_workload("rival").uid("rival-uid").describing(JOB))
    await settled(cluster)
    assert size_of(cluster) == 3


async def not_expected(*_: object, **__: object) -> Object:
    raise AssertionError("a settled gang was looked at")


class RefusesPriority(FakeClient):
    async def create(self, resource: Resource, namespace: str, body: Object) -> Object:
        if "priority" in body.get("spec", {}):
            raise Forbidden("priority set in the pod group (7) must match the priority computed (0)")
        return await FakeClient.create(self, resource, namespace, body)


class RejectsPodGroups(FakeClient):
    async def create(self, resource: Resource, namespace: str, body: Object) -> Object:
        if resource.plural == "podgroups":
            raise Rejected("a policy of this cluster")
        return await FakeClient.create(self, resource, namespace, body)


class KnowsBetter(FakeClient):
    async def create(self, resource: Resource, namespace: str, body: Object) -> Object:
        if resource.plural == "podgroups":
            body["spec"]["schedulingPolicy"]["gang"]["minCount"] = 4
        return await FakeClient.create(self, resource, namespace, body)


class MayNotDelete(FakeClient):
    async def delete(self, *_: object) -> None:
        raise missing_right("delete", "podgroups")
