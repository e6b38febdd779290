"""Calls of different urgency never wait for each other, and work that is shared uses the more urgent lane."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from muster.kube.http import HttpClient
from muster.kube.lanes import CALLS_AT_ONCE, Lane, LaneWork, Places, current_work, in_lane, within
from muster.kube.resources import JOBS, LEASES, PODS
from tests.unit.kube.misbehaving import Server


@asynccontextmanager
async def crowded(places: Places, lane: Lane) -> AsyncIterator[None]:
    """Every place of the lane is taken."""
    work, leave = LaneWork(lane), asyncio.Event()

    async def stay() -> None:
        async with places.take(work):
            await leave.wait()

    crowd = [asyncio.create_task(stay()) for _ in range(CALLS_AT_ONCE[lane])]
    await asyncio.sleep(0)
    try:
        yield
    finally:
        leave.set()
        await asyncio.gather(*crowd)


async def used(places: Places, work: LaneWork) -> Lane:
    async with places.take(work) as lane:
        return lane


@pytest.mark.parametrize("full", Lane)
async def test_a_full_lane_delays_no_other(full: Lane) -> None:
    places = Places()
    async with crowded(places, full):
        for lane in set(Lane) - {full}:
            assert await asyncio.wait_for(used(places, LaneWork(lane)), 1) is lane
        waiting = asyncio.create_task(used(places, LaneWork(full)))
        await asyncio.sleep(0.01)
        assert not waiting.done()
    assert await asyncio.wait_for(waiting, 1) is full


async def test_hurried_work_moves_to_the_faster_lane() -> None:
    places, work = Places(), LaneWork(Lane.BACKGROUND)
    async with crowded(places, Lane.BACKGROUND):
        waiting = [asyncio.create_task(used(places, work)) for _ in range(3)]
        await asyncio.sleep(0.01)
        work.hurry(Lane.ADMISSION)
        assert set(await asyncio.wait_for(asyncio.gather(*waiting), 1)) == {Lane.ADMISSION}
        assert await asyncio.wait_for(used(places, work), 1) is Lane.ADMISSION, "and so do its next calls"


def test_work_is_never_slowed_down() -> None:
    work = LaneWork(Lane.ADMISSION)
    work.hurry(Lane.BACKGROUND)
    assert work.lane is Lane.ADMISSION


@pytest.mark.parametrize("hurry", [False, True])
async def test_a_cancelled_waiter_takes_no_place(hurry: bool) -> None:
    places = Places()
    async with crowded(places, Lane.BACKGROUND):
        work = LaneWork(Lane.BACKGROUND)
        waiting = [asyncio.create_task(used(places, work)) for _ in range(5)]
        await asyncio.sleep(0.01)
        for each in waiting:
            each.cancel()
        if hurry:
            work.hurry(Lane.ADMISSION)
        await asyncio.gather(*waiting, return_exceptions=True)
    for lane in (Lane.BACKGROUND, Lane.ADMISSION):
        async with crowded(places, lane):
            pass
        async with asyncio.timeout(1), crowded(places, lane):
            assert places._free[lane].locked()


async def test_a_waiter_that_is_cancelled_on_its_turn_gives_its_place_back() -> None:
    places = Places()
    async with crowded(places, Lane.BACKGROUND):
        waiting = asyncio.create_task(used(places, LaneWork(Lane.BACKGROUND)))
        await asyncio.sleep(0.01)
    for _ in range(3):
        waiting.cancel()
        await asyncio.sleep(0)
    async with asyncio.timeout(1), crowded(places, Lane.BACKGROUND):
        assert places._free[Lane.BACKGROUND].locked()
    assert not places._free[Lane.BACKGROUND].locked()


async def test_tasks_inherit_the_lane_and_nothing_leaks_out_of_it() -> None:
    @in_lane(Lane.CONTROL)
    async def probe() -> Lane:
        return await asyncio.create_task(lane_here())

    async def lane_here() -> Lane:
        return current_work().lane

    assert await lane_here() is Lane.BACKGROUND
    assert await probe() is Lane.CONTROL
    async with in_lane(Lane.ADMISSION):
        assert await probe() is Lane.CONTROL
        assert await lane_here() is Lane.ADMISSION
        assert await asyncio.create_task(within(LaneWork(Lane.BACKGROUND), lane_here())) is Lane.BACKGROUND
    assert await lane_here() is Lane.BACKGROUND


async def test_a_flood_of_eager_calls_delays_neither_the_lease_nor_a_webhook(
    server: Server, client: HttpClient
) -> None:
    let_go, held = asyncio.Event(), 0

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal held
        if request.path.endswith("/jobs"):
            held += 1
            await let_go.wait()
        return web.json_response({})

    server.handler = answer
    flood = [asyncio.create_task(client.list(JOBS)) for _ in range(300)]
    async with asyncio.timeout(30):
        while held < CALLS_AT_ONCE[Lane.BACKGROUND]:  # noqa: ASYNC110 - the server counts
            await asyncio.sleep(0.01)
        async with in_lane(Lane.CONTROL):
            await client.get(LEASES, "muster-system", "muster")
        async with in_lane(Lane.ADMISSION):
            await asyncio.gather(*(client.list(PODS) for _ in range(100)))
        assert held == CALLS_AT_ONCE[Lane.BACKGROUND], "the rest waits for its turn, and not for the API server"
        let_go.set()
        await asyncio.gather(*flood)
