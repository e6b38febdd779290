"""Readiness, in one sentence."""

import asyncio

import pytest

from muster.runtime.health import ADMISSION, API, Health


def test_muster_is_ready_when_every_announced_part_is_well() -> None:
    health = Health()
    health.announce(API, "not asked yet")
    health.announce(ADMISSION, "not registered yet")
    assert (health.ready, health.sentence) == (False, "not ready: not asked yet; not registered yet")
    health.well(API)
    assert not health.ready
    health.well(ADMISSION)
    assert (health.ready, health.sentence) == (True, "ready")


def test_a_problem_is_logged_when_it_changes_and_not_again(caplog: pytest.LogCaptureFixture) -> None:
    health = Health()
    for _ in range(3):
        health.problem(API, "gone")
    health.problem(API, "forbidden")
    assert [record.message for record in caplog.records] == ["not ready: gone", "not ready: forbidden"]
    assert health.sentence == "not ready: forbidden"
    assert not health.is_well(API)


async def test_a_waiter_goes_on_when_all_its_parts_are_well() -> None:
    health = Health()
    health.announce(API, "a")
    health.announce(ADMISSION, "b")
    both = asyncio.create_task(health.wait_until_well(API, ADMISSION))
    one = asyncio.create_task(health.wait_until_well(API))
    await asyncio.sleep(0)
    health.well(API)
    await asyncio.wait_for(one, 1)
    await asyncio.sleep(0)
    assert not both.done()
    health.well(ADMISSION)
    await asyncio.wait_for(both, 1)


async def test_a_problem_that_comes_back_is_waited_for_again() -> None:
    health = Health()
    health.announce(API, "a")
    waiting = asyncio.create_task(health.wait_until_well(API))
    await asyncio.sleep(0)
    health.well(API)
    health.problem(API, "again")
    await asyncio.sleep(0)
    assert not waiting.done()
    health.well(API)
    await asyncio.wait_for(waiting, 1)
