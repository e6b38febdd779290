"""The one worker loop: take a key, handle it, try again later what failed. One key's failure concerns no other key."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from muster.api.keys import JobKey
from muster.api.wire import Unreadable
from muster.kube.errors import KubeError, RetryLater
from muster.runtime.internal_errors import InternalErrors, concerning
from muster.runtime.supervisor import is_being_cancelled
from muster.runtime.tasks import Task
from muster.runtime.workqueue import WorkQueue

logger = logging.getLogger(__name__)

Key = TypeVar("Key")


class TryAgain(Exception):
    """Nothing is wrong with Muster or the API server: the key is not done yet."""


@dataclass(slots=True)
class Workers(Generic[Key]):
    """The worker loop: takes keys off a queue and handles them, `count` at a time.

    A key whose work fails goes back to the queue. A bug is counted and logged, and ends no worker.
    """

    task: Task
    queue: WorkQueue[Key]
    handle: Callable[[Key], Awaitable[object]]
    errors: InternalErrors
    what: str = ""
    """What the keys name, where they are not keys of Jobs."""
    on_bug: Callable[[Key, BaseException], None] | None = None
    """Called instead of only counting and logging an unexpected error."""
    count: int = 1

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(self.count):
                group.create_task(self._work(), name=f"{self.task} {number}")

    async def _work(self) -> None:
        while True:
            key = await self.queue.get()
            try:
                await self.handle_or_retry(key)
            finally:
                self.queue.done(key)

    async def handle_or_retry(self, key: Key) -> None:
        try:
            await self.handle(key)
        except (KubeError, TryAgain, Unreadable) as error:
            logger.warning("%s: will try again: %s", self._name(key), error, extra=concerning(key))
            self.queue.retry(key, error.after_seconds if isinstance(error, RetryLater) else 0.0)
        except asyncio.CancelledError as error:
            if is_being_cancelled():
                raise
            self._bug(key, error)
        except Exception as error:  # noqa: BLE001 - a bug that one key meets must not end the work on all others
            self._bug(key, error)
        else:
            self.queue.forget(key)

    def _name(self, key: Key) -> str:
        return f"{self.what} {'/'.join(key)}" if isinstance(key, tuple) and self.what else str(key)

    def _bug(self, key: Key, error: BaseException) -> None:
        self.queue.retry(key)
        if self.on_bug is not None:
            self.on_bug(key, error)
        else:
            self.errors.note(self.task, key if isinstance(key, JobKey) else self._name(key), error)
