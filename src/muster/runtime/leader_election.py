"""Leader election with a Lease. A single leader only saves calls; two leaders would be harmless."""

import asyncio
import logging
import math
import random
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from muster.api.lease import UNINSTALL_HOLDER, Lease, held_by, read_lease, signed_by
from muster.api.wire import Unreadable
from muster.core import readiness
from muster.core.election import (
    Create,
    Move,
    Renew,
    Standing,
    Take,
    Terms,
    Wait,
    Withdraw,
    look,
    lost,
    note_uninstall,
    won,
)
from muster.kube.client import KubeClient, Object
from muster.kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from muster.kube.lanes import Lane, in_lane
from muster.kube.resources import LEASES
from muster.runtime.metrics import Metrics

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""How often the other replicas read the Lease, and so about how long a released Lease stays free."""
RELEASE_SECONDS = 2.0

Work = Callable[[], Coroutine[Any, Any, None]]


class Lead(Protocol):
    """Whether this replica leads, and whether Muster is being uninstalled."""

    def leads(self) -> bool: ...

    def uninstalled(self) -> bool:
        """`muster leave` ran during the life of this process: register no webhook and create no object."""

    def draining(self) -> bool:
        """`muster leave` ran or is running, and no replica leads: begin no new gang."""

    async def run(self) -> None:
        """Take part in the election, until cancelled."""

    async def while_leading(self, work: Work) -> None:
        """Run the work while this replica leads, and cancel it otherwise. Until cancelled, or the work fails."""

    async def release(self) -> None:
        """Stop leading, so that another replica can lead at once."""


class Alone:
    """A replica that always leads: the only one, or without leader election. It owns, reads and writes nothing."""

    def leads(self) -> bool:
        return True

    def uninstalled(self) -> bool:
        return False  # without a Lease, this is not known

    def draining(self) -> bool:
        return False

    async def run(self) -> None:
        await asyncio.Event().wait()

    async def while_leading(self, work: Work) -> None:
        await work()

    async def release(self) -> None:
        pass


@dataclass(slots=True)
class Leadership:
    """Takes part in the election for the Lease.

    Owns what this replica knows of the Lease (`Standing`), and the work that runs while it leads. It reads and writes
    the Lease and no other object.
    """

    client: KubeClient
    namespace: str
    name: str
    terms: Terms
    metrics: Metrics = field(default_factory=Metrics)
    clock: Callable[[], float] = time.monotonic
    _standing: Standing = field(default_factory=Standing)
    _raw: Object | None = None
    _leading: bool = False
    _releasing: bool = False
    _uninstalled: bool = False
    _signed: bool = False
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _at_work: set[asyncio.Task[None]] = field(default_factory=set)
    _timer: asyncio.TimerHandle | None = None

    def leads(self) -> bool:
        return not self._releasing and self._standing.leads(self.clock())

    def uninstalled(self) -> bool:
        return self._uninstalled

    def draining(self) -> bool:
        return self._standing.draining(self.terms, self.clock())

    @in_lane(Lane.CONTROL)
    async def run(self) -> None:
        while not self._releasing and not (self._signed and self.draining()):
            pause = LOOK_SECONDS
            try:
                pause = await self._take_part()
            except (KubeError, TimeoutError, Unreadable) as error:
                logger.warning("cannot read or write the Lease %s; trying again: %s", self.name, error or "no answer")
            self._update()
            await asyncio.sleep(pause * random.uniform(0.8, 1.0))
        await asyncio.Event().wait()

    async def while_leading(self, work: Work) -> None:
        while True:
            while not self.leads():
                await self._changed.wait()
            task = asyncio.create_task(work())
            self._at_work.add(task)
            try:
                while self.leads() and not task.done():
                    changed = asyncio.create_task(self._changed.wait())
                    await asyncio.wait({task, changed}, return_when=asyncio.FIRST_COMPLETED)
                    changed.cancel()
                if task.done():
                    return await task
            finally:
                self._at_work.discard(task)
                task.cancel()
                await asyncio.wait({task})  # not `await task`: that cannot tell our own cancellation from the work's

    @in_lane(Lane.CONTROL)
    async def release(self) -> None:
        """End the work first, then release the Lease."""
        led, self._releasing = self.leads(), True
        self._update()
        if not led:
            return
        try:
            async with asyncio.timeout(RELEASE_SECONDS):
                if self._at_work:
                    await asyncio.wait(set(self._at_work))
                found = await self._read()
                if found is not None and found.holder == self.terms.identity:
                    await self._write(released=True)
                    logger.info("released the Lease %s", self.name)
        except (KubeError, TimeoutError, Unreadable) as error:
            logger.warning("could not release the Lease %s; it expires by itself: %s", self.name, error or "no answer")

    async def _take_part(self) -> float:
        """At most one read and one write. Returns how long to wait until the next step.

        A leader writes without a read: the API server refuses the write if another replica changed the Lease. So a
        renewal costs one call, also on a slow API server.
        """
        if self.leads() and self._raw is not None:
            return await self._make(Renew())
        found = await self._read()
        if self._uninstalled:
            return await self._stand_back(found)
        self._standing, move = look(self._standing, found, self.terms, self.clock())
        if isinstance(move, Withdraw):
            self._uninstalled = True
            logger.warning("`muster leave` was run: this replica forms no new gangs until it is restarted")
            self._update()  # end the leader's work before signing the Lease
            return await self._stand_back(found)
        if isinstance(move, Wait):
            return min(LOOK_SECONDS, max(0.05, move.seconds))
        return await self._make(move)

    async def _make(self, move: Move) -> float:
        began = self.clock()
        try:
            written = await self._write(move)
        except (Conflict, AlreadyExists, NotFound) as error:
            if isinstance(error, NotFound) and isinstance(move, Create):
                raise NotFound(readiness.namespace_missing(self.namespace)) from error
            return 0.0  # another replica was faster: read again
        if not self._releasing:
            self._standing = won(self._standing, written, began, self.terms)
        return max(0.0, began + self.terms.renew_seconds - self.clock())

    async def _stand_back(self, found: Lease | None) -> float:
        """Sign the Lease, and keep reading it until the former leader has signed, too.

        `muster leave` gives gangs time to complete only if a replica has signed that it is there to complete them.
        """
        if found is not None:
            self._standing = note_uninstall(self._standing, found, self.terms, self.clock())
        if found is None or found.holder != UNINSTALL_HOLDER:
            self._signed = True
        elif not self._signed:
            try:
                await self._answer(
                    self.client.replace(
                        LEASES, self.namespace, self.name, signed_by(self._raw or {}, self.terms.identity)
                    )
                )
            except (Conflict, NotFound):
                return 0.0  # the Lease changed in the meantime: read again
            self._signed = True
        return LOOK_SECONDS

    async def _answer(self, call: Awaitable[Object]) -> Object:
        """Each call has its own timeout: on a slow API server, a read and a write together may exceed one renewal."""
        async with asyncio.timeout(self.terms.renew_seconds):
            return await call

    async def _read(self) -> Lease | None:
        try:
            self._raw = await self._answer(self.client.get(LEASES, self.namespace, self.name))
        except NotFound:
            self._raw = None
            return None
        return read_lease(self._raw)

    async def _write(self, move: Move | None = None, released: bool = False) -> Lease:
        known = self._raw or {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": self.name}}
        holder = "" if released else self.terms.identity
        seconds = 1 if released else math.ceil(self.terms.duration_seconds)
        taken = isinstance(move, Take)
        body = held_by(known, holder, seconds, datetime.now(UTC), taken or isinstance(move, Create), taken)
        self._raw = None  # unknown until the write succeeds
        if isinstance(move, Create):
            written = await self._answer(self.client.create(LEASES, self.namespace, body))
        else:
            written = await self._answer(self.client.replace(LEASES, self.namespace, self.name, body))
        found = read_lease(written)
        self._raw = written
        return found

    def _update(self) -> None:
        """Wake the waiters if leadership changed. A timer ends the leadership on time even if a renewal hangs."""
        if self._releasing:
            self._standing = lost(self._standing)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        until, now = self._standing.leading_until, self.clock()
        leading = self.leads()
        if leading and until is not None:
            self._timer = asyncio.get_running_loop().call_later(until - now, self._update)
        if leading is self._leading:
            return
        self._leading = leading
        self.metrics.leader.set(int(leading))
        self.metrics.leader_changes.inc()
        logger.info("became the leader" if leading else "lost leadership")
        self._changed.set()
        self._changed = asyncio.Event()
