"""A bug in Muster while it judges one object: the API server gets an answer, and the Job an event."""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
import pytest
from aiohttp.test_utils import TestClient, TestServer

from muster.admission.intents import IntentReview
from muster.admission.podgroups import PodGroupReview
from muster.admission.server import WebhookHandlers
from muster.api.pod import PodView
from muster.api.profile import CRD_IN_OWN_GROUP
from muster.api.wire import Unreadable
from muster.controllers.job.gang_former import GangFormer
from muster.controllers.podgroup.defaulting import PodGroupDefaulting
from muster.core.reasons import EventReason
from muster.kube.client import Object
from muster.kube.resources import Resource
from tests.builders import JobBuilder, a_gang, a_pod, a_pod_group, a_review
from tests.fake_cluster import FakeClient, FakeCluster
from tests.unit.controllers.parts import build
from tests.unit.made import a_server

BAD, GOOD = a_gang("bad").uid("bad"), a_gang("good").uid("good")


class Counting(FakeClient):
    """Counts the reads of Jobs."""

    reads = 0

    async def get(self, resource: Resource, namespace: str, name: str) -> Object:
        self.reads += resource.plural == "jobs"
        return await super().get(resource, namespace, name)


class Stage:
    def __init__(self, *, fail_open: bool = False) -> None:
        self.cluster = FakeCluster()
        for job in (BAD, GOOD):
            self.cluster.apply(job)
        self.client = Counting(self.cluster)
        self.parts = build(self.client, CRD_IN_OWN_GROUP)
        self.recorder, rules = self.parts.recorder, self.parts.reconciler.rules
        pods = self.parts.pod_webhook(fail_open)
        guard = self.parts.guard()
        review_of_groups = PodGroupReview(PodGroupDefaulting(self.client, self.parts.workloads.get), CRD_IN_OWN_GROUP)
        handlers = WebhookHandlers(
            CRD_IN_OWN_GROUP, pods, guard, review_of_groups, IntentReview(self.parts.cache, rules), fail_open
        )
        self.server = a_server(self.parts.health, handlers)

    async def asked(self, path: str, review: Object) -> Object:
        async with TestClient(TestServer(self.server.application())) as http:
            answer = await http.post(f"{path}?timeout=2s", json=review)
            assert answer.status == 200
            body = await answer.json()
        await asyncio.sleep(0.01)  # what is reported beside the answer
        assert body["response"]["uid"] == "review-1"
        return body["response"]  # type: ignore[no-any-return]

    async def webhook(self, job: JobBuilder = BAD, *, dry: bool = False) -> Object:
        return await self.asked("/pods", a_review(a_pod().of(job).build(), dry=dry))

    def events(self) -> list[tuple[str, str]]:
        queue = self.recorder._queue
        events = [queue.get_nowait() for _ in range(queue.qsize())]
        return [(event.job.key.name, event.message) for event in events if event.reason is EventReason.INTERNAL_ERROR]


@pytest.fixture(autouse=True)
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forming the gang of one Job fails."""
    for name in ("ensure", "preview"):
        original: Callable[..., Awaitable[Any]] = getattr(GangFormer, name)

        async def failing(self: GangFormer, ref: Any, original: Any = original) -> Any:
            if ref.key.name == "bad":
                raise ZeroDivisionError("bug")
            if ref.key.name == "unreadable":
                raise Unreadable("spec.parallelism is not an integer")
            return await original(self, ref)

        monkeypatch.setattr(GangFormer, name, failing)


def group_in(response: Object) -> str:
    patch = orjson.loads(base64.b64decode(response["patch"])) if "patch" in response else []
    return next((each["value"] for each in patch if each["path"].endswith("pod-group")), str(patch))


async def test_with_fail_its_pods_wait_however_often_they_come_and_others_join() -> None:
    stage = Stage()
    for _ in range(10):
        response = await stage.webhook()
        assert (response["allowed"], response["status"]["code"]) == (False, 503)
    assert response["status"]["message"] == (
        "muster: failed on Job 'bad' with ZeroDivisionError, which is a bug in Muster; its log says where; "
        "the Job controller retries [MusterFailed]"
    )
    assert (await stage.webhook(GOOD))["allowed"]
    assert stage.cluster.find("podgroups"), "the other Job has its gang"


async def test_with_ignore_its_pods_pass_without_their_gang() -> None:
    response = await Stage(fail_open=True).webhook()
    assert (response["allowed"], "patch" in response) == (True, False)


@pytest.mark.parametrize("fail_open", [False, True], ids=["Fail", "Ignore"])
async def test_a_pod_follows_its_living_siblings(fail_open: bool) -> None:
    stage = Stage(fail_open=fail_open)
    stage.cluster.apply(a_pod_group("theirs"))
    stage.cluster.apply(a_pod("sibling").of(BAD).naming_group("theirs").phase("Running"))
    response = await stage.webhook()
    assert response["allowed"]
    assert "theirs" in group_in(response)


async def test_one_event_on_that_job_and_one_read_at_most() -> None:
    stage = Stage()
    for _ in range(5):
        await stage.webhook()
    assert stage.client.reads == 1
    await stage.webhook(GOOD)
    ((name, message),) = stage.events()
    assert name == "bad"
    assert "ZeroDivisionError" in message
    assert "Traceback" not in message


async def test_a_job_that_the_cache_knows_is_not_read_for_its_event() -> None:
    stage = Stage()
    stage.parts.cache.put_job(BAD.view())
    await stage.webhook()
    assert (len(stage.events()), stage.client.reads) == (1, 0)


async def test_the_event_is_not_put_on_a_job_of_the_same_name() -> None:
    stage = Stage()
    stage.parts.cache.put_job(a_gang("bad").uid("earlier").view())
    stage.cluster.remove("jobs", "default", "bad", "user")
    for _ in range(3):
        await stage.webhook()
    assert (stage.events(), stage.client.reads) == ([], 1)


async def test_a_dry_run_posts_nothing() -> None:
    stage = Stage()
    stage.parts.cache.put_job(BAD.view())
    response = await stage.webhook(dry=True)
    assert response["allowed"] is False
    assert (stage.events(), stage.client.reads) == ([], 0)


@pytest.mark.parametrize("group", ["", "theirs"], ids=["no siblings", "siblings in a group"])
async def test_an_object_that_cannot_be_read_is_no_bug_and_no_pod_waits_for_it(group: str) -> None:
    stage, job = Stage(), a_gang("unreadable").uid("unreadable")
    stage.cluster.apply(job)
    if group:
        stage.cluster.apply(a_pod_group(group))
        stage.cluster.apply(a_pod("sibling").of(job).naming_group(group).phase("Running"))
    response = await stage.webhook(job)
    assert (response["allowed"], group in group_in(response), "patch" in response) == (True, True, bool(group))
    assert stage.events() == []
    assert 'muster_internal_errors_total{task="pods"} 0.0' in stage.recorder.metrics.page().decode()


def fail(*_: object, **__: object) -> Any:
    raise ZeroDivisionError("bug")


def scaled(job: JobBuilder) -> Object:
    changed = job.build()
    changed["spec"].update(parallelism=2, completions=2)
    return a_review(changed, old=job.build(), operation="UPDATE")


async def test_the_guard_refuses_the_change_and_the_job_gets_the_event(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage()
    monkeypatch.setattr("muster.admission.parallelism_guard.admit_parallelism", fail)
    response = await stage.asked("/parallelism-guard", scaled(BAD))
    assert (response["allowed"], response["status"]["code"]) == (False, 403)
    assert response["status"]["message"].startswith("muster: failed on Job 'bad' with ZeroDivisionError")
    assert [name for name, _ in stage.events()] == ["bad"]


WEBHOOKS = {
    "the webhook cannot read a pod, with Fail": ("/pods", (PodView, "parse"), False, False),
    "the webhook cannot read a pod, with Ignore": ("/pods", (PodView, "parse"), True, True),
    "PodGroups cannot be checked": ("/pod-groups", (PodGroupDefaulting, "review"), False, False),
    "intents are advice": ("/intents", (IntentReview, "_warnings"), False, True),
}


TASKS = {"/pod-groups": "podgroup-webhook"}
"""Where the name of the task is not that of the path."""


@pytest.mark.parametrize(("path", "place", "fail_open", "allowed"), WEBHOOKS.values(), ids=list(WEBHOOKS))
async def test_whatever_fails_the_api_server_gets_an_answer(
    path: str,
    place: tuple[type, str],
    fail_open: bool,
    allowed: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    stage = Stage(fail_open=fail_open)
    monkeypatch.setattr(*place, fail)
    raw = {
        "/pods": a_pod("bad-0").of(BAD).build(),
        "/pod-groups": a_pod_group("bad").build(),
        "/intents": BAD.build(),
    }[path]
    response = await stage.asked(path, a_review(raw))
    assert response["allowed"] is allowed
    if not allowed:
        assert "with ZeroDivisionError, which is a bug in Muster" in response["status"]["message"]
    assert "bug" in caplog.text
    page = stage.server.metrics.page().decode()
    assert f'muster_internal_errors_total{{task="{TASKS.get(path, path[1:])}"}} 1.0' in page


async def test_a_gauge_that_fails_does_not_take_the_page_down() -> None:
    stage = Stage()
    metrics = stage.server.metrics
    metrics.measure(metrics.gangs.labels("waiting"), fail)
    page = metrics.page().decode()
    assert 'muster_gangs{state="waiting"} NaN' in page
    assert "muster_queue_depth" in page


async def test_a_page_that_fails_says_so_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage()
    monkeypatch.setattr(type(stage.server.metrics), "page", fail)
    async with TestClient(TestServer(stage.server.application())) as http:
        answer = await http.get("/metrics")
        assert (answer.status, "Traceback" in await answer.text()) == (500, False)
        assert (await http.get("/livez")).status == 200
