"""Work that outlives its callers ends before the connection to the API server does."""

import asyncio
import time

import pytest

from muster.runtime.background import BackgroundTasks
from tests.builders import a_gang
from tests.fake_cluster import FakeClient, FakeCluster
from tests.oracles import created_by_us
from tests.unit.controllers.parts import build

JOB = a_gang("train").uid("now")


async def test_the_exit_waits_for_running_tasks() -> None:
    done = []

    async def work() -> None:
        await asyncio.sleep(0.01)
        done.append("first")
        background.begin(more(), "more")

    async def more() -> None:
        await asyncio.sleep(0.01)
        done.append("what it led to")

    async with BackgroundTasks() as background:
        background.begin(work(), "work")
    assert done == ["first", "what it led to"]


async def test_a_task_that_does_not_end_is_cancelled_in_time() -> None:
    began = time.monotonic()
    async with BackgroundTasks(seconds=0.05) as background:
        stuck = background.begin(asyncio.sleep(60), "stuck")
    assert stuck.cancelled()
    assert time.monotonic() - began < 1


async def test_a_failed_background_task_logs_no_traceback(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise ValueError("nobody looks at this")

    async with BackgroundTasks() as background:
        background.begin(fail(), "fail")
    await asyncio.sleep(0)
    assert not caplog.records


async def test_muster_finishes_a_gang_before_the_connection_closes() -> None:
    """Seen at a restart: the connection closed under it, with a traceback in the log."""
    cluster = FakeCluster()
    cluster.apply(JOB)
    gang_former = build(FakeClient(cluster)).gang_former
    gang_former.jobs.cache.put_job(JOB.view())
    async with gang_former.background:
        caller = asyncio.create_task(gang_former.ensure(JOB.ref))
        await asyncio.sleep(0)
        caller.cancel()
        await asyncio.sleep(0)
    assert len(created_by_us(cluster)) == 2
