"""Runs kopf in its own thread with its own event loop.

kopf ends on a 404 and on errors inside a stream. That must neither stop nor slow down admission, so this module
restarts it. Until its streams are up, the cache does not count as synced.
"""

import asyncio
import contextlib
import logging
import threading
from dataclasses import dataclass
from typing import Any

import kopf
import uvloop

from muster.api.profile import ApiProfile
from muster.controllers.cache import Cache
from muster.controllers.intake import Intake
from muster.controllers.resync import Resync
from muster.core import readiness
from muster.kube.credentials import Credentials
from muster.kube.errors import KubeError
from muster.runtime.health import API, WATCHING, Health
from muster.runtime.internal_errors import InternalErrors
from muster.runtime.supervisor import Backoff
from muster.watching.handlers import build_registry
from muster.watching.settings import operator_settings

logger = logging.getLogger(__name__)

STEADY_SECONDS = 60.0
"""A run of this length resets the backoff."""
STARTING_SECONDS = 10.0
INSIST_SECONDS = 1.0
SETTLE_SECONDS = 5.0
"""How long after the start of the streams a second list runs, to find what was deleted between the two lists."""


class WatchEnded(Exception):
    """kopf ended or could not be started."""


@dataclass(slots=True)
class WatchThread:
    """Runs kopf in a thread and starts it again when it ends.

    Owns that thread. It passes events to `intake`, asks for a resync at each start, and marks the cache as synced.
    """

    intake: Intake
    cache: Cache
    profile: ApiProfile
    credentials: Credentials
    resync: Resync
    health: Health
    errors: InternalErrors

    async def run(self) -> None:
        """Runs until cancelled. Muster is ready when it has seen everything once; later restarts only cost speed."""
        loop, backoff = asyncio.get_running_loop(), Backoff()
        while True:
            await self.health.wait_until_well(API)
            started = loop.time()
            try:
                await self._run_once(loop)
            except (WatchEnded, KubeError) as error:
                # Streams break. That is not a bug and only costs speed, so the supervisor does not handle it.
                logger.warning(
                    "the watch streams ended and are being restarted; admission continues without them: %s", error
                )
            if loop.time() - started > STEADY_SECONDS:
                backoff.reset()
            await asyncio.sleep(backoff.next())

    async def _run_once(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run kopf once, until it ends. The cache counts as synced from the first full list until then."""
        run = _KopfRun(loop.create_future(), threading.Event(), threading.Event())
        thread = threading.Thread(target=self._in_thread, args=(loop, run), name="watching", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # no memory or too many threads: only a new process helps
            sentence = readiness.watching_cannot_start(str(error))
            self.health.require_restart(sentence)
            raise WatchEnded(sentence) from error
        self.health.clear_restart()
        try:
            await asyncio.to_thread(run.started.wait, STARTING_SECONDS)
            await self.resync.once()
            self.cache.mark_synced(not run.ended.done())
            self.health.well(WATCHING)
            loop.call_later(SETTLE_SECONDS, self.resync.soon)
            await run.ended
        finally:
            self.cache.mark_synced(False)
            run.stop.set()
            run.started.set()

    def _in_thread(self, main_loop: asyncio.AbstractEventLoop, run: "_KopfRun") -> None:
        error: BaseException | None = None
        try:
            registry = build_registry(self.intake, main_loop, self.profile, self.credentials, self.errors)
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(_watch(registry, run))
        except BaseException as problem:  # noqa: BLE001 - the main loop must know about any end of kopf
            error = problem
        run.started.set()
        with contextlib.suppress(RuntimeError):  # the main loop may be closed
            main_loop.call_soon_threadsafe(run.end, error)


@dataclass(frozen=True, slots=True)
class _KopfRun:
    ended: asyncio.Future[None]
    started: threading.Event
    stop: threading.Event

    def end(self, error: BaseException | None) -> None:
        if self.ended.done():
            return
        if error is None:
            self.ended.set_result(None)
        else:
            self.ended.set_exception(WatchEnded(f"{type(error).__name__}: {error}"))


async def _watch(registry: kopf.OperatorRegistry, run: _KopfRun) -> None:
    # kopf logs what ends a stream, but does not retrieve the exception if another stream ended first.
    asyncio.get_running_loop().set_exception_handler(lambda _, context: logger.debug("in kopf: %s", context["message"]))
    _cancel_until_ended(registry)
    try:
        await kopf.operator(
            registry=registry,
            settings=operator_settings(),
            standalone=True,
            clusterwide=True,
            ready_flag=run.started,
            stop_flag=run.stop,
        )
    finally:
        # A thread of this loop's executor waits for the flag, and the loop closes only after that thread has ended.
        run.stop.set()


def _cancel_until_ended(registry: kopf.OperatorRegistry) -> None:
    """Once kopf ends, cancel its remaining tasks until they are gone.

    kopf cancels its streams once. A stream that is between two connections at that moment takes this for a broken
    connection, and waits forever for a login that does not come.
    """
    loop, ours = asyncio.get_running_loop(), asyncio.current_task()

    def insist() -> None:
        for task in asyncio.all_tasks(loop) - {ours}:
            task.cancel()
        loop.call_later(INSIST_SECONDS, insist)

    @kopf.on.cleanup(registry=registry)
    async def ending(**_: Any) -> None:
        loop.call_later(INSIST_SECONDS, insist)
