"""The work queue keeps client-go's promises."""

import asyncio

import pytest

from muster.runtime.workqueue import FIRST_RETRY_SECONDS, LONGEST_RETRY_SECONDS, WorkQueue


async def taken(queue: WorkQueue[str]) -> str:
    return await asyncio.wait_for(queue.get(), 2)


async def is_idle(queue: WorkQueue[str]) -> bool:
    try:
        await asyncio.wait_for(queue.get(), 0.05)
    except TimeoutError:
        return True
    return False


async def test_a_key_that_is_added_twice_is_worked_on_once() -> None:
    queue = WorkQueue[str]()
    queue.add("a")
    queue.add("a")
    queue.add("b")
    assert [await taken(queue), await taken(queue)] == ["a", "b"]
    assert await is_idle(queue)


async def test_one_worker_at_a_time_has_a_key_and_it_returns_if_added_meanwhile() -> None:
    queue = WorkQueue[str]()
    queue.add("a")
    assert await taken(queue) == "a"
    queue.add("a")
    assert await is_idle(queue), "nobody else may work on it now"
    queue.done("a")
    assert await taken(queue) == "a"
    queue.done("a")
    assert await is_idle(queue)


async def test_a_waiting_worker_wakes_up() -> None:
    queue = WorkQueue[str]()
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add("a")
    assert await asyncio.wait_for(waiting, 1) == "a"


async def test_a_delayed_key_is_due_after_its_delay() -> None:
    queue, loop = WorkQueue[str](), asyncio.get_running_loop()
    started = loop.time()
    queue.add_after("late", 0.06)
    queue.add_after("early", 0.03)
    assert [await taken(queue), await taken(queue)] == ["early", "late"]
    assert loop.time() - started >= 0.055


async def test_the_earliest_delay_counts() -> None:
    queue = WorkQueue[str]()
    queue.add_after("a", 60)
    queue.add_after("a", 0.01)
    queue.add_after("a", 30)
    assert await taken(queue) == "a"
    queue.done("a")
    assert await is_idle(queue), "the later times are forgotten"


async def test_a_key_that_is_added_is_no_longer_delayed() -> None:
    queue = WorkQueue[str]()
    queue.add_after("a", 0.02)
    queue.add("a")
    assert await taken(queue) == "a"
    queue.done("a")
    assert await is_idle(queue)


def delays(monkeypatch: pytest.MonkeyPatch, queue: WorkQueue[str], jitter: float) -> list[float]:
    """The waiting times of the next retries, without the waiting."""
    seen: list[float] = []
    monkeypatch.setattr("muster.runtime.workqueue.random.uniform", lambda low, high: low + jitter * (high - low))
    monkeypatch.setattr(queue, "add_after", lambda key, seconds: seen.append(seconds))
    return seen


async def test_each_failure_waits_twice_as_long_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = WorkQueue[str]()
    seen = delays(monkeypatch, queue, jitter=1.0)
    for _ in range(40):
        queue.retry("a")
    assert seen[:4] == [FIRST_RETRY_SECONDS * factor for factor in (1, 2, 4, 8)]
    assert seen[-1] == LONGEST_RETRY_SECONDS
    queue.retry("b")
    assert seen[-1] == FIRST_RETRY_SECONDS, "each key for itself"


async def test_retries_are_spread_and_never_shorter_than_the_server_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = WorkQueue[str]()
    seen = delays(monkeypatch, queue, jitter=0.0)
    queue.retry("a")
    queue.retry("a", at_least_seconds=30)
    assert seen == [FIRST_RETRY_SECONDS / 2, 30]


async def test_forgetting_a_key_resets_its_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = WorkQueue[str]()
    seen = delays(monkeypatch, queue, jitter=1.0)
    queue.retry("a")
    queue.retry("a")
    queue.forget("a")
    queue.retry("a")
    assert seen[-1] == FIRST_RETRY_SECONDS


async def test_a_closed_queue_forgets_and_takes_nothing() -> None:
    queue = WorkQueue[str]()
    queue.add("before")
    queue.add_after("soon", 0.01)
    queue.close()
    queue.add("meanwhile")
    queue.retry("meanwhile")
    queue.add_after("meanwhile", 0.0)
    await asyncio.sleep(0.03)
    assert len(queue) == 0
    queue.open()
    queue.add("after")
    assert await queue.get() == "after"


async def test_a_key_in_work_can_be_queued_again_after_a_close() -> None:
    queue = WorkQueue[str]()
    queue.add("key")
    assert await queue.get() == "key"
    queue.add("key")
    queue.close()
    queue.done("key")
    assert len(queue) == 0
    queue.open()
    queue.add("key")
    assert await queue.get() == "key"


async def test_a_closed_queue_reports_each_key_that_it_ignores() -> None:
    ignored: list[str] = []
    queue = WorkQueue[str](on_ignored=ignored.append)
    queue.add("before")
    queue.close()
    queue.add("added")
    queue.add_after("delayed", 0.0)
    queue.retry("failed")
    assert ignored == ["added", "delayed", "failed"]
    queue.open()
    queue.add("after")
    assert (len(queue), len(ignored)) == (1, 3)
