"""Keeps kopf running, in a thread and on a loop of its own.

kopf ends on a 404 and on errors inside a stream. That must neither take admission down nor slow it, so it is started
again here, and until its streams are up the cache is not trusted.
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
from muster.controllers.intake import Intake
from muster.controllers.resync import Resync
from muster.kube.credentials import Credentials
from muster.kube.errors import KubeError
from muster.runtime.health import API, WATCHING, Health
from muster.runtime.supervisor import Backoff
from muster.watching.handlers import build_registry
from muster.watching.settings import operator_settings

logger = logging.getLogger(__name__)

STEADY_SECONDS = 60.0
"""A run of this length starts the back-off anew."""
STARTING_SECONDS = 10.0
INSIST_SECONDS = 1.0
SETTLE_SECONDS = 5.0
"""After the streams start: what was deleted between our list and theirs shows up in one more list."""


class WatchEnded(Exception):
    """kopf ended, or could not be started."""


@dataclass(slots=True)
class WatchThread:
    intake: Intake
    profile: ApiProfile
    credentials: Credentials
    resync: Resync
    health: Health

    async def run(self) -> None:
        """Until cancelled. Muster is first ready when it has seen everything once; later deaths only cost speed."""
        loop, backoff = asyncio.get_running_loop(), Backoff()
        while True:
            await self.health.wait_until_well(API)
            started = loop.time()
            try:
                await self._one_life(loop)
            except (WatchEnded, KubeError) as error:
                # Streams break. That is no bug, and costs only speed: the supervisor is for everything else.
                logger.warning("watching ended, and admission goes on without it: %s", error)
            if loop.time() - started > STEADY_SECONDS:
                backoff.reset()
            await asyncio.sleep(backoff.next())

    async def _one_life(self, loop: asyncio.AbstractEventLoop) -> None:
        """kopf from its start to its end. The cache is trusted from the first full list until then."""
        life = _Life(loop.create_future(), threading.Event(), threading.Event())
        thread = threading.Thread(target=self._in_thread, args=(loop, life), name="watching", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # no memory, or threads that never ended: only a new process can help
            self.health.hopeless = f"watching cannot be started: {error}"
            raise WatchEnded(self.health.hopeless) from error
        self.health.hopeless = ""
        try:
            await asyncio.to_thread(life.started.wait, STARTING_SECONDS)
            await self.resync.once()
            self.intake.cache.has_synced = not life.ended.done()
            self.health.well(WATCHING)
            loop.call_later(SETTLE_SECONDS, self.resync.soon)
            await life.ended
        finally:
            self.intake.cache.has_synced = False
            life.stop.set()
            life.started.set()

    def _in_thread(self, main_loop: asyncio.AbstractEventLoop, life: "_Life") -> None:
        error: BaseException | None = None
        try:
            registry = build_registry(self.intake, main_loop, self.profile, self.credentials)
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(_watch(registry, life))
        except BaseException as problem:  # noqa: BLE001 - whatever ended kopf, the main loop must hear of it
            error = problem
        life.started.set()
        with contextlib.suppress(RuntimeError):  # the main loop may be gone already
            main_loop.call_soon_threadsafe(life.end, error)


@dataclass(frozen=True, slots=True)
class _Life:
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


async def _watch(registry: kopf.OperatorRegistry, life: _Life) -> None:
    # kopf logs what ends a stream, and does not collect it where another stream's end came first.
    asyncio.get_running_loop().set_exception_handler(lambda _, told: logger.debug("in kopf: %s", told["message"]))
    _insist_on_the_end(registry)
    try:
        await kopf.operator(
            registry=registry,
            settings=operator_settings(),
            standalone=True,
            clusterwide=True,
            ready_flag=life.started,
            stop_flag=life.stop,
        )
    finally:
        # A thread of this loop's executor waits for the flag, and the loop does not close before that thread ends.
        life.stop.set()


def _insist_on_the_end(registry: kopf.OperatorRegistry) -> None:
    """Once kopf ends, cancel what is left until it is gone.

    kopf cancels its streams once. One that is just then between two connections takes that for a broken connection,
    and waits for ever for a login that nobody makes any more.
    """
    loop, ours = asyncio.get_running_loop(), asyncio.current_task()

    def insist() -> None:
        for task in asyncio.all_tasks(loop) - {ours}:
            task.cancel()
        loop.call_later(INSIST_SECONDS, insist)

    @kopf.on.cleanup(registry=registry)
    async def ending(**_: Any) -> None:
        loop.call_later(INSIST_SECONDS, insist)
