"""An untrusted client of the webhook port: `python -m tests.e2e.support.strangers CASE PORT SECONDS`.

Each case is cheap for its sender: the bytes are made once, and what comes back is thrown away.
"""

import asyncio
import itertools
import json
import random
import resource
import ssl
import sys
import uuid
from collections.abc import Awaitable, Callable

LOOPBACK, ELSEWHERE = "127.0.0.1", "127.0.0.2"
MIB = 1024 * 1024
TLS = ssl.create_default_context()
TLS.check_hostname, TLS.verify_mode = False, ssl.CERT_NONE

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Attack = Callable[[int], Awaitable[None]]


def http(path: str, body: bytes = b"", headers: str = "", length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    return f"POST {path} HTTP/1.1\r\nHost: muster\r\nContent-Length: {size}\r\n{headers}\r\n".encode() + body


def review(pod: str, uid: str = "stranger") -> bytes:
    request = f'{{"uid":"{uid}","operation":"CREATE","namespace":"default","object":{pod}}}'
    return f'{{"request":{request}}}'.encode()


def made_up() -> bytes:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "made-up", "uid": str(uuid.uuid4()), "controller": True}
    return http("/pods?timeout=2s", review(json.dumps({"metadata": {"ownerReferences": [owner]}})))


NOBODY_S = review("{}")
BOMBS = [
    b'{"request":{"uid":"x","object":{"metadata":{"managedFields":[' + b'{"":0},' * (3 * MIB // 7) + b"0]}}}}",
    b'{"request":{"uid":"x","operation":"CREATE","object":{"metadata":{"annotations":{'
    + b",".join(b'"%d":""' % number for number in range(300_000))
    + b"}}}}}",
    b'{"request":{"uid":"x","operation":"CREATE","object":{"metadata":{"ownerReferences":[' + b"{}," * MIB + b"{}]}}}}",
    b'{"request":{"uid":"x","object":' + b"[" * (3 * MIB),
    b'{"request":{"uid":"x","object":{"a":' + b"1" * (3 * MIB) + b"}}}",
    b'{"request":{"uid":"' + b"\xff" * 1000 + b'"}}',
]


async def connected(port: int, secure: bool = True) -> Streams:
    """From the API server's own address, and from another one."""
    source = random.choice((LOOPBACK, ELSEWHERE))
    return await asyncio.open_connection(LOOPBACK, port, ssl=TLS if secure else None, local_addr=(source, 0))


async def repeat(port: int, messages: list[bytes], pause: float) -> None:
    """Send, throw the answer away, and again, on one connection after the other."""
    for message in itertools.cycle(messages):
        reader, writer = await connected(port)
        for _ in range(20):
            writer.write(message)
            try:
                await writer.drain()
                if not await asyncio.wait_for(reader.read(MIB), 5):
                    break
            except (OSError, TimeoutError):
                break
            await asyncio.sleep(pause)
        writer.transport.abort()
        await asyncio.sleep(pause)


async def drip(port: int, first: bytes, secure: bool = True) -> None:
    """Some bytes, and then one each half second."""
    _, writer = await connected(port, secure)
    writer.write(first)
    while not writer.is_closing():
        await asyncio.sleep(0.5)
        writer.write(b"x")


async def hold(port: int, secure: bool) -> None:
    """A connection, and nothing else."""
    reader, writer = await connected(port, secure)
    await reader.read()
    writer.transport.abort()
    await asyncio.sleep(1)


async def shake_hands(port: int) -> None:
    """And nothing else: what costs the server the most for the fewest bytes."""
    while True:
        _, writer = await connected(port)
        writer.transport.abort()


async def pipeline(port: int) -> None:
    """Requests without end, and no look at the answers."""
    _, writer = await connected(port)
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    several = (http("/pods", NOBODY_S) + b"GET /livez HTTP/1.1\r\nHost: muster\r\n\r\n") * 50
    while True:
        writer.write(several)
        await writer.drain()
        await asyncio.sleep(0.05)


async def garbage(port: int) -> None:
    _, writer = await connected(port, secure=False)
    writer.write(random.choice((random.randbytes(2000), http("/pods", NOBODY_S), b"\x16\x03\x01\xff\xff")))
    await asyncio.sleep(0.1)
    writer.transport.abort()


async def ask_about_made_up_jobs(port: int) -> None:
    """50 each second, of twenty: a thousand."""
    reader, writer = await connected(port)
    loop = asyncio.get_running_loop()
    begun = loop.time()
    for number in itertools.count():
        writer.write(made_up())
        await writer.drain()
        while b"}}" not in await reader.read(65536):
            pass
        await asyncio.sleep(max(0.0, begun + number / 50 - loop.time()))


CASES: dict[str, tuple[int, Attack]] = {
    "quadratic query strings": (
        4,
        lambda port: repeat(port, [http("/pods?timeout=" + "1" * 8_000, NOBODY_S)], 0.02),
    ),
    "huge query strings": (4, lambda port: repeat(port, [http("/pods?" + "a&" * 500_000, NOBODY_S)], 0.02)),
    "bodies up to the limit": (4, lambda port: repeat(port, [http("/pods", b" " * (4 * MIB))], 0.05)),
    "bodies over the limit": (4, lambda port: repeat(port, [http("/pods", b" " * (5 * MIB))], 0.05)),
    "JSON bombs": (4, lambda port: repeat(port, [http("/pods", bomb) for bomb in BOMBS], 0.05)),
    "compressed bodies": (
        4,
        lambda port: repeat(port, [http("/pods", b"\x1f\x8b" * 1000, "Content-Encoding: gzip\r\n")], 0.02),
    ),
    "slow headers": (300, lambda port: drip(port, b"POST /pods HTTP/1.1\r\nHost: muster\r\nX-Slow: ")),
    "slow bodies": (300, lambda port: drip(port, http("/pods", b" " * 100_000, length=4 * MIB))),
    "half-open TLS": (300, lambda port: drip(port, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", secure=False)),
    "idle connections": (5_000, lambda port: hold(port, secure=False)),
    "idle TLS connections": (600, lambda port: hold(port, secure=True)),
    "TLS handshakes": (20, shake_hands),
    "pipelining": (20, pipeline),
    "garbage before TLS": (20, garbage),
    "made-up Jobs": (20, ask_about_made_up_jobs),
}


async def _again(attack: Attack, port: int) -> None:
    while True:
        try:
            await attack(port)
        except (OSError, asyncio.IncompleteReadError):
            await asyncio.sleep(0.2)


async def _run(case: str, port: int, seconds: float) -> None:
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    how_many, attack = CASES[case]
    tasks = []
    try:
        async with asyncio.timeout(seconds):
            for _ in range(how_many):
                tasks.append(asyncio.create_task(_again(attack, port)))
                await asyncio.sleep(0.0005)  # a machine of two cores has other things to do
            await asyncio.Event().wait()
    except TimeoutError:
        for task in tasks:
            task.cancel()


if __name__ == "__main__":
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 16_384), hard))
    asyncio.run(_run(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
