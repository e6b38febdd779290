"""Connections from anybody: so many, none that does nothing, and never one that is being answered."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from aiohttp import web

from muster.admission.request_bodies import SMALL_BYTES, BodyReader
from muster.runtime.supervisor import Supervisor
from muster.runtime.tasks import Task
from muster.serving.certificates import self_signed
from muster.serving.connections import Limits
from muster.serving.listener import Listening, Port, listen
from muster.serving.tls import ReloadingTls
from tests.unit.controllers.parts import a_supervisor

LOOPBACK, ELSEWHERE = "127.0.0.1", "127.0.0.2"
FEW = Limits(connections=4, sweep_seconds=0.02)
GET = b"GET / HTTP/1.1\r\nHost: muster\r\n\r\n"
POST = "POST / HTTP/1.1\r\nHost: muster\r\nContent-Length: %d\r\n\r\n"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def hello(_: web.Request) -> web.Response:
    return web.Response(text="hello")


@asynccontextmanager
async def listening(
    limits: Limits,
    handler: Callable[[web.Request], Awaitable[web.StreamResponse]] = hello,
    tls: ReloadingTls | None = None,
    supervisor: Supervisor | None = None,
) -> AsyncIterator[Listening]:
    app = web.Application()
    app.router.add_route("*", "/", handler)
    port = Port(Task.ADMISSION_PORT, app, LOOPBACK, 0, tls.context if tls else None, limits)
    supervisor = supervisor or a_supervisor()
    opened = await listen(port, supervisor, supervisor.errors)
    try:
        yield opened
    finally:
        await opened.stop()


async def connect(port: int, source: str = LOOPBACK, first: bytes = b"") -> Streams:
    reader, writer = await asyncio.open_connection(LOOPBACK, port, local_addr=(source, 0))
    writer.write(first)
    await asyncio.sleep(0.01)
    return reader, writer


async def answered(streams: Streams) -> bool:
    reader, writer = streams
    writer.write(GET)
    async with asyncio.timeout(5):
        try:
            return (await reader.readuntil(b"hello")).startswith(b"HTTP/1.1 200")
        except (asyncio.IncompleteReadError, ConnectionError):
            return False


async def closed(streams: Streams, within: float = 5.0) -> bool:
    try:
        async with asyncio.timeout(within):
            await streams[0].read()
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


async def test_the_least_recently_used_connection_is_closed_first() -> None:
    async with listening(FEW) as port:
        used, *idle = [await connect(port.port) for _ in range(4)]
        assert await answered(used)
        newest = await connect(port.port)
        assert await closed(idle[0])
        assert await answered(newest)
        assert await answered(used)
        assert len(port.connections) == 4


async def test_the_peer_with_most_connections_loses_one_first() -> None:
    async with listening(FEW) as port:
        honest = await connect(port.port)
        strangers = [await connect(port.port, ELSEWHERE) for _ in range(20)]
        assert await answered(honest), "the oldest of all, and used by nobody else"
        assert await closed(strangers[0])
        assert await answered(strangers[-1])


async def test_a_connection_that_is_being_answered_is_never_closed() -> None:
    answer = asyncio.Event()

    async def slow(_: web.Request) -> web.Response:
        await answer.wait()
        return web.Response(text="hello")

    async with listening(FEW, slow) as port:
        busy = [await connect(port.port, first=GET) for _ in range(4)]
        waiting = await connect(port.port, first=GET)
        assert not await closed(waiting, within=0.1)
        answer.set()
        for each in (*busy, waiting):
            assert b"hello" in await each[0].readuntil(b"hello")


@pytest.mark.parametrize(
    ("limits", "first"),
    [
        pytest.param(replace(FEW, first_seconds=0.05), b"", id="no request"),
        pytest.param(replace(FEW, header_seconds=0.05), b"GET / HTTP/1.1\r\nX-Slow: ", id="half a header"),
        pytest.param(replace(FEW, idle_seconds=0.05), GET, id="nothing after the first answer"),
    ],
)
async def test_an_idle_connection_is_closed(limits: Limits, first: bytes) -> None:
    async with listening(limits) as port:
        assert await closed(await connect(port.port, first=first))
        assert len(port.connections) == 0


@pytest.mark.parametrize(
    "first", [b"", b"\x16\x03\x01\x02\x00\x01", b"\x00" * 1000, GET], ids=["no", "half", "no TLS", "HTTP"]
)
async def test_an_incomplete_handshake_is_closed(first: bytes) -> None:
    tls = ReloadingTls(self_signed(LOOPBACK))
    async with listening(replace(FEW, handshake_seconds=0.1), tls=tls) as port:
        assert await closed(await connect(port.port, first=first))
        assert len(port.connections) == 0


async def test_the_listener_goes_on_after_running_out_of_file_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, tries = asyncio.get_running_loop(), 0
    accept = loop.sock_accept

    async def out_of_descriptors(listener: socket.socket) -> object:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise OSError(24, "Too many open files")
        return await accept(listener)

    monkeypatch.setattr(loop, "sock_accept", out_of_descriptors)
    async with listening(FEW) as port:
        assert await answered(await connect(port.port))


def counted(supervisor: Supervisor, name: str) -> float:
    registry = supervisor.errors.metrics._registry
    return registry.get_sample_value(name, {"task": Task.ADMISSION_PORT.value}) or 0.0


@pytest.mark.parametrize("part", ["sock_accept", "connect_accepted_socket"])
async def test_a_bug_with_one_connection_is_counted_and_the_port_goes_on(
    monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    loop, supervisor, bugs = asyncio.get_running_loop(), a_supervisor(), iter([ZeroDivisionError("bug")])
    whole = getattr(loop, part)

    async def buggy(*args: object, **options: object) -> object:
        for bug in bugs:
            raise bug
        return await whole(*args, **options)

    monkeypatch.setattr(loop, part, buggy)
    async with listening(FEW, supervisor=supervisor) as port:
        streams = await connect(port.port)
        if part == "connect_accepted_socket":
            assert await closed(streams), "nothing else would ever close it"
            streams = await connect(port.port)
        assert await answered(streams)
    assert counted(supervisor, "muster_internal_errors_total") == 1
    assert counted(supervisor, "muster_task_restarts_total") == 0


async def test_a_port_whose_task_dies_is_served_again(monkeypatch: pytest.MonkeyPatch) -> None:
    supervisor, died = a_supervisor(), asyncio.Event()

    def buggy() -> None:
        if not died.is_set():
            died.set()
            raise ZeroDivisionError("bug")

    monkeypatch.setattr("muster.serving.connections.MANY_ENDED", 1)
    monkeypatch.setattr("muster.serving.connections.trim", buggy)
    async with listening(FEW, supervisor=supervisor) as port:
        (await connect(port.port))[1].close()
        await asyncio.wait_for(died.wait(), 5)
        assert await answered(await connect(port.port))
    assert counted(supervisor, "muster_task_restarts_total") == 1


def reader_of(bodies: BodyReader, limit: int) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def read(request: web.Request) -> web.Response:
        return web.Response(text=f"hello {len(await bodies.read(request, limit))}")

    return read


async def test_the_sum_of_large_bodies_is_bounded_and_the_oldest_goes(caplog: pytest.LogCaptureFixture) -> None:
    large, most = 3 * SMALL_BYTES, 2 * SMALL_BYTES
    async with listening(Limits(), reader_of(BodyReader(total=5 * SMALL_BYTES), large)) as port:
        begun = [await connect(port.port, first=(POST % large).encode() + b" " * most) for _ in range(3)]
        assert await closed(begun[0])
        for reader, writer in begun[1:]:  # one after the other: the first makes room for the rest of the second
            writer.write(b" " * (large - most))
            assert await reader.readuntil(f"hello {large}".encode())
            await asyncio.sleep(0.1)
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param((POST % 100).encode() + b"half", id="half a body"),
        pytest.param(b"POST / HTTP/1.1\r\nHost: m\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", id="a bad chunk"),
    ],
)
async def test_a_body_that_ends_early_leaves_no_traceback(caplog: pytest.LogCaptureFixture, sent: bytes) -> None:
    async with listening(Limits(), reader_of(BodyReader(seconds=1), 100)) as port:
        _, writer = await connect(port.port, first=sent)
        writer.transport.abort()
        await asyncio.sleep(0.05)
        assert len(port.connections) == 0
    assert not [record for record in caplog.records if record.exc_info]


async def test_small_bodies_never_wait_for_large_ones() -> None:
    large = 2 * SMALL_BYTES
    async with listening(Limits(), reader_of(BodyReader(total=large), large)) as port:
        await connect(port.port, first=(POST % large).encode() + b" " * (large - 1))
        small = await connect(port.port, first=(POST % 5).encode() + b"small")
        assert await small[0].readuntil(b"hello 5")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param((POST % 101).encode(), 413, id="too large, and not yet sent"),
        pytest.param((POST % 100).encode() + b"x", 408, id="too slow"),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: m\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n" + b"x" * 0x65 + b"\r\n",
            413,
            id="too large, in chunks",
        ),
    ],
)
async def test_a_body_that_is_too_large_or_too_slow_is_refused(sent: bytes, status: int) -> None:
    async with listening(Limits(), reader_of(BodyReader(seconds=0.05), 100)) as port:
        reader, _ = await connect(port.port, first=sent)
        assert (await reader.readline()).startswith(f"HTTP/1.1 {status}".encode())


async def test_malformed_http_leaves_no_traceback(caplog: pytest.LogCaptureFixture) -> None:
    async with listening(Limits()) as port:
        for first in (
            GET.replace(b"GET", b"G\x00T"),
            b"\xff" * 100,
            GET + b"garbage\r\n\r\n",
            b"GET /" + b"a" * 20_000,
        ):
            assert await closed(await connect(port.port, first=first))
        assert await answered(await connect(port.port))
    assert "Traceback" not in caplog.text
    assert not [record for record in caplog.records if record.exc_info]
