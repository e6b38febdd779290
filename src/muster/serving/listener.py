"""Opens and closes the ports."""

import asyncio
import logging
import socket
import ssl
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import aiohttp
from aiohttp import web
from aiohttp.http import HttpProcessingError

from muster.core import readiness
from muster.runtime.internal_errors import InternalErrors
from muster.runtime.supervisor import Supervisor
from muster.runtime.tasks import Task
from muster.serving.certificates import ServingCertificate
from muster.serving.connections import BACKLOG, RECEIVED_BYTES, Connections, Limits, note_use
from muster.serving.heap import return_large_blocks

IN_FLIGHT_SECONDS = 5
BEGIN_SECONDS = 0.05
"""Grace period in which a connection with a new request becomes busy."""
ASKING_SECONDS = 5.0
ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - compared with, not bound to


class Address(NamedTuple):
    host: str
    port: int

    @property
    def url(self) -> str:
        host = ANYWHERE.get(self.host, self.host)
        return f"https://{f'[{host}]' if ':' in host else host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Listening:
    runner: web.AppRunner
    address: Address
    connections: Connections
    listener: socket.socket
    serving: asyncio.Task[None]

    @property
    def port(self) -> int:
        return self.address.port

    async def stop(self) -> None:
        """Accept no new connections, and finish the requests in flight."""
        self.serving.cancel()
        await asyncio.wait({self.serving})
        self.listener.close()
        await asyncio.sleep(BEGIN_SECONDS)
        self.connections.drop_idle()
        await self.runner.cleanup()


@dataclass(frozen=True, slots=True)
class Port:
    """What a port serves, and the task that serves it."""

    task: Task
    app: web.Application
    host: str
    number: int
    context: ssl.SSLContext | None = None
    """None for plain HTTP."""
    limits: Limits = field(default_factory=Limits)


async def listen(port: Port, supervisor: Supervisor, errors: InternalErrors) -> Listening:
    return_large_blocks()
    listener = socket.create_server(
        (port.host, port.number), family=socket.AF_INET6 if ":" in port.host else socket.AF_INET, backlog=BACKLOG
    )
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVED_BYTES)  # accepted connections inherit it
    listener.setblocking(False)
    port.app.middlewares.append(note_use)
    runner = web.AppRunner(
        port.app,
        access_log=None,
        logger=_logger(),
        auto_decompress=False,
        read_bufsize=RECEIVED_BYTES,
        lingering_time=0,  # do not read the rest of a refused request
        keepalive_timeout=port.limits.idle_seconds,
        shutdown_timeout=IN_FLIGHT_SECONDS,
    )
    await runner.setup()
    if runner.server is None:
        raise RuntimeError("a runner that is set up has a server")
    connections = Connections(port.limits, runner.server, port.context, partial(errors.note, port.task))
    serving = asyncio.create_task(supervisor.run(port.task, partial(connections.serve, listener)), name=port.task.value)
    return Listening(runner, Address(port.host, listener.getsockname()[1]), connections, listener, serving)


def _logger() -> logging.Logger:
    """A logger without the tracebacks that aiohttp logs for data that is not HTTP, which any client can send."""
    made = logging.getLogger("muster.http")
    made.addFilter(_is_no_garbage)
    return made


def _is_no_garbage(record: logging.LogRecord) -> bool:
    """Also drops errors about a peer that is gone, which aiohttp logs only if uvloop notices it first."""
    error = record.exc_info[1] if record.exc_info else None
    is_gone = isinstance(error, RuntimeError) and str(error).endswith("the handler is closed")
    return not isinstance(error, HttpProcessingError) and not is_gone


async def ask(address: Address, name: str, certificate: ServingCertificate, handshake_only: bool = False) -> str:
    """Connect as the API server does: with this server name and trusting these authorities. Returns the problem, or "".

    A port that requires client certificates answers only clients that have one. With `handshake_only`, the check is
    limited to the server's own certificate.
    """
    trust = ssl.create_default_context(cadata=certificate.authority.decode())
    try:
        return await (_shake_hands(address, name, trust) if handshake_only else _get(address, name, trust))
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        return " ".join(str(error).split()) or type(error).__name__


async def _get(address: Address, name: str, trust: ssl.SSLContext) -> str:
    connector = aiohttp.TCPConnector(ssl=trust, force_close=True)
    async with (
        aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=ASKING_SECONDS)) as session,
        session.get(f"{address.url}/livez", server_hostname=name) as answer,
    ):
        return "" if answer.status == web.HTTPOk.status_code else readiness.port_answers(answer.status)


async def _shake_hands(address: Address, name: str, trust: ssl.SSLContext) -> str:
    trust.minimum_version = ssl.TLSVersion.TLSv1_3  # TLS 1.2 hides the server's certificate from such a client
    async with asyncio.timeout(ASKING_SECONDS):
        host = ANYWHERE.get(address.host, address.host)
        _, writer = await asyncio.open_connection(host, address.port, ssl=trust, server_hostname=name)
    writer.transport.abort()
    return ""
