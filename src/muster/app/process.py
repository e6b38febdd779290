"""The process of `muster run`: starts the long-lived tasks, and ends everything in order."""

import asyncio
import logging
import signal
from collections.abc import Awaitable
from functools import partial
from typing import Any

from muster.app.cluster import open_cluster
from muster.app.generation import run_generations
from muster.app.modes import ServingMode
from muster.config.types import Settings
from muster.core import readiness
from muster.kube.credentials import Credentials
from muster.kube.errors import plain_text
from muster.runtime.health import STAYING, Health
from muster.runtime.internal_errors import InternalErrors
from muster.runtime.supervisor import Work
from muster.runtime.tasks import Task

logger = logging.getLogger("muster")

LAST_EVENTS_SECONDS = 2.0
LAST_TASKS_SECONDS = 5.0


async def serve(mode: ServingMode, credentials: Credentials, settings: Settings) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with open_cluster(mode, credentials, settings) as cluster:
        errors, lead = cluster.errors, cluster.lead
        asyncio.get_running_loop().set_exception_handler(partial(_on_loop_error, errors))
        works: dict[Task, Work] = {
            Task.GENERATION: partial(run_generations, cluster),
            Task.EVENTS: cluster.recorder.run,
            Task.CERTIFICATES: cluster.serving.run,
            Task.LEADER_ELECTION: lead.run,
        }
        running = [
            asyncio.create_task(cluster.supervisor.run(task, work), name=task.value) for task, work in works.items()
        ]
        await stop.wait()
        # Another can lead at once, while this one still answers.
        releasing = asyncio.create_task(_last("release the Lease", lead.release(), errors))
        await _drain(cluster.health, settings.serving.drain_seconds)
        await releasing
        await _last("end webhook serving", cluster.serving.end(), errors)
        await cluster.recorder.drain(LAST_EVENTS_SECONDS)
        for task in running:
            task.cancel()
        await asyncio.wait(running, timeout=LAST_TASKS_SECONDS)


def _on_loop_error(errors: InternalErrors, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log an error that no task awaits. A connection that breaks while it closes is not a bug, though uvloop calls it
    fatal.
    """
    error, message = context.get("exception"), plain_text(str(context.get("message")))
    if isinstance(error, Exception) and not {"transport", "protocol"} & context.keys():
        errors.note(Task.EVENT_LOOP, message, error)
    else:
        logger.debug("in the event loop: %s: %s", message, plain_text(str(error)))


async def _last(what: str, step: Awaitable[None], errors: InternalErrors) -> None:
    """One step of the shutdown. An error does not prevent the next steps."""
    try:
        await step
    except Exception as error:  # noqa: BLE001
        errors.note(Task.SHUTDOWN, what, error)


async def _drain(health: Health, seconds: float) -> None:
    """Become not ready and keep answering: it takes a while until the Service sends no more requests here."""
    health.announce(STAYING, readiness.SHUTTING_DOWN)
    logger.info("shutting down; answering admission requests for %g s more", seconds)
    await asyncio.sleep(seconds)
