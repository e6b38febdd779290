"""The worker loop: take a key, handle it, retry it later if it failed. A failed key does not affect other keys."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from muster.api.wire import Unreadable
from muster.kube.errors import KubeError, RetryLater
from muster.runtime.internal_errors import InternalErrors, concerning
from muster.runtime.supervisor import is_being_cancelled
from muster.runtime.tasks import Task
from muster.runtime.workqueue import WorkQueue

logger = logging.getLogger(__name__)

Key = TypeVar("Key")


def _itself(key: object) -> object:
    return key


class TryAgain(Exception):
    """The key is not done yet and must be retried. It is not an error of Muster or of the API server."""


@dataclass(slots=True)
class Workers(Generic[Key]):
    """Takes keys from a queue and handles them, `count` at a time.

    Owns only its tasks. It reads and writes the queue: a key whose work fails goes back to it. A bug is counted and
    logged, and ends no worker.
    """

    task: Task
    queue: WorkQueue[Key]
    handle: Callable[[Key], Awaitable[object]]
    errors: InternalErrors
    about: Callable[[Key], object] = _itself
    """What the log and the error counter call the item."""
    on_bug: Callable[[Key, BaseException], None] | None = None
    """Called on an unexpected error, instead of counting and logging it."""
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
            about = self.about(key)
            logger.warning("%s: failed, retrying: %s", about, error, extra=concerning(about))
            self.queue.retry(key, error.after_seconds if isinstance(error, RetryLater) else 0.0)
        except asyncio.CancelledError as error:
            if is_being_cancelled():
                raise
            self._bug(key, error)
        except Exception as error:  # noqa: BLE001 - a bug on one key must not end the work on all others
            self._bug(key, error)
        else:
            self.queue.forget(key)

    def _bug(self, key: Key, error: BaseException) -> None:
        self.queue.retry(key)
        if self.on_bug is not None:
            self.on_bug(key, error)
        else:
            self.errors.note(self.task, self.about(key), error)
