"""What is remembered of a Job, and for how long: as long as its witness exists."""

import asyncio
from collections import Counter
from collections.abc import Mapping

import pytest

from muster.core.decision import Membership
from muster.core.reasons import Reason
from muster.kube.client import Object
from muster.kube.errors import Rejected
from muster.kube.resources import Resource
from tests.builders import a_gang, a_pod, a_pod_group, a_workload
from tests.fake_cluster import USER, FakeClient, FakeCluster
from tests.oracles import created_by_us
from tests.unit.controllers.parts import build

JOB = a_gang("train").uid("now")


@pytest.fixture
def cluster() -> FakeCluster:
    made = FakeCluster()
    made.apply(JOB)
    return made


class Rejecting(FakeClient):
    async def create(self, resource: Resource, namespace: str, body: Object) -> Object:
        if resource.plural == "workloads":
            raise Rejected("spec: Invalid value")
        return await super().create(resource, namespace, body)


async def test_a_verdict_holds_no_longer_than_its_pod_group(cluster: FakeCluster) -> None:
    gang_former = build(FakeClient(cluster)).gang_former
    group = (await gang_former.ensure(JOB.ref)).group
    cluster.remove("podgroups", "default", group, "user")
    assert (await gang_former.ensure(JOB.ref)).group == group
    assert cluster.find("podgroups"), "it was made again before the next pod was let in"


async def test_a_verdict_holds_no_longer_than_the_living_pod_that_it_follows(cluster: FakeCluster) -> None:
    cluster.apply(a_pod("old").of(JOB))
    cluster.apply(a_workload("mine").describing(JOB))
    gang_former = build(FakeClient(cluster)).gang_former
    assert (await gang_former.ensure(JOB.ref)).membership is Membership.PLAIN
    cluster.remove("pods", "default", "old", "user")
    assert (await gang_former.ensure(JOB.ref)).membership is Membership.JOIN


class Counting(FakeClient):
    """Counts what is asked; a consistent list is what costs."""

    def __init__(self, cluster: FakeCluster) -> None:
        super().__init__(cluster)
        self.asked: Counter[str] = Counter()

    async def get(self, resource: Resource, namespace: str, name: str) -> Object:
        self.asked[f"get {resource.plural}"] += 1
        return await super().get(resource, namespace, name)

    async def list(self, resource: Resource, namespace: str = "", params: Mapping[str, str] | None = None) -> Object:
        recent = (params or {}).get("resourceVersion") == "0"
        self.asked[f"list {'recent ' if recent else ''}{resource.plural}"] += 1
        return await super().list(resource, namespace, params)


async def test_a_burst_of_pods_costs_one_read_each(cluster: FakeCluster) -> None:
    client = Counting(cluster)
    gang_former = build(client).gang_former
    group = (await gang_former.ensure(JOB.ref)).group
    assert client.asked["list pods"] == 2, "once before anything was made, and once after the PodGroup was"
    client.asked.clear()
    assert (await gang_former.ensure(JOB.ref)).group == group
    assert client.asked == {"get podgroups": 1, "list recent pods": 1}
    cluster.apply(a_pod("first").of(JOB).in_group(group))
    await gang_former.ensure(JOB.ref)
    client.asked.clear()
    for _ in range(50):
        assert (await gang_former.ensure(JOB.ref)).group == group
    assert client.asked == {"get pods": 50}


async def test_what_another_replica_formed_is_not_let_in_plain(cluster: FakeCluster) -> None:
    """One replica was refused permanently, the other was not; the first never saw a watch event of it."""
    refused = build(Rejecting(cluster)).gang_former
    assert (await refused.ensure(JOB.ref)).membership is Membership.HOLD
    assert (await refused.ensure(JOB.ref)).membership is Membership.PLAIN
    formed = await build(FakeClient(cluster)).gang_former.ensure(JOB.ref)
    again = await refused.ensure(JOB.ref)
    assert (again.membership, again.group) == (Membership.JOIN, formed.group)


async def test_a_verdict_yields_to_living_pods_that_say_otherwise(cluster: FakeCluster) -> None:
    gang_former = build(FakeClient(cluster)).gang_former
    assert (await gang_former.ensure(JOB.ref)).membership is Membership.JOIN
    cluster.apply(a_pod("plain").of(JOB))
    assert (await gang_former.ensure(JOB.ref)).membership is Membership.PLAIN


async def test_a_caller_who_comes_as_the_work_ends_starts_it_anew(cluster: FakeCluster) -> None:
    """Between the end of the work and its callbacks: waiting for what is done would never let them run."""
    cluster.apply(a_workload("one").describing(JOB))
    cluster.apply(a_workload("two").describing(JOB))
    gang_former = build(FakeClient(cluster)).gang_former
    ended = gang_former._flights.start(gang_former.background, JOB.ref.uid, gang_former._form(JOB.ref, None), "form")
    await ended.task
    gang_former._flights._under_way[JOB.ref.uid] = ended
    assert (await asyncio.wait_for(gang_former.ensure(JOB.ref), 5)).membership is Membership.PLAIN


class Vanishing(FakeClient):
    """The Job goes while its gang is formed, and the collector takes what was made for it."""

    async def create(self, resource: Resource, namespace: str, body: Object) -> Object:
        made = await super().create(resource, namespace, body)
        if resource.plural == "podgroups" and self.cluster.find("jobs"):
            self.cluster.remove("jobs", "default", "train", USER)
            self.cluster.collect_garbage()
            self.cluster.collect_garbage()
        return made


async def test_nothing_is_made_again_for_a_job_that_went_meanwhile(cluster: FakeCluster) -> None:
    decision = await build(Vanishing(cluster)).gang_former.ensure(JOB.ref)
    assert (decision.membership, decision.reason) == (Membership.HOLD, Reason.JOB_GONE)
    assert sorted(created_by_us(cluster).values()) == [1, 1], "and nothing a second time"


async def test_a_stranger_s_pod_group_is_never_joined_by_the_cache_s_word(cluster: FakeCluster) -> None:
    """Another replica, whose cache has both, lets the Job's pods in plain: the two would split the gang."""
    parts = build(FakeClient(cluster))
    own = a_workload("mine").describing(JOB)
    for each in (own, a_pod_group("one").made_from(own)):
        cluster.apply(each)
    await parts.resync.once()
    parts.cache.mark_synced(True)
    cluster.apply(a_pod_group("other").made_from(own))  # the stream has not shown it yet
    decision = await parts.gang_former.ensure(JOB.ref)
    assert (decision.membership, decision.reason) == (Membership.PLAIN, Reason.AMBIGUOUS_POD_GROUPS)
