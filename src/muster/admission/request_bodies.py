"""Reads request bodies, with limits on the size, the time and the total bytes in memory."""

import asyncio
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

from aiohttp import web

KIB, MIB = 1024, 1024 * 1024
SMALL_BYTES = 64 * KIB
"""Smaller bodies do not count: the limit of connections bounds them. Nearly all bodies of an API server are smaller."""
LARGE_BYTES = 16 * MIB
"""Limit of all larger bodies together."""
BYTES_PER_SECOND = 8 * MIB
"""Read rate of all larger bodies together. TLS costs CPU time, which small bodies need more."""
BODY_SECONDS = 5.0


@dataclass(slots=True, eq=False)
class _Body:
    request: web.Request
    content: bytearray = field(default_factory=bytearray)
    dropped: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def peer(self) -> str:
        return self.request.remote or ""


class BodyReader:
    """Reads request bodies within limits of bytes and time.

    Owns the list of large bodies that are being read; together they have at most `total` bytes.
    """

    def __init__(self, total: int = LARGE_BYTES, seconds: float = BODY_SECONDS) -> None:
        self._total, self._seconds = total, seconds
        self._large: dict[_Body, None] = {}
        """Oldest first."""
        self._free_at = 0.0
        """When the rate limit allows the next read."""

    async def read(self, request: web.Request, limit: int) -> bytes:
        """The body. Raises an HTTP error if it is too large, too slow, or dropped in favour of another body."""
        too_large = web.HTTPRequestEntityTooLarge(limit, text=f"the body has more than {limit} bytes\n")
        if (request.content_length or 0) > limit:
            raise too_large
        body = _Body(request)
        try:
            async with asyncio.timeout(self._seconds):
                async for chunk in request.content.iter_any():
                    body.content += chunk
                    if len(body.content) > limit:
                        raise too_large
                    if len(body.content) > SMALL_BYTES:
                        await self._hold(body, len(chunk))
        except TimeoutError:
            raise web.HTTPRequestTimeout(text=f"the body did not arrive within {self._seconds:g} s\n") from None
        except (web.RequestPayloadError, OSError):  # the peer is gone; aiohttp would log another exception
            raise web.HTTPBadRequest(text="the body is not complete\n") from None
        finally:
            self._large.pop(body, None)
        return bytes(body.content)

    async def _hold(self, body: _Body, more: int) -> None:
        """Wait for the rate limit. During that time aiohttp stops reading from the connection."""
        self._large[body] = None
        while sum(len(each.content) for each in self._large) > self._total and self._drop_one():
            pass
        now = asyncio.get_running_loop().time()
        self._free_at = max(now, self._free_at) + more / BYTES_PER_SECOND
        with suppress(TimeoutError):
            await asyncio.wait_for(body.dropped.wait(), self._free_at - now)
            raise ConnectionAbortedError("the body was dropped to make room for another one")

    def _drop_one(self) -> bool:
        """Drop the oldest body of the peer that uses the most memory: an API server needs only milliseconds."""
        of_peer = Counter[str]()
        for each in self._large:
            of_peer[each.peer] += len(each.content)
        victim = max(self._large, key=lambda each: of_peer[each.peer], default=None)
        if victim is None:
            return False
        if victim.request.transport is not None:
            victim.request.transport.abort()
        del self._large[victim]
        victim.content.clear()
        victim.dropped.set()
        return True
