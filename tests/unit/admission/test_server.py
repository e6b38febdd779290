"""The admission server over HTTP: every request gets an answer, in time, and a dry run writes nothing."""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Mapping

import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from muster.admission.server import ONE_OBJECT_BYTES, WebhookHandlers, time_to_answer
from muster.api.profile import NATIVE
from muster.core.policy import Rules
from muster.kube.client import Object
from muster.kube.errors import Unreachable
from muster.kube.resources import Resource
from muster.runtime.health import API
from tests.builders import JobBuilder, a_gang, a_job, a_pod, a_pod_group, a_review
from tests.fake_cluster import FakeClient, FakeCluster
from tests.oracles import created_by_us
from tests.unit.controllers.parts import Parts, build
from tests.unit.made import a_server

JOB = a_gang("train").uid("now")
Http = TestClient[web.Request, web.Application]


class Unsteady(FakeClient):
    """Fails or hangs on demand."""

    error: Exception | None = None
    hangs = False
    after_the_next_create: Callable[[], object] | None = None

    async def create(self, resource: Resource, namespace: str, body: Object) -> Object:
        made = await super().create(resource, namespace, body)
        if self.after_the_next_create is not None:
            self.after_the_next_create()
            self.after_the_next_create = None
        return made

    async def list(self, resource: Resource, namespace: str = "", params: Mapping[str, str] | None = None) -> Object:
        if self.hangs:
            await asyncio.sleep(60)
        if self.error:
            raise self.error
        return await super().list(resource, namespace, params)


@pytest.fixture
def cluster() -> FakeCluster:
    made = FakeCluster()
    made.apply(JOB)
    return made


@pytest.fixture
def client(cluster: FakeCluster) -> Unsteady:
    return Unsteady(cluster)


@pytest.fixture
async def parts(client: Unsteady) -> Parts:
    return build(client)


@pytest.fixture
async def http(parts: Parts) -> AsyncIterator[Http]:
    guard = parts.guard(Rules(NATIVE))
    server = a_server(parts.health, WebhookHandlers(NATIVE, parts.pod_webhook(), guard, pod_groups=None))
    async with TestClient(TestServer(server.application())) as made:
        yield made


async def asked(http: Http, path: str, review: Object, allowing: str = "2s") -> Object:
    answer = await http.post(f"{path}?timeout={allowing}", json=review)
    assert answer.status == 200
    body = await answer.json()
    assert (body["kind"], body["response"]["uid"]) == ("AdmissionReview", "review-1")
    return body["response"]  # type: ignore[no-any-return]


def patch_of(response: Object) -> object:
    return orjson.loads(base64.b64decode(response["patch"])) if "patch" in response else None


def pod_of(job: JobBuilder = JOB) -> Object:
    return a_pod().of(job).build()


async def test_a_member_is_patched_into_its_group(http: Http, cluster: FakeCluster) -> None:
    response = await asked(http, "/pods", a_review(pod_of()))
    (group,) = cluster.find("podgroups")
    assert response["allowed"] is True
    assert response["patchType"] == "JSONPatch"
    assert patch_of(response) == [
        {"op": "add", "path": "/spec/schedulingGroup", "value": {"podGroupName": group["metadata"]["name"]}}
    ]


async def test_the_request_gives_the_namespace_of_the_pod(http: Http, cluster: FakeCluster) -> None:
    """In admission the pod's own metadata may not have one yet."""
    pod = pod_of()
    del pod["metadata"]["namespace"]
    assert patch_of(await asked(http, "/pods", a_review(pod)))


async def test_a_dry_run_shows_the_patch_and_writes_nothing(http: Http, cluster: FakeCluster) -> None:
    before = cluster.revision
    response = await asked(http, "/pods", a_review(pod_of(), dry=True))
    assert patch_of(response)
    assert cluster.revision == before


@pytest.mark.parametrize(
    "review",
    [
        pytest.param(a_review(a_pod().build()), id="nobody's pod"),
        pytest.param(a_review(a_pod().of(JOB).in_group("mine").build()), id="a pod with a group"),
        pytest.param(a_review(pod_of(), operation="UPDATE"), id="not a CREATE"),
        pytest.param(a_review({}), id="no pod at all"),
    ],
)
async def test_these_pods_pass_unchanged(http: Http, cluster: FakeCluster, review: Object) -> None:
    response = await asked(http, "/pods", review)
    assert (response["allowed"], patch_of(response)) == (True, None)
    assert not created_by_us(cluster)


async def test_a_pod_that_cannot_be_read_is_refused_because_it_may_be_of_a_gang(http: Http) -> None:
    response = await asked(http, "/pods", a_review({"metadata": {"ownerReferences": "x"}}))
    assert response["allowed"] is False
    assert response["status"]["message"].startswith("muster: Muster cannot read the pod: ")


async def test_the_pod_of_a_plain_job_passes_unchanged(http: Http, cluster: FakeCluster) -> None:
    plain = a_job("plain")
    cluster.apply(plain)
    response = await asked(http, "/pods", a_review(pod_of(plain)))
    assert (response["allowed"], patch_of(response)) == (True, None)


async def test_while_the_api_server_is_down_the_pod_is_refused_with_503(http: Http, client: Unsteady) -> None:
    client.error = Unreachable("does not answer")
    response = await asked(http, "/pods", a_review(pod_of()))
    assert response["allowed"] is False
    assert response["status"]["code"] == 503
    assert response["status"]["message"] == (
        "muster: Muster could not form the gang of Job 'train' yet: does not answer; the Job controller retries "
        "[NotFormedYet]"
    )


async def test_the_answer_comes_before_the_caller_gives_up(http: Http, client: Unsteady) -> None:
    client.hangs = True
    started = asyncio.get_running_loop().time()
    response = await asked(http, "/pods", a_review(pod_of()), allowing="250ms")
    assert asyncio.get_running_loop().time() - started < 0.5
    assert response["allowed"] is False
    assert "within 0.2 s" in response["status"]["message"]


@pytest.mark.parametrize("successor", [None, a_gang("train").uid("next")], ids=["gone", "made again"])
async def test_the_pod_of_a_job_that_was_deleted_meanwhile_is_refused(
    http: Http, client: Unsteady, cluster: FakeCluster, successor: JobBuilder | None
) -> None:
    def replace_job() -> None:
        cluster.remove("jobs", "default", "train", "user", force=True)
        if successor is not None:
            cluster.apply(successor)

    client.after_the_next_create = replace_job
    response = await asked(http, "/pods", a_review(pod_of()))
    assert (response["allowed"], patch_of(response)) == (False, None)
    assert "JobGone" in response["status"]["message"]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        pytest.param("/nowhere", b"{}", 404, id="an unknown path"),
        pytest.param("/pods", b"", 400, id="nothing"),
        pytest.param("/pods", b"{", 400, id="broken JSON"),
        pytest.param("/pods", b"[]", 400, id="a list"),
        pytest.param("/pods", b'{"request":{}}', 400, id="no uid"),
        pytest.param("/pods", b'{"request":7}', 400, id="a number for a request"),
        pytest.param("/parallelism-guard", b'"x"', 400, id="a text"),
        pytest.param("/pods", b"[" * 100_000, 400, id="very deep"),
        pytest.param("/pods", b" " * (ONE_OBJECT_BYTES + 1), 413, id="too large"),
    ],
)
async def test_the_server_answers_malformed_requests_with_an_error(
    http: Http, path: str, body: bytes, status: int
) -> None:
    answer = await http.post(path, data=body)
    assert answer.status == status
    assert "Traceback" not in await answer.text()
    assert (await http.get("/livez")).status == 200


async def test_a_get_is_not_a_review(http: Http) -> None:
    assert (await http.get("/pods")).status == 405


async def test_readyz_says_why_muster_is_not_ready(http: Http, parts: Parts) -> None:
    parts.health.problem(API, "the API server is gone")
    answer = await http.get("/readyz")
    assert (answer.status, await answer.text()) == (503, "not ready: the API server is gone\n")
    parts.health.well(API)
    assert (await http.get("/readyz")).status == 200


async def test_every_verdict_is_counted(http: Http) -> None:
    await asked(http, "/pods", a_review(pod_of()))
    page = await (await http.get("/metrics")).text()
    assert 'muster_admission_seconds_count{verdict="joined",webhook="pods"} 1.0' in page


def resized(pods: int, job: JobBuilder = JOB) -> Object:
    changed = job.build()
    changed["spec"].update(parallelism=pods, completions=pods)
    return a_review(changed, old=job.build(), operation="UPDATE")


async def test_the_guard_refuses_to_scale_a_gang_and_names_its_group(http: Http, cluster: FakeCluster) -> None:
    await asked(http, "/pods", a_review(pod_of()))
    response = await asked(http, "/parallelism-guard", resized(2))
    (group,) = cluster.find("podgroups")
    assert (response["allowed"], response["status"]["code"]) == (False, 403)
    assert group["metadata"]["name"] in response["status"]["message"]


async def test_the_guard_looks_up_a_preset_group(http: Http, cluster: FakeCluster) -> None:
    preset = a_gang("preset").with_pods(schedulingGroup={"podGroupName": "theirs"})
    cluster.apply(preset)
    assert (await asked(http, "/parallelism-guard", resized(2, preset)))["allowed"] is True
    cluster.apply(a_pod_group("theirs"))
    assert (await asked(http, "/parallelism-guard", resized(2, preset)))["allowed"] is False


@pytest.mark.parametrize(
    "review",
    [
        pytest.param(resized(4), id="parallelism unchanged"),
        pytest.param({**resized(2), "request": {**resized(2)["request"], "operation": "DELETE"}}, id="not an UPDATE"),
        pytest.param(a_review({"spec": []}, old={}, operation="UPDATE"), id="a Job that cannot be read"),
    ],
)
async def test_the_guard_allows_other_updates(http: Http, review: Object) -> None:
    assert (await asked(http, "/parallelism-guard", review))["allowed"] is True


async def test_the_guard_refuses_with_try_again_when_it_cannot_read(http: Http, client: Unsteady) -> None:
    client.error = Unreachable("does not answer")
    response = await asked(http, "/parallelism-guard", resized(2))
    assert response["allowed"] is False
    assert "does not answer. Try again later" in response["status"]["message"]
    client.error, client.hangs = None, True
    response = await asked(http, "/parallelism-guard", resized(2), allowing="100ms")
    assert "the API server is slow" in response["status"]["message"]


@pytest.mark.parametrize(
    ("timeout", "seconds"),
    [
        ("10s", 8.0),
        ("2s", 1.6),
        ("0.5m", 24.0),
        ("30s", 24.0),
        ("1m30s", 8.0),
        ("99999999999s", 8.0),
        ("0s", 8.0),
        ("inf", 8.0),
        ("infs", 8.0),
        ("nans", 8.0),
        ("1e3s", 8.0),
        ("\u0662s", 8.0),
        ("1" * 8_000, 8.0),
        ("1s" * 4_000, 8.0),
        ("500ms", 0.4),
        ("1.5s", 1.2),
        ("", 8.0),
        ("soon", 8.0),
        ("2", 8.0),
        ("2s!", 8.0),
        ("-2s", 8.0),
        ("1h", 8.0),
    ],
)
def test_muster_answers_within_four_fifths_of_the_caller_s_timeout(timeout: str, seconds: float) -> None:
    assert time_to_answer(timeout) == pytest.approx(seconds)
