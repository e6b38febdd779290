"""Much and large input from strangers and users: the memory is bounded, and the loop never blocks for long.

Over HTTP, in this process, so that a probe on the same loop can measure it.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from muster.admission import intake
from muster.admission.gate import PodGate
from muster.admission.intents import IntentReview
from muster.admission.server import AdmissionServer, Desk
from muster.api.dialect import NATIVE
from muster.api.job import GROUP_TEMPLATE_ANNOTATION, SCHEDULING_ANNOTATION, JobView
from muster.core.decide import Rules
from muster.kube.client import Object
from tests.builders import a_gang, a_pod, a_review
from tests.fake_cluster import FakeClient, FakeCluster
from tests.unit.admission.bounds import measured
from tests.unit.runtime.parts import Parts, build

MEGABYTE = 1_000_000
MOST_GROWN = 30
LONGEST_BLOCK = 0.050
WARM_UP = 30
ETCD_LIMIT = 1_500_000
GIBIBYTE = 1024**3
pytestmark = pytest.mark.quiet
COUNTS = [1_000, pytest.param(10_000, marks=pytest.mark.full)]


@pytest.fixture(autouse=True)
def unpaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Muster reads large bodies slowly; ten thousand of them would take half an hour, and the pace bounds no memory."""
    monkeypatch.setattr(intake, "BYTES_PER_SECOND", GIBIBYTE)


@asynccontextmanager
async def served(parts: Parts) -> AsyncIterator[TestClient[web.Request, web.Application]]:
    intents = IntentReview(parts.cache, Rules(NATIVE))
    desk = Desk(NATIVE, PodGate(parts.formation), None, pod_groups=None, intents=intents)  # type: ignore[arg-type]
    async with TestClient(TestServer(AdmissionServer(parts.health, desk).application())) as client:
        yield client


async def sent(client: TestClient[web.Request, web.Application], path: str, bodies: Iterator[bytes]) -> Object:
    """All of them, one after the other; the last answer."""
    response: Object = {}
    for body in bodies:
        answer = await client.post(f"{path}?timeout=2s", data=body)
        assert answer.status == 200
        response = orjson.loads(await answer.read())["response"]
    return response


def reviews_of(raw: Object, filler: str, count: int, dry: bool = False) -> Iterator[bytes]:
    """The object in a review, with the filler replaced by a text of a megabyte, each time another one."""
    template = orjson.dumps(a_review(raw, dry=dry))
    before, after = template.split(filler.encode())
    for number in range(count):
        yield before + f"{number:08d}".encode() + b"u" * (MEGABYTE - 8) + after


@pytest.mark.timeout(600)
@pytest.mark.parametrize("count", COUNTS)
async def test_refused_pods_with_owner_uids_of_a_megabyte(count: int) -> None:
    pod = a_pod().of(a_gang("train").uid("FILLER")).build()
    del pod["metadata"]["labels"]
    parts = build(FakeClient(FakeCluster()))
    async with served(parts) as client:
        await sent(client, "/pod-gate", reviews_of(pod, "FILLER", WARM_UP))
        async with measured() as found:
            answer = await sent(client, "/pod-gate", reviews_of(pod, "FILLER", count))
    assert answer["allowed"] is False
    assert found.grown < MOST_GROWN
    assert found.longest_block < LONGEST_BLOCK


FIELDS: dict[str, Callable[[Object], None]] = {
    "schedulerName": lambda job: job["spec"]["template"]["spec"].update(schedulerName="FILLER"),
    "priorityClassName": lambda job: job["spec"]["template"]["spec"].update(priorityClassName="FILLER"),
    "an owner's uid": lambda job: job["metadata"].update(
        ownerReferences=[{"apiVersion": "x/v1", "kind": "X", "name": "x", "uid": "FILLER", "controller": True}]
    ),
    "an annotation": lambda job: job["metadata"]["annotations"].update({GROUP_TEMPLATE_ANNOTATION: "FILLER"}),
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("count", COUNTS)
async def test_dry_run_jobs_with_fields_of_a_megabyte(count: int) -> None:
    parts = build(FakeClient(FakeCluster()))
    jobs = []
    for change in FIELDS.values():
        job = a_gang("train").asking("policy: {gang: {minCount: 2}}").build()
        change(job)
        jobs.append(job)
    async with served(parts) as client:
        for job in jobs:
            await sent(client, "/intents", reviews_of(job, "FILLER", WARM_UP, dry=True))
        async with measured() as found:
            for job in jobs:
                await sent(client, "/intents", reviews_of(job, "FILLER", count // len(jobs), dry=True))
    assert found.grown < MOST_GROWN
    assert found.longest_block < LONGEST_BLOCK


SIZES = (0, 1, 10, 100, 1_000, 2_000, 4_000, 4_095, 4_096, 4_097, 8_192, 16_384, 65_536, 262_144, MEGABYTE, ETCD_LIMIT)
CONTENTS = {
    "entries of a list": "[" + "a," * ETCD_LIMIT,
    "unknown fields": "\n".join(f"k{n}: 1" for n in range(ETCD_LIMIT // 8)),
    "lists in a field": "policy: [" + "[]," * ETCD_LIMIT,
    "objects in JSON": '{"policy": [' + "{}," * ETCD_LIMIT,
    "nested blocks": "- " * ETCD_LIMIT,
    "brackets": "[" * ETCD_LIMIT,
    "half characters": '{"\\ud800": "' + "\\ud800" * ETCD_LIMIT,
    "blanks": " " * ETCD_LIMIT,
    "emoji": "\N{GRINNING FACE}" * ETCD_LIMIT,
}


async def test_an_annotation_of_every_size_up_to_what_etcd_takes() -> None:
    parts = build(FakeClient(FakeCluster()))
    bodies = [
        orjson.dumps(a_review(a_gang("train").annotated(**{SCHEDULING_ANNOTATION: content[:size]}).build()))
        for size in SIZES
        for content in CONTENTS.values()
    ]
    async with served(parts) as client:
        await sent(client, "/intents", iter(bodies))
        async with measured() as found:
            for number in range(4):  # never the same one twice, so that none is remembered
                await sent(client, "/intents", (body.replace(b"k1", f"j{number}".encode()) for body in bodies))
    assert found.grown < MOST_GROWN
    assert found.longest_block < LONGEST_BLOCK


async def test_a_job_of_which_every_other_one_of_200_000_indexes_has_completed() -> None:
    ended = ",".join(map(str, range(0, 200_000, 2)))
    job = a_gang("train", 200_000).with_status(completedIndexes=ended, succeeded=100_000)
    cluster = FakeCluster()
    cluster.apply(job)
    parts = build(FakeClient(cluster))
    body = orjson.dumps(a_review(job.build()))
    async with served(parts) as client, measured() as found:
        await parts.resync.once()
        await sent(client, "/intents", iter([body]))
        await parts.formation.ensure(job.view().ref)
    assert JobView.parse(job.build()).unfinished == 100_000
    assert found.grown < MOST_GROWN
    assert found.longest_block < LONGEST_BLOCK
