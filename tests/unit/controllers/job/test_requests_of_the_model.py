"""The model of two replicas sends the requests of the real Observer and Executor, in their order.

The model leaves out reads of the Job, which always exists there. A step of the model can stand for several requests.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from muster.core.actions import ConfirmPodGroup, CreatePodGroup, CreateWorkload, ReadEverything, ReadOwnPair
from muster.core.decision import Decision, Membership
from muster.core.observed import Observed
from muster.core.reasons import Reason
from muster.core.witness import CachedDecision, GroupWitness, PodWitness
from muster.kube.client import Object
from muster.kube.resources import Resource
from tests.builders import a_pod
from tests.fake_cluster import FakeClient, FakeCluster
from tests.unit.controllers.parts import Parts, build
from tests.unit.core.replica_requests import TOGETHER, Replica, Step, steps_of, witness_steps
from tests.unit.core.seeing import GROUP_NAME, JOB, our_group, our_workload

Requests = list[set[str]]
"""In the order in which they are sent; those in one set are under way at the same time."""
REQUESTS: dict[Step, list[str]] = {
    "pods": ["list pods"],
    "rivals": ["list workloads"],
    "workloads": ["get workloads"],
    "groups": ["list podgroups", "get podgroups"],
    "followed": [],
    "all read": [],
    "confirmed pods": ["list pods"],
    "confirmed group": ["get podgroups"],
    "own workload": ["get workloads"],
    "own group": ["get podgroups"],
    "create workload": ["create workloads"],
    "create group": ["create podgroups"],
    "witness pod": ["get pods"],
    "witness group": ["get podgroups"],
    "witness pods": ["list pods"],
}
"""Where no informer shows anything, and each pod's PodGroup is known."""


@dataclass(slots=True)
class Noting(FakeClient):
    sent: Requests = field(default_factory=list)
    under_way: int = 0

    async def get(self, resource: Resource, namespace: str, name: str) -> Object:
        return await self._noted("get", resource, FakeClient.get(self, resource, namespace, name))

    async def list(self, resource: Resource, namespace: str = "", params: Mapping[str, str] | None = None) -> Object:
        return await self._noted("list", resource, FakeClient.list(self, resource, namespace, params))

    async def create(self, resource: Resource, namespace: str, body: Object) -> Object:
        return await self._noted("create", resource, FakeClient.create(self, resource, namespace, body))

    async def _noted(self, verb: str, resource: Resource, request: Awaitable[Object]) -> Object:
        if not self.under_way:
            self.sent.append(set())
        if resource.plural != "jobs":
            self.sent[-1].add(f"{verb} {resource.plural}")
        self.under_way += 1
        try:
            return await request
        finally:
            self.under_way -= 1


def requests_of(steps: tuple[Step, ...]) -> Requests:
    expected: Requests = [{request} for step in steps for request in REQUESTS[step]]
    if steps[:2] in TOGETHER:
        return [expected[0] | expected[1], *expected[2:]]
    return expected


SEEN = Observed(JOB.view(), (our_workload().uid("w").read(),), (our_group().uid("g").read(),), form_only=True)
JOIN = Decision(Reason.GANG_FORMED, Membership.JOIN, GROUP_NAME)
BY_GROUP = CachedDecision(JOIN, GroupWitness(SEEN.pod_groups[0].metadata.uid))
BY_POD = CachedDecision(replace(JOIN, sticky=True), PodWitness("first"))

READS = {"everything": ReadEverything(), "confirm": ConfirmPodGroup(GROUP_NAME, own=True), "own pair": ReadOwnPair()}


async def sent_by(act: Callable[[Parts], Awaitable[Any]], *stored: Any) -> Requests:
    cluster = FakeCluster()
    for each in (JOB, *stored):
        cluster.apply(each)
    client = Noting(cluster)
    await act(build(client))
    return [requests for requests in client.sent if requests]


PAIR = our_workload().uid("w"), our_group().uid("g")


@pytest.mark.parametrize("read", READS.values(), ids=READS)
async def test_a_read(read: ReadEverything | ConfirmPodGroup | ReadOwnPair) -> None:
    sent = await sent_by(lambda parts: parts.observer.read(read, SEEN, JOB.ref), *PAIR)
    assert sent == requests_of(steps_of(read, Replica()))


async def test_a_read_with_an_informer_that_shows_the_pair() -> None:
    """Muster's own objects then cost no request, which the model decides by the same `cache_suffices`. The model has no
    PodGroups of other clients."""

    async def act(parts: Parts) -> None:
        parts.cache.put_job(JOB.view())
        parts.cache.put_workload(PAIR[0].read())
        parts.cache.put_pod_group(PAIR[1].read())
        parts.cache.mark_synced(True)
        await parts.observer.read(ReadEverything(), SEEN, JOB.ref)

    assert await sent_by(act, *PAIR) == [*requests_of(("pods", "rivals")), {"list podgroups"}]


@pytest.mark.parametrize(
    "write", [CreateWorkload(PAIR[0].read()), CreatePodGroup(PAIR[1].read())], ids=["first", "next"]
)
async def test_a_write(write: CreateWorkload | CreatePodGroup) -> None:
    stored = () if isinstance(write, CreateWorkload) else PAIR[:1]
    sent = await sent_by(lambda parts: parts.executor.execute(write, replace(SEEN, pod_groups=())), *stored)
    assert sent == requests_of(steps_of(write, Replica()))


@pytest.mark.parametrize("cached", [BY_GROUP, BY_POD], ids=["PodGroup", "pod"])
async def test_a_witness(cached: CachedDecision) -> None:
    pod = a_pod("first").uid("p").of(JOB).in_group(GROUP_NAME)
    sent = await sent_by(lambda parts: parts.observer.ask_witness(JOB.ref, cached), *PAIR, pod)
    assert sent == requests_of(witness_steps(Replica(cached=cached)))
