"""Forming a gang: shared work, bounded work, and what is learnt from it."""

import asyncio
from dataclasses import replace

import pytest

from muster.api.profile import NATIVE
from muster.controllers.job.gang_former import Unsettled
from muster.core.decision import Membership
from muster.core.reasons import EventReason, Reason
from muster.kube.client import Object
from muster.kube.errors import Forbidden, KubeError, NotFound, Rejected, ServerFault
from muster.kube.lanes import Lane, current_work, in_lane
from muster.kube.resources import Resource
from muster.runtime.health import API
from tests.builders import a_gang, a_job, a_workload, missing_right
from tests.fake_cluster import FakeClient, FakeCluster
from tests.oracles import created_by_us
from tests.unit.controllers.parts import Parts, build

JOB = a_gang("train").uid("now")


class SlowClient(FakeClient):
    """Creates wait until they are let go, and may fail then."""

    def __init__(self, cluster: FakeCluster) -> None:
        super().__init__(cluster)
        self.go = asyncio.Event()
        self.error: KubeError | None = None
        self.fails_on: frozenset[str] = frozenset({"workloads", "podgroups"})

    async def create(self, resource: Resource, namespace: str, body: Object) -> Object:
        await self.go.wait()
        if self.error is not None and resource.plural in self.fails_on:
            raise self.error
        return await super().create(resource, namespace, body)


WRONG = "spec: Invalid value"


@pytest.fixture
def cluster() -> FakeCluster:
    made = FakeCluster()
    made.apply(JOB)
    return made


@pytest.fixture
async def slow(cluster: FakeCluster) -> SlowClient:
    return SlowClient(cluster)


async def test_work_of_a_worker_hurries_once_admission_waits_for_it(cluster: FakeCluster) -> None:
    """Else a webhook would wait behind everything that the workers ask for."""
    used: list[Lane] = []

    class Noting(SlowClient):
        async def create(self, resource: Resource, namespace: str, body: Object) -> Object:
            made = await super().create(resource, namespace, body)
            used.append(current_work().lane)
            return made

    client = Noting(cluster)
    gang_former = build(client).gang_former
    others = [asyncio.create_task(gang_former.ensure(JOB.ref)) for _ in range(2)]
    await asyncio.sleep(0.01)
    async with in_lane(Lane.ADMISSION):
        asked = asyncio.create_task(gang_former.ensure(JOB.ref))
    await asyncio.sleep(0.01)
    client.go.set()
    await asyncio.gather(*others, asked)
    assert used == [Lane.ADMISSION] * 2
    assert current_work().lane is Lane.BACKGROUND, "other work of the workers stays where it was"
    cluster.apply(other := a_gang("other").uid("other"))
    await gang_former.ensure(other.ref)
    assert used[2:] == [Lane.BACKGROUND] * 2


async def test_callers_of_one_job_share_the_work(cluster: FakeCluster, slow: SlowClient) -> None:
    gang_former = build(slow).gang_former
    callers = [asyncio.create_task(gang_former.ensure(JOB.ref)) for _ in range(5)]
    await asyncio.sleep(0.01)
    slow.go.set()
    decisions = await asyncio.gather(*callers)
    assert {decision.membership for decision in decisions} == {Membership.JOIN}
    assert len({decision.group for decision in decisions}) == 1
    assert sorted(created_by_us(cluster).values()) == [1, 1]


async def test_one_caller_s_deadline_does_not_cut_off_the_others(cluster: FakeCluster, slow: SlowClient) -> None:
    gang_former = build(slow).gang_former
    patient = asyncio.create_task(gang_former.ensure(JOB.ref))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await gang_former.ensure(JOB.ref)
    slow.go.set()
    assert (await patient).membership is Membership.JOIN


async def test_work_goes_on_when_all_callers_have_left(cluster: FakeCluster, slow: SlowClient) -> None:
    gang_former = build(slow).gang_former
    gang_former.jobs.cache.put_job(JOB.view())  # else it is looked up first, and nothing has begun yet
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await gang_former.ensure(JOB.ref)
    slow.go.set()
    await asyncio.sleep(0.2)
    assert len(created_by_us(cluster)) == 2
    assert not gang_former._flights._under_way


async def test_a_failure_reaches_every_caller_and_is_not_remembered(cluster: FakeCluster, slow: SlowClient) -> None:
    gang_former = build(slow).gang_former
    slow.error = ServerFault("away")
    slow.go.set()
    results = await asyncio.gather(*(gang_former.ensure(JOB.ref) for _ in range(2)), return_exceptions=True)
    assert [type(result) for result in results] == [ServerFault, ServerFault]
    slow.error = None
    assert (await gang_former.ensure(JOB.ref)).membership is Membership.JOIN


@pytest.mark.parametrize(
    ("fails", "left"),
    [
        pytest.param("workloads", [0, 0], id="J36-43 the Workload cannot be created"),
        pytest.param("podgroups", [1, 0], id="J36-44 the PodGroup cannot be created"),
    ],
)
async def test_the_error_of_a_creation_reaches_who_asked(
    cluster: FakeCluster, slow: SlowClient, fails: str, left: list[int]
) -> None:
    """So the pod is refused and the Job is queued again; and what was made before the error is used after it."""
    gang_former = build(slow).gang_former
    slow.go.set()
    slow.error, slow.fails_on = ServerFault("away"), frozenset({fails})
    with pytest.raises(ServerFault, match="away"):
        await gang_former.ensure(JOB.ref)
    assert [len(cluster.find(kind)) for kind in ("workloads", "podgroups")] == left
    slow.error = None
    assert (await gang_former.ensure(JOB.ref)).membership is Membership.JOIN
    assert [len(cluster.find(kind)) for kind in ("workloads", "podgroups")] == [1, 1]


async def test_a_preview_writes_nothing(cluster: FakeCluster) -> None:
    before = cluster.revision
    decision = await build(FakeClient(cluster)).gang_former.preview(JOB.ref)
    assert decision.reason is Reason.WORKLOAD_MISSING
    assert decision.group
    assert cluster.revision == before


async def test_a_preview_knows_what_another_replica_has_made(cluster: FakeCluster) -> None:
    made = await build(FakeClient(cluster)).gang_former.ensure(JOB.ref)
    other = build(FakeClient(cluster))
    other.cache.mark_synced(True)
    assert (await other.gang_former.preview(JOB.ref)).group == made.group


@pytest.mark.parametrize("read_again", [pytest.param(True, id="a gone Job"), pytest.param(False, id="another uid")])
async def test_a_job_that_is_another_one_now_gets_nothing(cluster: FakeCluster, read_again: bool) -> None:
    cluster.remove("jobs", "default", "train", "user")
    if not read_again:
        cluster.apply(a_gang("train").uid("later"))
    decision = await build(FakeClient(cluster)).gang_former.ensure(JOB.ref)
    assert (decision.reason, decision.membership) == (Reason.JOB_GONE, Membership.HOLD)
    assert not created_by_us(cluster)


async def test_a_missing_right_makes_muster_not_ready_and_a_refused_object_does_not(
    cluster: FakeCluster, slow: SlowClient
) -> None:
    slow.go.set()
    parts = build(slow)
    slow.error = Forbidden("exceeded quota")
    with pytest.raises(Forbidden):
        await parts.gang_former.ensure(JOB.ref)
    assert parts.health.is_well(API)
    slow.error = missing_right("create", "workloads")
    with pytest.raises(Forbidden):
        await parts.gang_former.ensure(JOB.ref)
    assert not parts.health.is_well(API)


async def test_what_is_rejected_for_good_is_tried_once(cluster: FakeCluster, slow: SlowClient) -> None:
    slow.go.set()
    slow.error = Rejected(WRONG)
    gang_former = build(slow).gang_former
    first = await gang_former.ensure(JOB.ref)
    assert (first.reason, first.membership, first.detail) == (Reason.REJECTED_ONCE, Membership.HOLD, WRONG)
    slow.error = None
    for again in (await gang_former.ensure(JOB.ref), await gang_former.ensure(JOB.ref)):
        assert (again.reason, again.membership, again.detail) == (Reason.REJECTED, Membership.PLAIN, WRONG)
    assert not created_by_us(cluster)


async def test_a_squatter_on_every_name_does_not_keep_us_for_ever(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muster.core.decide.workload_name", lambda job, uid, nth=0: f"squatted-{nth}")
    for nth in range(60):
        cluster.apply(a_workload(f"squatted-{nth}"))
    gang_former = build(FakeClient(cluster)).gang_former
    with pytest.raises(Unsettled, match="kept changing during 32 steps"):
        await gang_former.ensure(JOB.ref)
    with pytest.raises(Unsettled):
        await gang_former.ensure(JOB.ref)
    assert (await gang_former.ensure(JOB.ref)).membership is Membership.JOIN, (
        "what was taken is remembered, so it gets on"
    )


async def reconciled(parts: Parts) -> None:
    parts.cache.mark_synced(True)
    await parts.resync.once()
    while len(parts.queue):
        key = await parts.queue.get()
        await parts.reconciler.workers(1).handle_or_retry(key)
        parts.queue.done(key)


async def test_the_controller_forms_the_gang_and_then_rests(cluster: FakeCluster) -> None:
    parts = build(FakeClient(cluster))
    await reconciled(parts)
    assert len(created_by_us(cluster)) == 2
    before = cluster.revision
    assert await parts.resync.once() == 0
    assert (await parts.reconciler.reconcile(JOB.ref.key)).reason is Reason.GANG_FORMED
    assert cluster.revision == before


class Gateless(FakeClient):
    """A server that does not keep priorities."""

    async def create(self, resource: Resource, namespace: str, body: Object) -> Object:
        for template in body.get("spec", {}).get("podGroupTemplates", []):
            template.pop("priorityClassName", None)
        return await super().create(resource, namespace, body)


async def test_what_the_server_does_not_keep_is_told_once() -> None:
    cluster = FakeCluster()
    cluster.apply(urgent := a_gang("urgent").with_pods(priorityClassName="high"))
    parts = build(Gateless(cluster))
    assert (await parts.gang_former.ensure(urgent.ref)).membership is Membership.JOIN
    posted = [event for event in parts.recorder._queue._queue if event.reason is EventReason.POLICY_DROPPED]  # type: ignore[attr-defined]
    assert [(event.type, "priorityClassName" in event.message) for event in posted] == [("Warning", True)]


async def test_where_some_pods_skip_the_webhook_the_controller_begins_nothing(cluster: FakeCluster) -> None:
    parts = build(FakeClient(cluster))
    parts.reconciler.rules = replace(parts.reconciler.rules, adopt_existing_only=True)
    await reconciled(parts)
    assert not created_by_us(cluster)
    await parts.gang_former.ensure(JOB.ref)
    (group,) = cluster.find("podgroups")
    cluster.remove("podgroups", "default", group["metadata"]["name"], "user", force=True)
    await reconciled(parts)
    assert len(cluster.find("podgroups")) == 1, "what the webhook has begun is kept up"


async def test_a_plain_job_costs_no_request(cluster: FakeCluster) -> None:
    class Closed(FakeClient):
        async def list(self, *args: object, **kwargs: object) -> Object:
            raise AssertionError("nobody should ask")

    parts = build(Closed(cluster))
    parts.cache.put_job(a_job("plain").view())
    assert (await parts.reconciler.reconcile(a_job("plain").ref.key)).reason is Reason.NOT_INDEXED


async def test_one_job_s_error_is_its_own(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = build(FakeClient(cluster))
    retried: list[object] = []
    monkeypatch.setattr(parts.queue, "retry", lambda key, seconds=0.0: retried.append((key.name, seconds)))
    for error, expected in ((NotFound("x"), 0.0), (ServerFault("x", 7.0), 7.0), (ZeroDivisionError("bug"), 0.0)):

        async def fail(key: object, error: Exception = error) -> object:
            raise error

        monkeypatch.setattr(type(parts.reconciler), "reconcile", lambda self, key, fail=fail: fail(key))
        await parts.reconciler.workers(1).handle_or_retry(JOB.ref.key)
        assert retried.pop() == ("train", expected)


async def test_a_workload_that_only_the_cache_still_has_is_made_again(cluster: FakeCluster) -> None:
    parts = build(FakeClient(cluster))
    await parts.resync.once()
    parts.cache.mark_synced(True)
    await parts.gang_former.ensure(JOB.ref)
    (workload,), (group,) = cluster.find("workloads"), cluster.find("podgroups")
    cluster.remove("workloads", "default", workload["metadata"]["name"], "user")
    cluster.remove("podgroups", "default", group["metadata"]["name"], "user", force=True)
    parts.cache.drop_pod_group(NATIVE.read_pod_group(group).metadata)  # the streams showed one of the two deletions
    parts.gang_former.forget(JOB.ref.uid)
    decision = await parts.gang_former.ensure(JOB.ref)
    assert decision.membership is Membership.JOIN
    assert [len(cluster.find(kind)) for kind in ("workloads", "podgroups")] == [1, 1]
