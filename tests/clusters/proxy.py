"""A proxy between Muster and the API server, which can stop time at one write: just before it, or just after.

"After" means that the API server has applied the write and Muster does not know it yet; "before", that Muster has sent
it and the API server never sees it. That is where a crash hurts, and no signal sent from outside could hit it.
"""

import asyncio
import base64
import contextlib
import json
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import yaml
from aiohttp import ClientSession, ClientTimeout, TCPConnector, web
from yarl import URL

from tests.clusters.api import Object

NOT_PASSED_ON = {"host", "connection", "keep-alive", "transfer-encoding", "content-length", "accept-encoding"}
STARTING_SECONDS = 10.0


@dataclass
class Trap:
    """Holds the first `count` writes that match, and springs once it holds them all."""

    matches: Callable[[str, Object], bool]
    """Asked with the plural and the body of every call with that method."""
    then: Callable[[], None]
    after: bool
    count: int = 1
    goes_on: bool = False
    """The call continues afterwards: the write is made, or its answer is given. Otherwise the caller waits forever."""
    method: str = "POST"
    sprung: threading.Event = field(default_factory=threading.Event)
    _taken: int = 0
    _held: int = 0

    def take(self, plural: str, body: Object) -> bool:
        """Is this one of the writes to hold? No more of them than it waits for."""
        if self._taken == self.count or not self.matches(plural, body):
            return False
        self._taken += 1
        return True

    def holds_all(self) -> bool:
        """Called when one more write is held."""
        self._held += 1
        return self._held == self.count

    def spring(self) -> None:
        self.then()
        self.sprung.set()


def is_write_for(names: set[str], plural: str, reason: str | None = None) -> Callable[[str, Object], bool]:
    """Creates of this kind for these Jobs, and for no other."""

    def matches(kind: str, body: Object) -> bool:
        if kind != plural:
            return False
        if kind == "events":
            return bool(body["reason"] == reason and body["involvedObject"]["name"] in names)
        return any(owner["name"] in names for owner in body["metadata"].get("ownerReferences", []))

    return matches


class Proxy:
    def __init__(self, kubeconfig: Path, directory: Path) -> None:
        """Between the cluster that the kubeconfig names and the clients of `self.kubeconfig`, as the same user."""
        content = yaml.safe_load(kubeconfig.read_text())
        (cluster,) = content["clusters"]
        self._server: str = cluster["cluster"]["server"]
        self._authority = _authority(cluster["cluster"])
        self._content = content
        self.kubeconfig = directory / "through-the-proxy.kubeconfig"
        self._trap: Trap | None = None
        self._loop = asyncio.new_event_loop()
        self._listening = threading.Event()
        self._thread = threading.Thread(target=self._run, name="proxy", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._listening.wait(STARTING_SECONDS), "the proxy does not listen"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(STARTING_SECONDS)

    def set(self, trap: Trap) -> Trap:
        self._trap = trap
        return trap

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        self._ended = asyncio.Event()
        application = web.Application(client_max_size=16 * 1024 * 1024)
        application.router.add_route("*", "/{path:.*}", self._pass_on)
        runner = web.AppRunner(application, access_log=None, handler_cancellation=True)
        connector = TCPConnector(limit=0, ssl=self._authority)
        async with ClientSession(
            connector=connector, timeout=ClientTimeout(total=None), auto_decompress=False
        ) as self._session:
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            self._write_kubeconfig(runner.addresses[0][1])
            self._listening.set()
            await self._ended.wait()
            await site.stop()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    def _write_kubeconfig(self, port: int) -> None:
        self._content["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{port}"}
        self.kubeconfig.write_text(yaml.safe_dump(self._content))

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        trap = self._take_trap(request, body)
        if trap is not None and not trap.after and not await self._spring(trap):
            return await self._wait_for_ever()
        url = URL(self._server + request.raw_path, encoded=True)
        headers = _passed_on(request.headers)
        async with self._session.request(request.method, url, data=body or None, headers=headers) as answer:
            if trap is not None and trap.after:
                assert answer.status < 300, f"the API server did not take the write: {await answer.text()}"
                if not await self._spring(trap):
                    return await self._wait_for_ever()
            response = web.StreamResponse(status=answer.status, headers=_passed_on(answer.headers))
            with contextlib.suppress(ConnectionError):  # the caller may be gone
                await response.prepare(request)
                async for chunk in answer.content.iter_any():
                    await response.write(chunk)
                await response.write_eof()
            return response

    def _take_trap(self, request: web.Request, body: bytes) -> Trap | None:
        """The trap, if this is a write that it waits for."""
        if self._trap is None or request.method != self._trap.method:
            return None
        parts = request.path.split("/")
        plural = parts[-1] if request.method == "POST" else parts[-2]
        return self._trap if self._trap.take(plural, json.loads(body)) else None

    async def _spring(self, trap: Trap) -> bool:
        """Whether the write is forwarded."""
        if trap.holds_all():
            await asyncio.to_thread(trap.spring)
        return trap.goes_on

    async def _wait_for_ever(self) -> web.StreamResponse:
        """Never an answer: what the trap does ends the caller."""
        await self._ended.wait()
        return web.Response(status=502, text="the client should be gone")


def _passed_on(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in NOT_PASSED_ON}


def _authority(cluster: Object) -> ssl.SSLContext:
    if data := cluster.get("certificate-authority-data"):
        return ssl.create_default_context(cadata=base64.b64decode(data).decode())
    return ssl.create_default_context(cafile=cluster["certificate-authority"])
