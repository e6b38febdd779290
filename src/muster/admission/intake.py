"""Reading the bodies of requests: so large, within so much time, and so many bytes of all of them at once."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from aiohttp import web

KIB, MIB = 1024, 1024 * 1024
SMALL_BYTES = 64 * KIB
"""Bodies up to this size are not counted: the number of connections bounds them. Nearly all honest ones are smaller."""
LARGE_BYTES = 32 * MIB
"""What all larger ones may have together."""
BYTES_PER_SECOND = 32 * MIB
"""How fast all larger ones are read together. TLS takes time, and small ones need it more."""
BODY_SECONDS = 5.0


@dataclass(frozen=True, slots=True, eq=False)
class _Body:
    request: web.Request
    size: int

    @property
    def peer(self) -> str:
        return self.request.remote or ""


class Intake:
    def __init__(self, total: int = LARGE_BYTES, seconds: float = BODY_SECONDS) -> None:
        self._total, self._seconds = total, seconds
        self._large: dict[_Body, None] = {}
        """The oldest first."""
        self._of_peer = Counter[str]()
        self._free_at = 0.0
        """When all that was read so far is paid for."""

    async def read(self, request: web.Request, limit: int) -> bytes:
        """The body. Raises the HTTP answer to one that is too large, too slow, or made room for another one."""
        announced = request.content_length
        if announced is not None and announced > limit:
            raise web.HTTPRequestEntityTooLarge(limit, text=f"the body has more than {limit} bytes\n")
        body = bytearray()
        try:
            with self._room(request, limit if announced is None else announced):
                async with asyncio.timeout(self._seconds):
                    async for chunk in request.content.iter_any():
                        body += chunk
                        if len(body) > SMALL_BYTES:
                            await self._pace(len(chunk))
                        if len(body) > limit:
                            raise web.HTTPRequestEntityTooLarge(limit, text=f"the body has more than {limit} bytes\n")
        except TimeoutError:
            raise web.HTTPRequestTimeout(text=f"the body did not arrive within {self._seconds:g} s\n") from None
        except (web.RequestPayloadError, OSError):  # nobody is left to read this; aiohttp would log anything else
            raise web.HTTPBadRequest(text="the body is not complete\n") from None
        return bytes(body)

    async def _pace(self, size: int) -> None:
        """While this waits, aiohttp stops reading from the connection."""
        now = asyncio.get_running_loop().time()
        self._free_at = max(now, self._free_at) + size / BYTES_PER_SECOND
        await asyncio.sleep(self._free_at - now)

    @contextmanager
    def _room(self, request: web.Request, size: int) -> Iterator[None]:
        if size <= SMALL_BYTES:
            yield
            return
        while self._large and sum(each.size for each in self._large) + size > self._total:
            self._drop_one()
        body = _Body(request, size)
        self._large[body] = None
        self._of_peer[body.peer] += size
        try:
            yield
        finally:
            self._release(body)

    def _drop_one(self) -> None:
        """The oldest one of the peer that has the most: an honest one takes milliseconds."""
        victim = max(self._large, key=lambda each: self._of_peer[each.peer])
        if victim.request.transport is not None:
            victim.request.transport.abort()
        self._release(victim)

    def _release(self, body: _Body) -> None:
        if self._large.pop(body, self) is None:
            self._of_peer -= Counter({body.peer: body.size})
