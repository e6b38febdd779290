"""Reading the bodies of requests: so large, within so much time, and so many bytes of all of them at once."""

import asyncio
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

from aiohttp import web

KIB, MIB = 1024, 1024 * 1024
SMALL_BYTES = 64 * KIB
"""Bodies up to this size are not counted: the number of connections bounds them. Nearly all honest ones are smaller."""
LARGE_BYTES = 16 * MIB
"""What all larger ones may have together."""
BYTES_PER_SECOND = 8 * MIB
"""How fast all larger ones are read together. TLS takes time, and small ones need it more."""
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
    """Reads request bodies within bounds of bytes and time.

    Owns the list of large bodies that are being read; together they take at most `total` bytes.
    """

    def __init__(self, total: int = LARGE_BYTES, seconds: float = BODY_SECONDS) -> None:
        self._total, self._seconds = total, seconds
        self._large: dict[_Body, None] = {}
        """The oldest first."""
        self._free_at = 0.0
        """When all that was read so far is paid for."""

    async def read(self, request: web.Request, limit: int) -> bytes:
        """The body. Raises the HTTP answer to one that is too large or too slow, or made room for another one."""
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
        except (web.RequestPayloadError, OSError):  # nobody is left to read this; aiohttp would log anything else
            raise web.HTTPBadRequest(text="the body is not complete\n") from None
        finally:
            self._large.pop(body, None)
        return bytes(body.content)

    async def _hold(self, body: _Body, more: int) -> None:
        """While this waits, aiohttp stops reading from the connection."""
        self._large[body] = None
        while sum(len(each.content) for each in self._large) > self._total and self._drop_one():
            pass
        now = asyncio.get_running_loop().time()
        self._free_at = max(now, self._free_at) + more / BYTES_PER_SECOND
        with suppress(TimeoutError):
            await asyncio.wait_for(body.dropped.wait(), self._free_at - now)
            raise ConnectionAbortedError("its place went to another body")

    def _drop_one(self) -> bool:
        """The oldest one of the peer that has the most: an honest one takes milliseconds."""
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
