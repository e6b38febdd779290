"""A real server on loopback that misbehaves."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

from muster.kube.credentials import Credentials
from muster.kube.login import Endpoint, LoginFailed

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Server:
    """Answers with what the test says, and remembers what it was asked."""

    def __init__(self) -> None:
        self.handler: Handler = self.missing
        self.asked: list[web.Request] = []
        self.bodies: list[bytes] = []
        self.port = 0

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request)
        self.bodies.append(await request.read())
        return await self.handler(request)

    async def missing(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"kind": "Status", "message": "not here"}, status=404)

    def answers(self, **how: object) -> None:
        async def handler(request: web.Request) -> web.StreamResponse:
            return web.Response(**how)  # type: ignore[arg-type]

        self.handler = handler


@dataclass(slots=True)
class FakeLogin:
    endpoint: Endpoint
    header: str = ""
    failure: str = ""

    def read_authorization(self) -> str:
        if self.failure:
            raise LoginFailed(self.failure)
        return self.header


def credentials(port: int, token: str = "", path: str = "") -> Credentials:
    endpoint = Endpoint(f"http://127.0.0.1:{port}{path}")
    return Credentials(FakeLogin(endpoint, header=f"Bearer {token}" if token else ""))
