"""The work of the leader: keys are taken only while this replica leads."""

import asyncio

from muster.app.leader_work import LeaderWork
from muster.runtime.tasks import Task
from muster.runtime.workqueue import WorkQueue
from tests.unit.controllers.parts import a_supervisor


async def test_queues_are_open_while_the_work_runs_and_closed_afterwards() -> None:
    queues, calls = (WorkQueue[str](), WorkQueue[str]()), list[str]()

    async def work() -> None:
        assert all(queue.is_open for queue in queues)
        calls.append("work")
        await asyncio.Event().wait()

    leader_work = LeaderWork(
        a_supervisor(), {Task.JOBS: work}, queues, lambda: calls.append("start"), lambda: calls.append("pause")
    )
    leader_work.pause()
    assert not any(queue.is_open for queue in queues)
    running = asyncio.create_task(leader_work.run())
    await asyncio.sleep(0.01)
    queues[0].add("key")
    running.cancel()
    await asyncio.wait({running})
    assert calls == ["pause", "start", "work", "pause"]
    assert [(queue.is_open, len(queue)) for queue in queues] == [(False, 0), (False, 0)]
