"""Warnings about the annotation, over HTTP: kubectl shows them, and the Job always passes."""

from collections.abc import AsyncIterator

import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from muster.admission.intents import IntentReview
from muster.admission.server import AdmissionServer, WebhookHandlers
from muster.api.keys import Uid
from muster.api.profile import NATIVE
from muster.core.policy import Rules
from muster.kube.client import Object
from tests.builders import JobBuilder, a_gang, a_pod_group, a_review
from tests.fake_cluster import FakeClient, FakeCluster
from tests.unit.controllers.parts import Parts, build
from tests.unit.core.seeing import our_group
from tests.unit.made import a_server

JOB = a_gang("train").uid("now")
Http = TestClient[web.Request, web.Application]


@pytest.fixture
def parts() -> Parts:
    return build(FakeClient(FakeCluster()))


@pytest.fixture
def server(parts: Parts) -> AdmissionServer:
    rules = Rules(NATIVE)
    guard = parts.guard(rules)
    handlers = WebhookHandlers(NATIVE, parts.pod_webhook(), guard, None, IntentReview(parts.cache, rules))
    return a_server(parts.health, handlers)


@pytest.fixture
async def http(server: AdmissionServer) -> AsyncIterator[Http]:
    async with TestClient(TestServer(server.application())) as client:
        yield client


async def reviewed(http: Http, new: Object, old: Object | None = None) -> list[str]:
    review = a_review(new, old=old, operation="UPDATE" if old else "CREATE")
    answer = await http.post("/intents", data=orjson.dumps(review))
    assert answer.status == 200
    response = orjson.loads(await answer.read())["response"]
    assert response["allowed"] is True
    return response.get("warnings", [])  # type: ignore[no-any-return]


def asking(intent: str) -> JobBuilder:
    return a_gang("train").uid("now").asking(intent)


async def test_a_correct_annotation_gives_no_warning(http: Http) -> None:
    assert await reviewed(http, asking("policy: {gang: {}}").build()) == []


async def test_each_mistake_is_a_warning(http: Http) -> None:
    warnings = await reviewed(http, asking("policy: {gang: {minCount: 0}}\nqueue: fast").build())
    assert len(warnings) == 2
    ignored = "muster: muster.dev/scheduling is ignored, as if it were not there: "
    assert all(warning.startswith(ignored) for warning in warnings)


async def test_a_job_without_name_uid_and_namespace_is_reviewed(http: Http) -> None:
    new = asking("nonsense").build()
    for field in ("name", "uid", "namespace"):
        del new["metadata"][field]
    assert len(await reviewed(http, new)) == 1


async def test_a_change_that_comes_too_late_is_a_warning(http: Http, parts: Parts) -> None:
    parts.cache.put_job(JOB.view())
    parts.cache.put_pod_group(our_group(JOB).read())
    (warning,) = await reviewed(http, asking("policy: {basic: {}}").build(), JOB.build())
    assert "which already exists: its policy is gang, not basic" in warning
    (warning,) = await reviewed(http, JOB.build(), asking("policy: {gang: {}}").build())
    assert "does not change PodGroup" in warning


async def test_the_group_of_an_earlier_job_of_that_name_does_not_count(http: Http, parts: Parts) -> None:
    earlier = a_gang("train").uid("earlier")
    parts.cache.put_job(earlier.view())
    parts.cache.put_pod_group(a_pod_group("old").ours().controlled_by(earlier).read())
    assert await reviewed(http, asking("policy: {basic: {}}").build()) == []
    assert parts.cache.jobs[earlier.view().key].uid == Uid("earlier")


async def test_before_muster_knows_the_api_every_job_passes(http: Http, server: AdmissionServer) -> None:
    server.handlers = None
    assert await reviewed(http, asking("nonsense").build()) == []
