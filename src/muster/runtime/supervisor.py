"""The one supervisor of Muster's long-lived tasks.

A task that dies by an unexpected exception is logged, counted, and started again with backoff. One that keeps dying
makes the replica not ready, with a sentence, until it has run steadily.

Only this ends a supervised task:
- cancellation: SIGTERM and SIGINT end the process (app/process.py), and the loss of the Lease ends the leader's work;
- its own return: it has nothing left to do;
- `EndOfGeneration`: the API server serves another scheduling API, so that everything that works on the old one ends and
  starts anew (app/generation.py).

Before anything is supervised, `muster run` ends with an error if the settings are wrong, if there are no credentials,
or if a port cannot be opened.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from muster.runtime.health import Health
from muster.runtime.internal_errors import InternalErrors, kind_of
from muster.runtime.tasks import Task

logger = logging.getLogger(__name__)

FIRST_RESTART_SECONDS = 1.0
LONGEST_RESTART_SECONDS = 30.0
STEADY_SECONDS = 30.0
"""A run of this length is steady: the deaths before it no longer count."""
KEEPS_DYING = 3
"""Deaths without a steady run between them that make the replica not ready."""

Work = Callable[[], Awaitable[None]]


class EndOfGeneration(Exception):
    """Passes through the supervisor: everything that works on one scheduling API ends, and starts anew."""


class Backoff:
    """Twice as long each time, bounded, with jitter."""

    def __init__(self, first: float = FIRST_RESTART_SECONDS, longest: float = LONGEST_RESTART_SECONDS) -> None:
        self._first = self._next = first
        self._longest = longest

    def next(self) -> float:
        seconds, self._next = self._next, min(self._next * 2, self._longest)
        return seconds * random.uniform(0.5, 1.0)

    def reset(self) -> None:
        self._next = self._first


def is_being_cancelled() -> bool:
    """Whether somebody cancels the current task. If nobody does, a CancelledError is an error like any other."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


@dataclass(slots=True)
class Supervisor:
    health: Health
    errors: InternalErrors
    first_restart_seconds: float = FIRST_RESTART_SECONDS
    steady_seconds: float = STEADY_SECONDS

    async def run_all(self, works: Mapping[Task, Work]) -> None:
        async with asyncio.TaskGroup() as group:
            for task, work in works.items():
                group.create_task(self.run(task, work), name=task.value)

    async def run(self, task: Task, work: Work) -> None:
        """Until the work returns, is cancelled, or ends the generation."""
        record = _Record(self.health, task, Backoff(self.first_restart_seconds))
        try:
            while True:
                error = await self._one_run(work, record)
                if error is None:
                    return
                if is_being_cancelled():  # it died on its way out, and must not start again
                    raise asyncio.CancelledError
                self.errors.note(task, "the task died and starts again", error)
                self.errors.metrics.task_restarts.labels(task.value).inc()
                await asyncio.sleep(record.died(error))
        finally:
            record.well()

    async def _one_run(self, work: Work, record: "_Record") -> BaseException | None:
        """What it died of."""
        steady = asyncio.get_running_loop().call_later(self.steady_seconds, record.well)
        try:
            await work()
        except EndOfGeneration:
            raise
        except asyncio.CancelledError as error:
            if is_being_cancelled():
                raise
            return error
        except Exception as error:  # noqa: BLE001 - whatever it is, it ends this run and nothing else
            return error
        finally:
            steady.cancel()
        return None


@dataclass(slots=True)
class _Record:
    """How one task has done since it last ran steadily."""

    health: Health
    task: Task
    backoff: Backoff
    deaths: int = 0

    @property
    def part(self) -> str:
        return f"task {self.task}"

    def died(self, error: BaseException) -> float:
        """The seconds to wait before the next start."""
        self.deaths += 1
        if self.deaths >= KEEPS_DYING:
            why = f"{kind_of(error)}, which is a bug in Muster; its log says where"
            self.health.problem(self.part, f"the task {self.task} keeps failing with {why}")
        return self.backoff.next()

    def well(self) -> None:
        self.deaths = 0
        self.backoff.reset()
        self.health.well(self.part)
