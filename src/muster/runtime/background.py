"""Tasks that finish the work on a Job even if their caller goes away."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypeVar

Result = TypeVar("Result")

LAST_SECONDS = 2.0
"""How long to wait for unfinished tasks at shutdown. After that, the next process continues from what is stored."""


class BackgroundTasks:
    """Owns the tasks that outlive their caller. They are drained before the HTTP client closes."""

    def __init__(self, seconds: float = LAST_SECONDS) -> None:
        self._seconds = seconds
        self._under_way = set[asyncio.Task[Any]]()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._seconds):
                await self._all_ended()
        for task in self._under_way:
            task.cancel()
        await self._all_ended()

    async def _all_ended(self) -> None:
        while self._under_way:  # a task may start another task
            await asyncio.wait(self._under_way)

    def begin(self, work: Coroutine[Any, Any, Result], name: str) -> asyncio.Task[Result]:
        """Start a task. The caller shields it when it waits for it, or does not wait at all."""
        task = asyncio.create_task(work, name=name)
        self._under_way.add(task)
        task.add_done_callback(self._end)
        return task

    def _end(self, task: asyncio.Task[Any]) -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # retrieve it: without a waiter, asyncio logs an error
