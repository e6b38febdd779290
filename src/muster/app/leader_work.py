"""The work that only the leader does: its queues are open while it leads, and closed otherwise."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muster.core import messages
from muster.core.reasons import SilenceReason
from muster.runtime.internal_errors import concerning
from muster.runtime.supervisor import Supervisor, Work
from muster.runtime.tasks import Task
from muster.runtime.workqueue import WorkQueue

logger = logging.getLogger(__name__)
NOT_LEADING = messages.not_queued(SilenceReason.NOT_LEADING)


def log_ignored(key: object) -> None:
    """A queue of the leader's work got this key while it was closed."""
    name = "/".join(key) if isinstance(key, tuple) else key
    logger.debug("%s: %s", name, NOT_LEADING, extra=concerning(key))


@dataclass(frozen=True, slots=True)
class LeaderWork:
    supervisor: Supervisor
    works: Mapping[Task, Work]
    queues: Sequence[WorkQueue[Any]]
    """The queues that the works take keys from."""
    on_start: Callable[[], None]
    """Finds what earlier leaders left undone."""
    on_pause: Callable[[], None]
    """Drops state that becomes outdated while another replica leads."""

    async def run(self) -> None:
        """Until cancelled: as long as this replica leads."""
        for queue in self.queues:
            queue.open()
        self.on_start()
        try:
            await self.supervisor.run_all(self.works)
        finally:
            self.pause()

    def pause(self) -> None:
        for queue in self.queues:
            queue.close()
        self.on_pause()
