"""Single flight: callers with the same key share one run of the work."""

import asyncio
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Generic, TypeVar

from muster.kube.lanes import LaneWork, current_work, within
from muster.runtime.background import BackgroundTasks

Key = TypeVar("Key")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Flight(Generic[Result]):
    task: asyncio.Task[Result]
    work: LaneWork
    ticket: int

    async def result(self) -> Result:
        """Shielded: the deadline of one caller must not stop the work that others wait for."""
        self.work.hurry(current_work().lane)
        return await asyncio.shield(self.task)


@dataclass(slots=True)
class SingleFlight(Generic[Key, Result]):
    """Owns the runs under way, one for each key. Tickets say whether a run began before or after a caller came."""

    _under_way: dict[Key, Flight[Result]] = field(default_factory=dict)
    _tickets: Iterator[int] = field(default_factory=count)

    def ticket(self) -> int:
        return next(self._tickets)

    def under_way(self, key: Key) -> Flight[Result] | None:
        flight = self._under_way.get(key)
        return None if flight is None or flight.task.done() else flight  # its callbacks may not have run yet

    def start(
        self, background: BackgroundTasks, key: Key, work: Coroutine[Any, Any, Result], name: str
    ) -> Flight[Result]:
        lane = LaneWork(current_work().lane)
        flight = Flight(background.begin(within(lane, work), name), lane, self.ticket())
        self._under_way[key] = flight
        flight.task.add_done_callback(lambda _: self._end(key, flight))
        return flight

    def _end(self, key: Key, flight: Flight[Result]) -> None:
        if self._under_way.get(key) is flight:
            del self._under_way[key]
