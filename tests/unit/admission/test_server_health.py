"""What kubelets and Prometheus read, and how a process that shuts down answers."""

from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from muster.admission.server import WebhookHandlers
from muster.api.profile import NATIVE
from muster.core.policy import Rules
from muster.kube.client import Object
from muster.runtime.health import API, STAYING
from tests.builders import a_gang, a_pod, a_review
from tests.fake_cluster import FakeClient, FakeCluster
from tests.unit.controllers.parts import Parts, build
from tests.unit.made import a_server

JOB = a_gang("train").uid("now")
Http = TestClient[web.Request, web.Application]


@pytest.fixture
async def parts() -> Parts:
    cluster = FakeCluster()
    cluster.apply(JOB)
    return build(FakeClient(cluster))


@pytest.fixture
async def http(parts: Parts) -> AsyncIterator[Http]:
    guard = parts.guard(Rules(NATIVE))
    server = a_server(parts.health, WebhookHandlers(NATIVE, parts.pod_webhook(), guard, pod_groups=None))
    async with TestClient(TestServer(server.application())) as made:
        yield made


def pod_of() -> Object:
    return a_pod().of(JOB).build()


async def test_health_has_a_port_of_its_own_without_admission(parts: Parts) -> None:
    server = a_server(parts.health)
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


async def test_livez_fails_only_if_a_restart_helps(http: Http, parts: Parts) -> None:
    parts.health.problem(API, "gone")
    assert (await http.get("/livez")).status == 200
    parts.health.require_restart("watching cannot be started")
    answer = await http.get("/livez")
    assert (answer.status, await answer.text()) == (503, "watching cannot be started\n")


async def test_a_server_that_shuts_down_answers_and_closes_the_connection(http: Http, parts: Parts) -> None:
    before = await http.post("/pods", json=a_review(pod_of()))
    assert before.headers.get("Connection") != "close"
    parts.health.announce(STAYING, "shutting down")
    after = await http.post("/pods", json=a_review(pod_of()))
    assert (after.status, after.headers["Connection"]) == (200, "close")
    assert (await http.get("/readyz")).status == 503
