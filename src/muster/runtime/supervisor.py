"""The supervisor of Muster's long-lived tasks.

It logs and counts a task that dies of an unexpected exception, and restarts it with backoff. A task that keeps dying
makes the replica not ready until it has run for `STEADY_SECONDS`.

A supervised task ends only by:
- cancellation: SIGTERM and SIGINT end the process (app/process.py), and the loss of the Lease ends the leader's work;
- its own return: it has nothing left to do;
- `EndOfGeneration`: the API server serves another scheduling API, so everything that works on the old one ends and
  restarts (app/generation.py).

Before it supervises anything, `muster run` exits with an error if the settings are wrong, if there are no credentials,
or if a port cannot be opened.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from muster.core import readiness
from muster.runtime.health import Health
from muster.runtime.internal_errors import InternalErrors, kind_of
from muster.runtime.tasks import Task

logger = logging.getLogger(__name__)

FIRST_RESTART_SECONDS = 1.0
LONGEST_RESTART_SECONDS = 30.0
STEADY_SECONDS = 30.0
"""After a run of this length, earlier deaths no longer count."""
KEEPS_DYING = 3
"""Deaths without a steady run in between that make the replica not ready."""

Work = Callable[[], Awaitable[None]]


class EndOfGeneration(Exception):
    """Passes through the supervisor: everything that works on one scheduling API ends and restarts."""


class Backoff:
    """Exponential backoff, bounded, with jitter."""

    def __init__(self, first: float = FIRST_RESTART_SECONDS, longest: float = LONGEST_RESTART_SECONDS) -> None:
        self._first = self._next = first
        self._longest = longest

    def next(self) -> float:
        seconds, self._next = self._next, min(self._next * 2, self._longest)
        return seconds * random.uniform(0.5, 1.0)

    def reset(self) -> None:
        self._next = self._first


def is_being_cancelled() -> bool:
    """Whether the current task is being cancelled. Otherwise a CancelledError is an error like any other."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


@dataclass(slots=True)
class Supervisor:
    """Runs long-lived tasks and starts them again when they die. Owns only their backoff; reports to `health`."""

    health: Health
    errors: InternalErrors
    first_restart_seconds: float = FIRST_RESTART_SECONDS
    steady_seconds: float = STEADY_SECONDS

    async def run_all(self, works: Mapping[Task, Work]) -> None:
        async with asyncio.TaskGroup() as group:
            for task, work in works.items():
                group.create_task(self.run(task, work), name=task.value)

    async def run(self, task: Task, work: Work) -> None:
        """Run the work until it returns, is cancelled, or raises `EndOfGeneration`."""
        record = _Record(self.health, task, Backoff(self.first_restart_seconds))
        try:
            while True:
                error = await self._one_run(work, record)
                if error is None:
                    return
                if is_being_cancelled():  # it failed while being cancelled: do not restart it
                    raise asyncio.CancelledError
                self.errors.note_restart(task, error)
                await asyncio.sleep(record.died(error))
        finally:
            record.well()

    async def _one_run(self, work: Work, record: "_Record") -> BaseException | None:
        """The error that ended the run; None if the work returned."""
        steady = asyncio.get_running_loop().call_later(self.steady_seconds, record.well)
        try:
            await work()
        except EndOfGeneration:
            raise
        except asyncio.CancelledError as error:
            if is_being_cancelled():
                raise
            return error
        except Exception as error:  # noqa: BLE001 - any error ends only this run
            return error
        finally:
            steady.cancel()
        return None


@dataclass(slots=True)
class _Record:
    """The deaths of one task since its last steady run."""

    health: Health
    task: Task
    backoff: Backoff
    deaths: int = 0

    @property
    def part(self) -> str:
        return f"task {self.task}"

    def died(self, error: BaseException) -> float:
        """Record a death. Returns the seconds to wait before the restart."""
        self.deaths += 1
        if self.deaths >= KEEPS_DYING:
            self.health.problem(self.part, readiness.task_keeps_failing(self.task, kind_of(error)))
        return self.backoff.next()

    def well(self) -> None:
        self.deaths = 0
        self.backoff.reset()
        self.health.well(self.part)
