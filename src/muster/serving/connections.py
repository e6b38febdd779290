"""Accepts connections, with a limit on their number, and closes those that do not use their slot.

Any client in the cluster network can connect. An API server sends a complete request as soon as it is connected;
clients that do not are dropped first.
"""

import asyncio
import errno
import gc
import math
import socket
import ssl
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler

from muster.serving.heap import trim

MANY_ENDED = 100
"""A flood of connections is over after this many have ended and few are left."""
BACKLOG = 1024
RECEIVED_BYTES = 16 * 1024
"""Buffer sizes of a connection. TLS by default uses 16 times as much, and aiohttp 4 times as much."""
FEW_SECONDS = 0.05
"""The pause after the system refused a connection because it has no file descriptor or memory left."""

OnError = Callable[[str, Exception], None]
"""Called with a description of the work and the unexpected error."""


@dataclass(frozen=True, slots=True)
class Limits:
    connections: int = 512
    handshake_seconds: float = 5.0
    shutdown_seconds: float = 1.0
    """How long a peer has to confirm the end of TLS."""
    first_seconds: float = 10.0
    """Until the first byte of the first request."""
    header_seconds: float = 5.0
    """From the first byte of a request to the end of its header."""
    idle_seconds: float = 120.0
    """Between requests. An API server closes idle connections after 90 s, and should do so before Muster does."""
    sweep_seconds: float = 1.0


class Connection(asyncio.Protocol):
    """One connection: passes everything on to aiohttp, and knows how long the peer may take for what it does now.

    Owns the deadline and the request that is being answered. It reports to `Connections` when it is used and when it
    is gone, and shuts its socket down when `Connections` drops it.
    """

    def __init__(self, crowd: "Connections", sock: socket.socket, peer: str, inner: asyncio.Protocol) -> None:
        self.peer = peer
        self.deadline = math.inf
        self._crowd, self._sock, self._inner = crowd, sock, inner
        self._request: web.Request | None = None
        self._receiving = False
        """Bytes of a request have arrived since the last answer."""

    @property
    def busy(self) -> bool:
        """The request is complete and its answer is not sent yet: the connection must not be closed."""
        return self._request is not None and self._request.content.is_eof()

    def drop(self) -> None:
        """Close the connection in any state, also during a handshake. The event loop releases its resources."""
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def begin(self, request: web.Request) -> bool:
        """The header is complete. `BodyReader` limits the time for the body.

        False if the peer sent this request together with an earlier one. API servers never do. aiohttp would answer
        all requests that one packet holds before any other connection gets its turn.
        """
        alone, self._receiving = self._receiving, False
        self._request, self.deadline = request, math.inf
        self._crowd.used(self)
        return alone

    def end(self) -> None:
        self._request, self.deadline = None, self._crowd.now() + self._crowd.limits.idle_seconds
        self._crowd.used(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.deadline = self._crowd.now() + self._crowd.limits.first_seconds
        if hasattr(transport, "set_read_buffer_limits"):  # TLS
            transport.set_read_buffer_limits(RECEIVED_BYTES)
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if self.busy:
            self.drop()  # the peer does not wait for the answer
            return
        if self._request is None and not self._receiving:
            self._receiving, self.deadline = True, self._crowd.now() + self._crowd.limits.header_seconds
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._crowd.gone(self)
        self._inner.connection_lost(exc)
        self._request, self._inner = None, asyncio.Protocol()  # a cycle would keep the buffers until a gc run

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()


class Connections:
    """All connections of one port, the least recently used first.

    Owns the connections and their number per peer. It accepts from the listening socket, and drops a connection that
    passes its deadline, or an idle one when there are too many.
    """

    def __init__(
        self, limits: Limits, make: Callable[[], asyncio.Protocol], context: ssl.SSLContext | None, on_error: OnError
    ) -> None:
        self.limits = limits
        self._make, self._context, self._on_error = make, context, on_error
        self._all: dict[Connection, None] = {}
        self._of_peer = Counter[str]()
        self._changed = asyncio.Event()
        """Set when a connection ends or is no longer busy."""
        self._opening = set[asyncio.Task[None]]()
        self._ended = 0
        """Connections that ended since memory was last returned to the system."""

    def __len__(self) -> int:
        return len(self._all)

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    async def serve(self, listener: socket.socket) -> None:
        """Runs until cancelled. If one of the two tasks dies, the other ends too, and the supervisor restarts both."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._accept(listener), name="accept")
            group.create_task(self._sweep(), name="sweep")

    async def _accept(self, listener: socket.socket) -> None:
        """Accepts sockets directly: a server of the event loop would report a peer only after the handshake."""
        try:
            while True:
                try:
                    await self._accept_one(listener)
                    await asyncio.sleep(0)  # one per turn: 300 handshakes at once would block the loop for a second
                except OSError as error:
                    if error.errno != errno.ECONNABORTED:
                        self._drop_one()
                        await asyncio.sleep(FEW_SECONDS)
                except Exception as error:  # noqa: BLE001 - a bug on one connection must not close the port
                    self._on_error("a new connection", error)
                    await asyncio.sleep(FEW_SECONDS)
        finally:
            for task in self._opening:
                task.cancel()

    async def _accept_one(self, listener: socket.socket) -> None:
        sock, address = await asyncio.get_running_loop().sock_accept(listener)
        while len(self._all) >= self.limits.connections and not self._drop_one():
            self._changed.clear()
            await self._changed.wait()
        self._open(sock, address[0])

    async def _sweep(self) -> None:
        """Close connections that have passed their deadline."""
        while True:
            await asyncio.sleep(self.limits.sweep_seconds)
            now = self.now()
            for connection in [each for each in self._all if each.deadline < now]:
                self._drop(connection)
            if self._ended >= MANY_ENDED and len(self) < MANY_ENDED:
                gc.collect()  # connections are cycles; this takes 20 to 35 ms, once after a flood
                trim()
                self._ended -= MANY_ENDED  # repeat it: the memory of a flood becomes free gradually

    def drop_idle(self) -> None:
        """Close all connections that are not busy, also those with half of a request."""
        while self._drop_one():
            pass

    def used(self, connection: Connection) -> None:
        if self._all.pop(connection, self) is None:
            self._all[connection] = None
            self._changed.set()

    def gone(self, connection: Connection) -> None:
        if self._all.pop(connection, self) is None:
            self._of_peer -= Counter({connection.peer: 1})
            self._ended += 1
            self._changed.set()

    def _open(self, sock: socket.socket, peer: str) -> None:
        sock.setblocking(False)
        connection = Connection(self, sock, peer, self._make())
        self._all[connection] = None
        self._of_peer[peer] += 1
        task = asyncio.create_task(self._shake_hands(connection, sock), name=f"handshake with {peer}")
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _shake_hands(self, connection: Connection, sock: socket.socket) -> None:
        limits = self.limits
        secure: dict[str, Any] = {
            "ssl": self._context,
            "ssl_handshake_timeout": limits.handshake_seconds,
            "ssl_shutdown_timeout": limits.shutdown_seconds,
        }
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: connection, sock, **(secure if self._context else {})
            )
        except (OSError, asyncio.CancelledError):  # not TLS, not trusted, too slow, or the peer is gone
            self._drop(connection)
        except Exception as error:  # noqa: BLE001 - without a deadline yet, nothing else would close it
            self._drop(connection)
            self._on_error(f"the handshake with {connection.peer}", error)

    def _drop_one(self) -> bool:
        """Drop the least recently used connection of the peer that has the most. API servers have few and use them."""
        idle = (each for each in self._all if not each.busy)
        victim = max(idle, key=lambda each: self._of_peer[each.peer], default=None)
        if victim is not None:
            self._drop(victim)
        return victim is not None

    def _drop(self, connection: Connection) -> None:
        connection.drop()
        self.gone(connection)


@web.middleware
async def note_use(request: web.Request, handler: Handler) -> web.StreamResponse:
    connection = request.transport.get_protocol() if request.transport is not None else None
    if not isinstance(connection, Connection):
        return await handler(request)
    try:
        return await handler(request) if connection.begin(request) else _one_at_a_time()
    finally:
        connection.end()


def _one_at_a_time() -> web.Response:
    response = web.Response(text="send the next request after the answer\n", status=400)
    response.force_close()
    return response
