"""The real client against a real server on loopback that misbehaves."""

import asyncio

import orjson
import pytest
from aiohttp import web

from muster.kube import http
from muster.kube.errors import (
    AlreadyExists,
    Conflict,
    Forbidden,
    KubeError,
    NotFound,
    RetryLater,
    ServerFault,
    Throttled,
    Unreachable,
)
from muster.kube.http import HttpClient
from muster.kube.resources import JOBS, PODS
from tests.unit.kube.misbehaving import Server, credentials


def reset(request: web.Request) -> None:
    assert request.transport is not None
    request.transport.abort()


async def test_an_object_is_returned_unchanged(server: Server, client: HttpClient) -> None:
    server.answers(body=b'{"kind":"Job"}')
    assert await client.get(JOBS, "team a", "x?y") == {"kind": "Job"}
    assert server.asked[0].raw_path == "/apis/batch/v1/namespaces/team%20a/jobs/x%3Fy", "names cannot leave their place"


@pytest.mark.parametrize("name", ["", ".", "..", "x/status", "../../secrets/x", "x%2Fstatus"])
async def test_no_request_is_sent_for_a_name_that_changes_the_path(
    server: Server, client: HttpClient, name: str
) -> None:
    with pytest.raises(NotFound):
        await client.get(JOBS, "default", name)
    assert server.asked == []


async def test_the_start_of_a_watch_is_known_before_its_first_event(server: Server, client: HttpClient) -> None:
    over = asyncio.Event()

    async def quiet(request: web.Request) -> web.StreamResponse:
        await (stream := web.StreamResponse()).prepare(request)
        await over.wait()
        return stream

    server.handler = quiet
    await asyncio.wait_for(client.try_watch(JOBS), 5)
    over.set()
    server.answers(status=403, body=b'{"kind":"Status","code":403,"message":"cannot watch"}')
    with pytest.raises(Forbidden, match="cannot watch"):
        await client.try_watch(JOBS)


async def test_each_call_sends_the_right_request(server: Server) -> None:
    server.answers(body=b"{}")
    async with HttpClient(credentials(server.port, token="secret", path="/k8s/cluster-1")) as client:
        await client.create(PODS, "default", {"a": 1})
        await client.list(PODS, params={"labelSelector": "a=b"})
        await client.delete(PODS, "default", "p", {"uid": "u"})
    create, listing, _ = server.asked
    assert (create.method, create.path) == ("POST", "/k8s/cluster-1/api/v1/namespaces/default/pods")
    assert create.headers["Authorization"] == "Bearer secret"
    assert create.headers["User-Agent"].startswith("muster/")
    assert server.bodies[0] == b'{"a":1}'
    assert listing.query == {"labelSelector": "a=b"}
    assert b'"preconditions":{"uid":"u"}' in server.bodies[2]


async def test_every_call_is_counted_by_its_result(server: Server, unused_tcp_port: int) -> None:
    counted: list[tuple[str, str, str]] = []
    server.answers(body=b"{}")
    async with HttpClient(credentials(server.port), lambda *call: counted.append(call)) as client:
        await client.create(PODS, "default", {})
        await client.get(JOBS, "default", "x")
        await client.list(JOBS)
        await client.replace(JOBS, "default", "x", {})
        await client.patch(JOBS, "default", "x", {}, "status")
        await client.delete(JOBS, "default", "x", {})
        server.answers(status=404, body=b"{}")
        with pytest.raises(NotFound):
            await client.get(PODS, "default", "x")
    async with HttpClient(credentials(unused_tcp_port), lambda *call: counted.append(call)) as client:
        with pytest.raises(Unreachable):
            await client.create(PODS, "default", {})
    verbs = ("get", "list", "update", "patch", "delete")
    assert counted == [
        ("create", "pods", "2xx"),
        *((verb, "jobs", "2xx") for verb in verbs),
        ("get", "pods", "4xx"),
        ("create", "pods", "none"),
    ]


async def test_a_patch_is_merged_into_the_object_or_a_part_of_it(server: Server, client: HttpClient) -> None:
    server.answers(body=b"{}")
    await client.patch(PODS, "default", "p", {"a": None})
    await client.patch(PODS, "default", "p", {"status": {}}, "status")
    assert [request.path for request in server.asked] == [
        "/api/v1/namespaces/default/pods/p",
        "/api/v1/namespaces/default/pods/p/status",
    ]
    assert {(r.method, r.headers["Content-Type"]) for r in server.asked} == {("PATCH", "application/merge-patch+json")}
    assert server.bodies == [b'{"a":null}', b'{"status":{}}']


async def test_a_watch_is_lines_until_the_server_ends_it(server: Server) -> None:
    server.answers(body=b'{"a":1}\n{"b":2}\n')
    async with HttpClient(credentials(server.port, token="secret")) as client:
        assert [line async for line in client.watch(PODS, {"watch": "true"})] == [b'{"a":1}\n', b'{"b":2}\n']
    assert server.asked[0].query == {"watch": "true"}
    assert server.asked[0].headers["Authorization"] == "Bearer secret"


@pytest.mark.parametrize(
    ("how", "error"),
    [
        pytest.param({"status": 410, "body": b"{}"}, Conflict, id="410"),
        pytest.param({"status": 404, "body": b"{}"}, NotFound, id="404"),
        pytest.param({"body": b"x" * 40}, Unreachable, id="a line without end"),
    ],
)
async def test_a_refused_watch_is_an_error(
    server: Server, how: dict[str, object], error: type[KubeError], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "LONGEST_LINE_BYTES", 16)
    server.answers(**how)
    async with HttpClient(credentials(server.port)) as client:
        with pytest.raises(error) as raised:
            _ = [line async for line in client.watch(PODS, {})]
    assert type(raised.value) is error


@pytest.mark.parametrize(
    ("how", "error", "says"),
    [
        pytest.param({"status": 404, "body": b'{"message":"gone"}'}, NotFound, "gone", id="404"),
        pytest.param({"status": 409, "body": b'{"reason":"AlreadyExists"}'}, AlreadyExists, "409", id="AlreadyExists"),
        pytest.param({"status": 502, "text": "<html>Bad Gateway"}, ServerFault, "HTTP 502", id="an HTML page with 502"),
        pytest.param({"status": 500, "body": b""}, ServerFault, "HTTP 500", id="an empty 500"),
        pytest.param({"status": 500, "body": b"[1]"}, ServerFault, "HTTP 500", id="a list with 500"),
        pytest.param({"text": "<html>log in here"}, ServerFault, "not JSON", id="an HTML page with 200"),
        pytest.param({"body": b'{"kind":"Jo'}, ServerFault, "not JSON", id="JSON that was cut off"),
        pytest.param({"body": b"[]"}, ServerFault, "not an object", id="a list with 200"),
        pytest.param({"body": b"\xff\xfe"}, ServerFault, "not JSON", id="not even text"),
        pytest.param({"status": 429, "body": b"{}"}, Throttled, "429", id="429"),
        pytest.param(
            {"status": 302, "headers": {"Location": "/elsewhere"}}, ServerFault, "redirect .HTTP 302.", id="a redirect"
        ),
    ],
)
async def test_a_bad_answer_is_an_error(
    server: Server, client: HttpClient, how: dict[str, object], error: type[KubeError], says: str
) -> None:
    server.answers(**how)
    with pytest.raises(error, match=says) as raised:
        await client.get(JOBS, "default", "train")
    assert type(raised.value) is error


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        ("0", 1.0),
        ("soon", 1.0),
        ("-3", 1.0),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 1.0),
        ("1.5", 1.0),
        ("3600", 60.0),
        ("9" * 400, 60.0),
    ],
)
async def test_the_retry_after_header_gives_the_wait(
    server: Server, client: HttpClient, header: str, seconds: float
) -> None:
    server.answers(status=429, headers={"Retry-After": header}, body=b"{}")
    with pytest.raises(RetryLater) as raised:
        await client.get(JOBS, "default", "train")
    assert raised.value.after_seconds == seconds


async def test_a_read_is_tried_once_more_when_its_connection_breaks(server: Server, client: HttpClient) -> None:
    async def break_once(request: web.Request) -> web.StreamResponse:
        if len(server.asked) == 1:
            reset(request)
        return web.json_response({"ok": True})

    server.handler = break_once
    assert await client.list(JOBS) == {"ok": True}


async def test_a_create_is_never_repeated(server: Server, client: HttpClient) -> None:
    """Whether it was applied is not known: that is for the next look to find out."""

    async def break_always(request: web.Request) -> web.StreamResponse:
        reset(request)
        return web.Response()

    server.handler = break_always
    with pytest.raises(Unreachable, match="does not answer"):
        await client.create(JOBS, "default", {})
    assert len(server.asked) == 1
    with pytest.raises(Unreachable, match="does not answer"):
        await client.get(JOBS, "default", "x")
    assert len(server.asked) <= 1 + 4, "a read is given up, too (aiohttp repeats what we repeat)"


async def test_a_closed_port_is_unreachable(unused_tcp_port: int) -> None:
    async with HttpClient(credentials(unused_tcp_port)) as client:
        with pytest.raises(Unreachable, match=f"127.0.0.1:{unused_tcp_port}"):
            await client.get(JOBS, "default", "x")


async def test_an_incomplete_answer_is_an_error(server: Server, client: HttpClient) -> None:
    async def half(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b'{"kind":')
        await asyncio.sleep(0)
        reset(request)
        return response

    server.handler = half
    with pytest.raises(Unreachable):
        await client.get(JOBS, "default", "x")


async def test_a_client_that_is_not_open_raises_an_error() -> None:
    with pytest.raises(RuntimeError, match="not open"):
        await HttpClient(credentials(1)).get(JOBS, "default", "x")


async def test_a_dry_run_marks_every_write_and_no_read(server: Server) -> None:
    server.answers(text="{}", content_type="application/json")
    async with HttpClient(credentials(server.port), dry_run=True) as client:
        await client.get(JOBS, "a", "b")
        await client.create(JOBS, "a", {})
        await client.replace(JOBS, "a", "b", {})
        await client.patch(JOBS, "a", "b", {})
        await client.delete(JOBS, "a", "b", {})
    assert [request.query.get("dryRun") for request in server.asked] == [None, *["All"] * 4]
    assert orjson.loads(server.bodies[-1])["dryRun"] == ["All"], "of a delete only the body counts"
