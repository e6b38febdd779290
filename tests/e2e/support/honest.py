"""An API server that asks the webhook at a steady rate: `python -m tests.e2e.support.honest PORT SECONDS < request`.

It keeps some connections open, as an API server does. Prints what it got as JSON. Times count from the moment at which
a review was due: one that waits for a slow one before it is late.
"""

import asyncio
import json
import ssl
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[3]
PER_SECOND = 100
CONNECTIONS = 4
PATIENCE_SECONDS = 10.0


@dataclass
class Outcome:
    seconds: list[float] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    @property
    def p99(self) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]


class Honest:
    """Running while the block runs; after it the outcome is there."""

    def __init__(self, port: int, seconds: float, request: bytes) -> None:
        command = [sys.executable, "-m", "tests.e2e.support.honest", str(port), str(seconds)]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert self._process.stdin is not None
        self._process.stdin.write(request)
        self._process.stdin.close()
        self._process.stdin = None

    def outcome(self, seconds: float) -> Outcome:
        try:
            output, errors = self._process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise
        assert self._process.returncode == 0, errors.decode()
        return Outcome(**json.loads(output))


async def _ask(connections: "asyncio.Queue[Streams]", request: bytes, due: float, outcome: Outcome) -> None:
    loop = asyncio.get_running_loop()
    streams = await connections.get()
    reader, writer = streams
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            writer.write(request)
            header = await reader.readuntil(b"\r\n\r\n")
            length = next(line for line in header.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            body = await reader.readexactly(int(length.partition(b":")[2]))
        if b'"allowed":true' not in body or b'"patch"' not in body:
            outcome.lost.append(body.decode(errors="replace")[:300])
        outcome.seconds.append(loop.time() - due)
    except (OSError, TimeoutError, EOFError) as error:
        outcome.lost.append(repr(error))
        writer.transport.abort()
        streams = await _connect(writer.get_extra_info("peername")[1])
    connections.put_nowait(streams)


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _connect(port: int) -> Streams:
    trust = ssl.create_default_context()
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    return await asyncio.open_connection("127.0.0.1", port, ssl=trust)


async def _run(port: int, seconds: float, request: bytes) -> Outcome:
    loop, outcome = asyncio.get_running_loop(), Outcome()
    connections: asyncio.Queue[Streams] = asyncio.Queue()
    for _ in range(CONNECTIONS):
        connections.put_nowait(await _connect(port))
    begun = loop.time()
    async with asyncio.TaskGroup() as group:
        for number in range(int(seconds * PER_SECOND)):
            due = begun + number / PER_SECOND
            await asyncio.sleep(max(0.0, due - loop.time()))
            group.create_task(_ask(connections, request, due, outcome))
    return outcome


if __name__ == "__main__":
    result = asyncio.run(_run(int(sys.argv[1]), float(sys.argv[2]), sys.stdin.buffer.read()))
    print(json.dumps(vars(result)))
