"""What kubelets and Prometheus hear, and how a process that is about to end answers."""

from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from muster.admission.parallelism_guard import ParallelismGuard
from muster.admission.pod import PodWebhook
from muster.admission.server import AdmissionServer, WebhookHandlers
from muster.api.profile import NATIVE
from muster.core.decide import Rules
from muster.kube.client import Object
from muster.runtime.health import API, STAYING
from tests.builders import a_gang, a_pod, a_review
from tests.fake_cluster import FakeClient, FakeCluster
from tests.unit.controllers.parts import Parts, build

JOB = a_gang("train").uid("now")
Http = TestClient[web.Request, web.Application]


@pytest.fixture
async def parts() -> Parts:
    cluster = FakeCluster()
    cluster.apply(JOB)
    return build(FakeClient(cluster))


@pytest.fixture
async def http(parts: Parts) -> AsyncIterator[Http]:
    guard = ParallelismGuard(parts.observer, Rules(NATIVE), parts.gang_former.recorder)
    server = AdmissionServer(
        parts.health, WebhookHandlers(NATIVE, PodWebhook(parts.gang_former), guard, pod_groups=None)
    )
    async with TestClient(TestServer(server.application())) as made:
        yield made


def pod_of() -> Object:
    return a_pod().of(JOB).build()


async def test_health_has_a_port_of_its_own_without_admission(parts: Parts) -> None:
    server = AdmissionServer(parts.health)
    async with TestClient(TestServer(server.health_application())) as http:
        parts.health.announce(API, "not asked yet")
        answers = {path: await http.get(path) for path in ("/livez", "/readyz", "/metrics")}
        assert {path: answer.status for path, answer in answers.items()} == {
            "/livez": 200,
            "/readyz": 503,
            "/metrics": 200,
        }
        assert "muster_admission_seconds" in await answers["/metrics"].text()
        assert (await http.post("/pods", json=a_review(pod_of()))).status == 404


async def test_what_heals_by_itself_is_no_reason_to_end_the_process(http: Http, parts: Parts) -> None:
    parts.health.problem(API, "gone")
    assert (await http.get("/livez")).status == 200
    parts.health.hopeless = "watching cannot be started"
    answer = await http.get("/livez")
    assert (answer.status, await answer.text()) == (503, "watching cannot be started\n")


async def test_one_that_is_about_to_end_answers_and_sends_the_next_request_elsewhere(http: Http, parts: Parts) -> None:
    before = await http.post("/pods", json=a_review(pod_of()))
    assert before.headers.get("Connection") != "close"
    parts.health.announce(STAYING, "shutting down")
    after = await http.post("/pods", json=a_review(pod_of()))
    assert (after.status, after.headers["Connection"]) == (200, "close")
    assert (await http.get("/readyz")).status == 503
