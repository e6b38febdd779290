"""A task that dies starts again, one that keeps dying makes the replica not ready, and nothing ends by accident."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from muster.runtime.health import Health
from muster.runtime.internal_errors import InternalErrors
from muster.runtime.metrics import Metrics
from muster.runtime.supervisor import Backoff, EndOfGeneration, Supervisor
from muster.runtime.tasks import Task

STEADY_SECONDS = 0.1


@dataclass
class Stage:
    health: Health = field(default_factory=Health)
    metrics: Metrics = field(default_factory=Metrics)
    slept: list[float] = field(default_factory=list)
    runs: int = 0

    def __post_init__(self) -> None:
        self.supervisor = Supervisor(self.health, InternalErrors(self.metrics), steady_seconds=STEADY_SECONDS)

    def dying(self, times: int, then: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
        async def work() -> None:
            self.runs += 1
            if self.runs <= times:
                raise ZeroDivisionError("bug")
            await then()

        return work

    def counted(self, name: str) -> float:
        return self.metrics._registry.get_sample_value(name, {"task": "resync"}) or 0.0


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    made, sleep = Stage(), asyncio.sleep

    async def at_once(seconds: float) -> None:
        made.slept.append(seconds)
        await sleep(0)

    monkeypatch.setattr("muster.runtime.supervisor.asyncio.sleep", at_once)
    monkeypatch.setattr("muster.runtime.supervisor.random.uniform", lambda low, high: high)
    return made


async def forever() -> None:
    await asyncio.Event().wait()


async def a_moment() -> None:
    return None


async def until(check: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not check():
            await asyncio.wait([asyncio.ensure_future(asyncio.Event().wait())], timeout=0.01)


async def test_a_task_that_dies_once_is_logged_counted_and_started_again(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    await stage.supervisor.run(Task.RESYNC, stage.dying(1, a_moment))
    assert (stage.runs, stage.slept) == (2, [1.0])
    assert stage.counted("muster_task_restarts_total") == stage.counted("muster_internal_errors_total") == 1
    assert "resync: the task died and starts again: unexpected error: ZeroDivisionError: bug" in caplog.text
    assert "test_supervisor.py" in caplog.text, "the place is named"
    assert stage.health.ready


async def test_a_task_that_keeps_dying_makes_the_replica_not_ready_until_it_runs_steadily(stage: Stage) -> None:
    running = asyncio.create_task(stage.supervisor.run(Task.RESYNC, stage.dying(3, forever)))
    await until(lambda: not stage.health.ready)
    assert stage.health.sentence == (
        "not ready: the task resync keeps failing with ZeroDivisionError, which is a bug in Muster; its log says where"
    )
    await until(lambda: stage.health.ready)
    assert stage.slept == [1.0, 2.0, 4.0]
    running.cancel()


async def test_two_deaths_of_a_task_leave_the_replica_ready(stage: Stage) -> None:
    running = asyncio.create_task(stage.supervisor.run(Task.RESYNC, stage.dying(2, forever)))
    await until(lambda: stage.runs == 3)
    assert stage.health.ready
    running.cancel()


async def test_a_steady_run_makes_the_next_death_the_first(stage: Stage) -> None:
    async def die_after_a_while() -> None:
        stage.runs += 1
        if stage.runs > 5:
            return
        await asyncio.wait([asyncio.ensure_future(asyncio.Event().wait())], timeout=2 * STEADY_SECONDS)
        raise ZeroDivisionError("bug")

    await stage.supervisor.run(Task.RESYNC, die_after_a_while)
    assert stage.slept == [1.0] * 5
    assert stage.health.ready


async def test_cancellation_ends_a_task_and_leaves_no_problem(stage: Stage) -> None:
    running = asyncio.create_task(stage.supervisor.run(Task.RESYNC, stage.dying(3, forever)))
    await until(lambda: not stage.health.ready)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert stage.health.ready, "the next generation begins without the problems of this one"


async def test_a_task_that_dies_while_it_is_cancelled_does_not_start_again(stage: Stage) -> None:
    async def stumble() -> None:
        stage.runs += 1
        try:
            await forever()
        finally:
            raise ZeroDivisionError("bug")

    running = asyncio.create_task(stage.supervisor.run(Task.RESYNC, stumble))
    await until(lambda: stage.runs == 1)
    running.cancel()
    await asyncio.wait({running}, timeout=1)
    assert (running.done(), stage.runs) == (True, 1)


async def test_an_unrequested_cancellation_is_a_death_like_any_other(stage: Stage) -> None:
    async def stray() -> None:
        stage.runs += 1
        if stage.runs == 1:
            raise asyncio.CancelledError

    await stage.supervisor.run(Task.RESYNC, stray)
    assert stage.runs == 2


async def test_the_end_of_a_generation_passes_and_ends_the_others(stage: Stage) -> None:
    ended: list[str] = []

    class Changed(EndOfGeneration):
        pass

    async def change() -> None:
        await asyncio.wait([asyncio.ensure_future(asyncio.Event().wait())], timeout=0.01)
        raise Changed

    async def other() -> None:
        try:
            await forever()
        finally:
            ended.append("other")

    with pytest.raises(ExceptionGroup) as raised:
        async with asyncio.timeout(5):
            await stage.supervisor.run_all({Task.API_PROBE: change, Task.RESYNC: other})
    assert raised.group_contains(Changed)
    assert ended == ["other"]
    assert stage.counted("muster_task_restarts_total") == 0


async def test_one_task_s_death_does_not_touch_the_others(stage: Stage) -> None:
    starts: list[str] = []

    async def other() -> None:
        starts.append("other")
        await forever()

    running = asyncio.create_task(
        stage.supervisor.run_all({Task.RESYNC: stage.dying(10, forever), Task.API_PROBE: other})
    )
    await until(lambda: stage.runs == 11)
    assert starts == ["other"]
    assert max(stage.slept) <= 30.0
    running.cancel()


def test_the_backoff_doubles_is_bounded_and_jittered() -> None:
    backoff = Backoff(1.0, 30.0)
    first = [backoff.next() for _ in range(10)]
    bounds = [min(2.0**nth, 30.0) for nth in range(10)]
    assert all(bound / 2 <= seconds <= bound for seconds, bound in zip(first, bounds, strict=True))
    backoff.reset()
    assert backoff.next() <= 1.0
