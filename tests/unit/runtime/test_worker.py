"""One key's failure concerns no other key, and no failure ends the workers."""

import asyncio
from collections.abc import Callable

import pytest

from muster.api.keys import JobKey
from muster.api.wire import Unreadable
from muster.kube.errors import NotFound, ServerFault
from muster.runtime.internal_errors import MAX_FRAMES, InternalErrors
from muster.runtime.metrics import Metrics
from muster.runtime.tasks import Task
from muster.runtime.worker import TryAgain, Workers
from muster.runtime.workqueue import WorkQueue

GOOD, BAD = JobKey("default", "good"), JobKey("default", "bad")


class Stage:
    def __init__(self, *errors: BaseException, on_bug: Callable[[JobKey, BaseException], None] | None = None) -> None:
        self.errors, self.metrics, self.queue = list(errors), Metrics(), WorkQueue[JobKey]()
        self.handled: list[str] = []
        self.retried: list[tuple[str, float]] = []
        self.queue.retry = self.retry  # type: ignore[method-assign]
        self.workers = Workers(Task.JOBS, self.queue, self.handle, InternalErrors(self.metrics), count=2, on_bug=on_bug)

    def retry(self, key: JobKey, at_least_seconds: float = 0.0) -> None:
        self.retried.append((key.name, at_least_seconds))

    async def handle(self, key: JobKey) -> None:
        if key == BAD and self.errors:
            raise self.errors.pop(0)
        self.handled.append(key.name)

    async def work(self) -> None:
        running = asyncio.create_task(self.workers.run())
        await asyncio.sleep(0.02)
        assert not running.done(), "whatever goes wrong, the workers live"
        running.cancel()

    def bugs(self) -> float | None:
        return self.metrics._registry.get_sample_value("muster_internal_errors_total", {"task": "jobs"})


FAILURES = {
    "an error of the API server is tried again": (NotFound("x"), 0.0, 0),
    "the server says when": (ServerFault("x", 7.0), 7.0, 0),
    "what is not done yet is tried again": (TryAgain("x"), 0.0, 0),
    "so is an object that somebody wrote wrong": (Unreadable("x"), 0.0, 0),
    "a bug is counted and tried again": (ZeroDivisionError("x"), 0.0, 1),
    "so is a cancellation that nobody asked for": (asyncio.CancelledError(), 0.0, 1),
}


@pytest.mark.parametrize(("error", "seconds", "bugs"), FAILURES.values(), ids=list(FAILURES))
async def test_a_key_that_fails_is_tried_again_and_concerns_no_other(
    error: BaseException, seconds: float, bugs: int, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage(error)
    for key in (BAD, GOOD):
        stage.queue.add(key)
    await stage.work()
    assert (stage.handled, stage.retried, stage.bugs()) == (["good"], [("bad", seconds)], bugs)
    assert "default/bad: " in caplog.text
    stage.queue.add(BAD)
    await stage.work()
    assert stage.handled == ["good", "bad"], "the key was given back"


async def test_a_bug_handler_gets_the_key_and_the_error() -> None:
    seen: list[tuple[JobKey, BaseException]] = []
    error = ZeroDivisionError("x")
    stage = Stage(error, on_bug=lambda *bug: seen.append(bug))
    stage.queue.add(BAD)
    await stage.work()
    assert seen == [(BAD, error)]


async def test_the_same_bug_on_many_keys_logs_its_place_once(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(*(ZeroDivisionError("x") for _ in range(5)))
    for _ in range(5):
        await stage.workers.handle_or_retry(BAD)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 5
    assert sum("test_worker.py" in line for line in lines) == 1


def test_what_a_bug_quotes_is_bounded_and_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    def deep(levels: int) -> None:
        if levels:
            deep(levels - 1)
        raise ValueError("first\nsecond\x1b[31m" + "x" * 100_000)

    errors = InternalErrors(Metrics())
    try:
        deep(200)
    except ValueError as error:
        errors.note(Task.JOBS, "y\n" * 10_000, error)
    (record,) = caplog.records
    text = record.getMessage()
    assert text.isprintable()
    assert text.count("deep") == MAX_FRAMES
    assert len(text) < 3_000
