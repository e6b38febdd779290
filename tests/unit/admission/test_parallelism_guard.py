"""The parallelism guard over HTTP: what it posts, and what a stranger on the network learns from it."""

import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from muster.admission.parallelism_guard import MOST_EVENTS
from muster.admission.server import WebhookHandlers
from muster.api.profile import NATIVE
from muster.core.policy import Rules
from muster.kube.client import Object
from muster.kube.errors import Unreachable
from muster.kube.resources import Resource
from tests.builders import JobBuilder, a_gang, a_job, a_pod, a_pod_group, a_review
from tests.fake_cluster import FakeClient, FakeCluster
from tests.unit.controllers.parts import Parts, build
from tests.unit.made import a_server

JOB = a_gang("train").uid("now")
Http = TestClient[web.Request, web.Application]


@dataclass(slots=True)
class Counting(FakeClient):
    """Notes what is read."""

    calls: list[str] = field(default_factory=list)
    broken: str = ""
    """The kind that cannot be read."""

    async def get(self, resource: Resource, namespace: str, name: str) -> Object:
        self._note("get", resource, name)
        return await FakeClient.get(self, resource, namespace, name)

    async def list(self, resource: Resource, namespace: str = "", params: Mapping[str, str] | None = None) -> Object:
        self._note("list", resource, "")
        return await FakeClient.list(self, resource, namespace, params)

    def _note(self, verb: str, resource: Resource, name: str) -> None:
        self.calls.append(f"{verb} {resource.plural} {name}")
        if resource.plural == self.broken:
            raise Unreachable("does not answer")


@pytest.fixture
def cluster() -> FakeCluster:
    made = FakeCluster()
    made.apply(JOB)
    return made


@pytest.fixture
def client(cluster: FakeCluster) -> Counting:
    return Counting(cluster)


@pytest.fixture
async def parts(client: Counting) -> Parts:
    return build(client)


@pytest.fixture
async def http(parts: Parts) -> AsyncIterator[Http]:
    guard = parts.guard(Rules(NATIVE))
    server = a_server(parts.health, WebhookHandlers(NATIVE, parts.pod_webhook(), guard, pod_groups=None))
    async with TestClient(TestServer(server.application())) as made:
        yield made


async def asked(http: Http, path: str, review: Object) -> Object:
    answer = await http.post(f"{path}?timeout=5s", json=review)
    assert answer.status == 200
    return (await answer.json())["response"]  # type: ignore[no-any-return]


def pod_of(job: JobBuilder = JOB) -> Object:
    return a_pod().of(job).build()


def resized(pods: int, job: JobBuilder = JOB) -> Object:
    changed = job.build()
    changed["spec"].update(parallelism=pods, completions=pods)
    return a_review(changed, old=job.build(), operation="UPDATE")


def posted(parts: Parts) -> list[str]:
    """Messages of the refusals that wait to be posted."""
    queue = parts.recorder._queue
    return [event.message for event in list(queue._queue) if event.reason == "ParallelismRefused"]  # type: ignore[attr-defined]


async def test_a_refusal_is_posted_once_for_each_number_and_not_on_a_dry_run(http: Http, parts: Parts) -> None:
    await asked(http, "/pods", a_review(pod_of()))
    dry = resized(2)
    dry["request"]["dryRun"] = True
    assert (await asked(http, "/parallelism-guard", dry))["allowed"] is False
    assert posted(parts) == []
    messages = [(await asked(http, "/parallelism-guard", resized(n)))["status"]["message"] for n in (2, 2, 3, 2)]
    assert posted(parts) == [messages[0], messages[2]]


async def test_nobody_can_fill_a_namespace_with_refusals(http: Http, parts: Parts) -> None:
    await asked(http, "/pods", a_review(pod_of()))
    for number in range(5, 5 + 2 * MOST_EVENTS):
        assert (await asked(http, "/parallelism-guard", resized(number)))["allowed"] is False
    assert len(posted(parts)) == MOST_EVENTS


@pytest.mark.parametrize(
    "job",
    [
        pytest.param(a_gang("nobody"), id="a Job that does not exist"),
        pytest.param(a_gang("train").uid("made-up"), id="a Job with another UID"),
        pytest.param(a_gang("train").uid("made-up").suspended(), id="a suspended one"),
        pytest.param(
            a_gang("train").uid("made-up").with_pods(schedulingGroup={"podGroupName": "theirs"}),
            id="that names a group",
        ),
    ],
)
@pytest.mark.parametrize("synced", [False, True])
async def test_a_made_up_job_costs_one_request_and_shows_nothing(
    http: Http, parts: Parts, cluster: FakeCluster, client: Counting, job: JobBuilder, synced: bool
) -> None:
    cluster.apply(a_pod_group("theirs"))
    await asked(http, "/pods", a_review(pod_of()))
    parts.cache.mark_synced(synced)
    client.calls.clear()
    assert await asked(http, "/parallelism-guard", resized(2, job)) == {"uid": "review-1", "allowed": True}
    assert client.calls == [f"get jobs {job.name}"]
    assert posted(parts) == []


async def test_a_job_that_the_synced_cache_knows_is_not_asked_for_first(
    http: Http, parts: Parts, client: Counting
) -> None:
    parts.cache.put_job(JOB.view())
    parts.cache.mark_synced(True)
    await asked(http, "/parallelism-guard", resized(2))
    assert client.calls.count("get jobs train") == 1, "that of the live look"


async def test_a_review_names_no_group_that_the_stored_job_does_not(http: Http, cluster: FakeCluster) -> None:
    """Somebody who knows a Job's UID learns nothing about other PodGroups of its namespace."""
    cluster.apply(a_pod_group("theirs"))
    cluster.apply(a_job("plain").having(parallelism=2))
    forged = a_job("plain").having(parallelism=2).with_pods(schedulingGroup={"podGroupName": "theirs"})
    assert (await asked(http, "/parallelism-guard", resized(3, forged)))["allowed"] is True


@pytest.mark.parametrize("dry", [False, True], ids=["a pod", "a dry run"])
async def test_the_log_says_why_a_pod_passes_without_a_group(
    http: Http, cluster: FakeCluster, caplog: pytest.LogCaptureFixture, dry: bool
) -> None:
    cluster.apply(plain := a_job("plain"))
    with caplog.at_level(logging.DEBUG, "muster"):
        assert (await asked(http, "/pods", a_review(pod_of(plain), dry=dry)))["allowed"] is True
    assert "default/plain: a pod is admitted without a group: NotIndexed" in caplog.text


async def test_a_job_without_a_gang_costs_the_guard_a_read_of_its_own_pair(
    http: Http, cluster: FakeCluster, client: Counting
) -> None:
    """As for a pod: only a read by name, after the pods were listed, proves that another replica formed no gang."""
    cluster.apply(a_pod("ended").of(JOB).phase("Failed"))
    assert (await asked(http, "/parallelism-guard", resized(2)))["allowed"] is True
    last = [call for call in client.calls if "pods" in call and "podgroups" not in call][-1]
    after = client.calls[client.calls.index(last) :]
    assert any(call.startswith("get workloads") for call in after)
    assert after[-1].startswith("get podgroups")


async def test_a_dry_run_for_a_made_up_job_costs_one_request(http: Http, client: Counting) -> None:
    client.calls.clear()
    response = await asked(http, "/pods", a_review(pod_of(a_gang("nobody")), dry=True))
    assert "[JobGone]" in response["status"]["message"]
    assert client.calls == ["get jobs nobody"]


async def test_a_refusal_for_want_of_an_answer_is_posted_only_on_a_job_that_is_known(
    http: Http, parts: Parts, client: Counting
) -> None:
    client.broken = "pods"
    message = (await asked(http, "/parallelism-guard", resized(2)))["status"]["message"]
    assert "does not answer. Try again later [GangUnknown]" in message
    client.broken = "jobs"
    assert (await asked(http, "/parallelism-guard", resized(3)))["allowed"] is False
    assert posted(parts) == [message]
