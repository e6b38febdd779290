"""The client, and a server that does what the test says."""

from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from muster.kube.http import HttpClient
from tests.unit.kube.misbehaving import Server, credentials


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", made.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.port = runner.addresses[0][1]
    yield made
    await runner.cleanup()


@pytest.fixture
async def client(server: Server) -> AsyncIterator[HttpClient]:
    async with HttpClient(credentials(server.port)) as made:
        yield made
