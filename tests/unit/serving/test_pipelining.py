"""One request at a time: a peer that does not wait for the answer gets no other one."""

import asyncio

from aiohttp import web

from tests.unit.serving.test_connections import FEW, GET, POST, answered, closed, connect, listening


async def test_a_peer_that_sends_many_requests_at_once_gets_one_answer() -> None:
    """aiohttp would answer all of them before any other connection gets its turn."""
    asked = 0

    async def counting(_: web.Request) -> web.Response:
        nonlocal asked
        asked += 1
        return web.Response(text="hello")

    async with listening(FEW, counting) as port:
        reader, _ = await connect(port.port, first=GET * 50)
        received = await asyncio.wait_for(reader.read(), 5)
        assert asked == 1
        assert received.startswith(b"HTTP/1.1 200")
        assert received.count(b"HTTP/1.1 400") == received.count(b"HTTP/1.1 ") - 1 == 1
        assert received.endswith(b"send the next request after the answer\n")


async def test_a_peer_that_does_not_wait_for_the_answer_is_dropped() -> None:
    answer = asyncio.Event()

    async def slow(_: web.Request) -> web.Response:
        await answer.wait()
        return web.Response(text="hello")

    async with listening(FEW, slow) as port:
        hasty = await connect(port.port, first=GET)
        hasty[1].write(GET)
        assert await closed(hasty)
        patient = await connect(port.port, first=GET)
        answer.set()
        assert await patient[0].readuntil(b"hello")
        assert await answered(patient)


async def test_a_body_may_come_in_any_number_of_parts() -> None:
    async def echo(request: web.Request) -> web.Response:
        return web.Response(text=f"hello {len(await request.read())}")

    async with listening(FEW, echo) as port:
        streams = await connect(port.port)
        for _ in range(3):
            for part in (POST[:20].encode(), POST[20:].encode() % 4, b"a", b"bc", b"d"):
                streams[1].write(part)
                await asyncio.sleep(0.005)
            assert await asyncio.wait_for(streams[0].readuntil(b"hello 4"), 5)
