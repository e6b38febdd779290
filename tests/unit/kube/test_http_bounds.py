"""No answer of a server and no login can make a call raise anything but a KubeError, or take memory without end."""

import pytest
from aiohttp import web

from muster.kube import http
from muster.kube.credentials import FAILED_AGE_SECONDS, Credentials
from muster.kube.errors import Rejected, ServerFault, TooLarge, Unreachable
from muster.kube.http import HttpClient
from muster.kube.login import Endpoint
from muster.kube.resources import JOBS, PODS
from tests.unit.kube.misbehaving import FakeLogin, Server


async def test_a_redirect_is_never_followed(server: Server, client: HttpClient) -> None:
    server.answers(status=307, headers={"Location": "/elsewhere"})
    with pytest.raises(ServerFault):
        await client.create(PODS, "default", {})
    assert [request.path for request in server.asked] == ["/api/v1/namespaces/default/pods"]


async def test_an_endless_answer_is_cut_off(
    server: Server, client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "MAX_ANSWER_BYTES", 2 * 1024 * 1024)

    async def endless(request: web.Request) -> web.StreamResponse:
        await (stream := web.StreamResponse()).prepare(request)
        while True:
            await stream.write(b"x" * 65536)

    server.handler = endless
    with pytest.raises(TooLarge, match="more than 2 MiB"):
        await client.get(JOBS, "default", "x")


async def test_a_page_that_is_too_large_is_asked_for_again_with_fewer_items(
    server: Server, client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large objects of one user must not end the lists that all depend on."""
    monkeypatch.setattr(http, "MAX_PAGE_BYTES", 1000)

    async def page(request: web.Request) -> web.StreamResponse:
        return web.json_response({"items": ["x" * 300] * int(request.query["limit"])})

    server.handler = page
    assert len((await client.list(JOBS, params={"limit": "8"}))["items"]) == 2
    assert [request.query["limit"] for request in server.asked] == ["8", "4", "2"]
    monkeypatch.setattr(http, "MAX_PAGE_BYTES", 100)
    with pytest.raises(TooLarge):
        await client.list(JOBS, params={"limit": "8"})


async def test_an_object_that_is_no_json_is_rejected_before_it_is_sent(server: Server, client: HttpClient) -> None:
    with pytest.raises(Rejected, match="cannot be written as JSON"):
        await client.create(JOBS, "default", {"metadata": {"name": "\ud800"}})
    assert server.asked == []


async def test_a_failed_login_is_an_error_and_recovers(server: Server) -> None:
    """The token file vanished, or the plugin of a kubeconfig failed: every call fails, and none ends Muster."""
    login = FakeLogin(Endpoint(f"http://127.0.0.1:{server.port}"), "Bearer secret", "exec: plugin exited with 1")
    credentials = Credentials(login)
    server.answers(body=b"{}")
    async with HttpClient(credentials) as client:
        for _ in range(2):
            with pytest.raises(Unreachable, match="cannot log in to the API server: exec: plugin exited with 1"):
                await client.get(JOBS, "default", "x")
        assert server.asked == []
        login.failure = ""
        credentials._failed_at -= FAILED_AGE_SECONDS
        assert await client.get(JOBS, "default", "x") == {}
