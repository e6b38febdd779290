"""List and watch with the real client, against a server on loopback whose every answer is written down."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import orjson
import pytest
from aiohttp import web

from muster.kube import reflector as module
from muster.kube.client import Object
from muster.kube.http import HttpClient
from muster.kube.reflector import Reflector
from muster.kube.resources import PODS
from tests.builders import a_pod
from tests.unit.kube.misbehaving import credentials
from tests.unit.kube.test_http import reset

SELECTOR = {"labelSelector": "muster.dev/grouped=true"}


class Page:
    """An answer to a list."""

    def __init__(self, *names: str, at: int = 0, more: str = "", status: int = 200) -> None:
        metadata = {"resourceVersion": str(at), **({"continue": more} if more else {})}
        self.body: Object = {"metadata": metadata, "items": [a_pod(name).build() for name in names]}
        self.status = status


class Stream:
    """An answer to a watch: lines, and then its end, a cut, or silence."""

    def __init__(self, *lines: bytes, end: str = "regular", status: int = 200) -> None:
        self.lines, self.end, self.status = lines, end, status


def event(kind: str, name: str = "a", version: int = 1) -> bytes:
    return orjson.dumps({"type": kind, "object": a_pod(name).version(version).build()}) + b"\n"


def error(code: int) -> bytes:
    status = {"kind": "Status", "code": code, "message": f"error {code}"}
    return orjson.dumps({"type": "ERROR", "object": status}) + b"\n"


class Script:
    """What the server answers, one after the other; after the last answer it is silent."""

    def __init__(self, *answers: Page | Stream) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, str]] = []
        self.silent = asyncio.Event()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(dict(request.query))
        if not self.answers:
            self.silent.set()
            await asyncio.sleep(60)
        answer = self.answers.pop(0)
        assert isinstance(answer, Stream) == ("watch" in request.query), f"asked for {request.query}"
        if isinstance(answer, Page):
            return web.json_response(answer.body, status=answer.status)
        if answer.status != 200:
            return web.json_response({"message": "no"}, status=answer.status)
        response = web.StreamResponse()
        await response.prepare(request)
        for line in answer.lines:
            await response.write(line)
        if answer.end == "cut":
            await asyncio.sleep(0.02)
            reset(request)
        return response


class Recording:
    """An audience that writes everything down, in one word each."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def read(self, item: Object) -> Object | None:
        return item

    def replaced(self, items: list[Object]) -> None:
        self.words.append("all:" + ",".join(item["metadata"]["name"] for item in items))

    def changed(self, item: Object) -> None:
        self.words.append("+" + item["metadata"]["name"])

    def deleted(self, item: Object) -> None:
        self.words.append("-" + item["metadata"]["name"])

    def lost(self) -> None:
        self.words.append("lost")


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_RETRY_SECONDS", 0.001)
    monkeypatch.setattr(module, "BETWEEN_STREAMS_SECONDS", 0.0)


@asynccontextmanager
async def serving(script: Script) -> AsyncIterator[HttpClient]:
    app = web.Application()
    app.router.add_get("/api/v1/pods", script.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.01)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with HttpClient(credentials(runner.addresses[0][1])) as client:
        yield client
    await runner.cleanup()


async def reflected(script: Script, handler: Recording | None = None) -> list[str]:
    """All that the reflector reports until the server is silent."""
    handler = handler or Recording()
    async with serving(script) as client:
        running = asyncio.create_task(Reflector(client, client, PODS, SELECTOR, handler).run())
        silent = asyncio.create_task(script.silent.wait())
        done, _ = await asyncio.wait({running, silent}, timeout=10, return_when=asyncio.FIRST_COMPLETED)
        assert done == {silent}, f"it never stops, or it ended: {running}"
        running.cancel()
    return handler.words


async def test_all_pages_are_reported_as_one_list() -> None:
    script = Script(Page("a", "b", at=5, more="t1"), Page("c", at=5, more="t2"), Page(at=5), Stream())
    assert await reflected(script) == ["all:a,b,c"]
    assert [asked.get("continue") for asked in script.asked[:3]] == [None, "t1", "t2"]
    assert script.asked[0] == {"limit": "100", **SELECTOR}


async def test_each_page_is_read_before_the_next_is_asked_for() -> None:
    """So that no more than one page of whole objects is held."""
    script = Script(Page("a", "b", at=5, more="t1"), Page("c", at=5), Stream())
    asked: list[int] = []

    class Counting(Recording):
        def read(self, item: Object) -> Object | None:
            asked.append(len(script.asked))
            return {"metadata": {"name": item["metadata"]["name"].upper()}}

    assert await reflected(script, Counting()) == ["all:A,B,C"]
    assert asked == [1, 1, 2]


async def test_a_watch_asks_for_bookmarks_and_a_timeout() -> None:
    script = Script(Page(at=5), Stream())
    await reflected(script)
    assert script.asked[1] == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "300",
        "resourceVersion": "5",
        **SELECTOR,
    }


async def test_events_are_reported_in_order() -> None:
    lines = [event("ADDED", "a", 6), event("MODIFIED", "b", 7), event("DELETED", "a", 8)]
    script = Script(Page("b", at=5), Stream(*lines))
    assert await reflected(script) == ["all:b", "+a", "+b", "-a"]
    assert script.asked[2]["resourceVersion"] == "8", "the next stream continues from the last event"


async def test_a_bookmark_only_sets_the_resource_version() -> None:
    script = Script(Page(at=5), Stream(event("BOOKMARK", "", 90)), Stream(), Stream(event("ADDED", "a", 91)))
    assert await reflected(script) == ["all:", "+a"]
    assert [asked.get("resourceVersion") for asked in script.asked] == [None, "5", "90", "90", "91"]


AGAIN = ["all:a", "lost", "all:b"]


@pytest.mark.parametrize(
    ("broken", "reports"),
    [
        pytest.param(Stream(error(410)), AGAIN, id="410 in the stream"),
        pytest.param(Stream(status=410), AGAIN, id="410 as the answer"),
        pytest.param(Stream(error(500)), AGAIN, id="500 in the stream"),
        pytest.param(Stream(status=500), AGAIN, id="500 as the answer"),
        pytest.param(Stream(status=403), AGAIN, id="403 as the answer"),
        pytest.param(Stream(event("ADDED", "c"), end="cut"), ["all:a", "+c", *AGAIN[1:]], id="cut off"),
        pytest.param(Stream(event("ADDED", "c")[:40]), AGAIN, id="half a line"),
        pytest.param(Stream(b"<html>log in here\n"), AGAIN, id="garbage"),
        pytest.param(Stream(b"[]\n"), AGAIN, id="JSON that is no event"),
        pytest.param(Stream(b'{"type":"ADDED","object":7}\n'), AGAIN, id="an event that has no object"),
    ],
)
async def test_after_a_broken_stream_all_objects_are_reported_again(broken: Stream, reports: list[str]) -> None:
    assert await reflected(Script(Page("a", at=5), broken, Page("b", at=9), Stream())) == reports


@pytest.mark.parametrize("status", [410, 500, 403])
async def test_a_list_that_fails_midway_reports_nothing_and_starts_again(status: int) -> None:
    script = Script(Page("a", at=5, more="t1"), Page(status=status), Page("b", at=9), Stream())
    assert await reflected(script) == ["lost", "all:b"]
    assert "continue" not in script.asked[2]


@pytest.mark.parametrize(
    "expired",
    [
        pytest.param([Stream(error(410))], id="in the stream"),
        pytest.param([Stream(status=410)], id="as the answer to a watch"),
        pytest.param([Stream(error(410)), Page(more="t1"), Page(status=410)], id="as the answer to a page"),
    ],
)
async def test_an_expired_revision_logs_no_warning(
    expired: list[Page | Stream], caplog: pytest.LogCaptureFixture
) -> None:
    await reflected(Script(Page(at=5), *expired, Page(at=9), Stream()))
    assert not caplog.records


async def test_the_log_says_why_a_watch_broke(caplog: pytest.LogCaptureFixture) -> None:
    await reflected(Script(Page(at=5), Stream(error(500)), Page(at=9), Stream()))
    assert "the watch of pods broke and is being restarted: the watch ended with error 500" in caplog.text


async def test_the_reflector_pauses_between_streams_that_end_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "BETWEEN_STREAMS_SECONDS", 0.1)
    script = Script(Page(at=5), *[Stream() for _ in range(200)])
    async with serving(script) as client:
        running = asyncio.create_task(Reflector(client, client, PODS, SELECTOR, Recording()).run())
        await asyncio.sleep(0.35)
        running.cancel()
    assert 2 <= len(script.asked) <= 6


async def test_a_line_can_be_as_large_as_a_pod() -> None:
    large = a_pod("a").annotated(padding="x" * 2_000_000).build()
    line = orjson.dumps({"type": "ADDED", "object": large}) + b"\n"
    assert await reflected(Script(Page(at=5), Stream(line), Stream())) == ["all:", "+a"]


async def test_the_reflector_backs_off_while_the_server_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 12:
            raise asyncio.CancelledError

    monkeypatch.setattr(module, "FIRST_RETRY_SECONDS", 0.5)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    monkeypatch.setattr(random, "uniform", lambda low, high: high)
    client = HttpClient(credentials(1))
    async with client:
        with pytest.raises(asyncio.CancelledError):
            await Reflector(client, client, PODS, SELECTOR, Recording()).run()
    assert pauses[:4] == [0.5, 1.0, 2.0, 4.0]
    assert pauses[-1] == module.LONGEST_RETRY_SECONDS
