"""The Lease: who does the eager work. It saves work, and nothing more: two leaders would still do no harm."""

import asyncio
import logging
import math
import random
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from muster.api.lease import MAX_NOTICED, NOTICED, UNINSTALL_HOLDER, Lease, micro_time, read_lease, with_annotations
from muster.api.wire import Raw, Unreadable, integer, mapping, text, words
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
"""How often those who do not lead look: a leader that leaves is followed about as fast."""
RELEASE_SECONDS = 2.0

Work = Callable[[], Coroutine[Any, Any, None]]


class Lead(Protocol):
    """Whether this replica leads, and whether Muster is being uninstalled."""

    def leads(self) -> bool: ...

    def uninstalled(self) -> bool:
        """Somebody ran `muster leave` while we were there: register nothing and make nothing any more."""

    def draining(self) -> bool:
        """`muster leave` was run, or is at work, and nobody leads any more: begin no new gang."""

    async def run(self) -> None:
        """Take part in the election, until cancelled."""

    async def while_leading(self, work: Work) -> None:
        """Run the work whenever we lead, and end it at once when we do not. Until cancelled, or it fails."""

    async def release(self) -> None:
        """Stop leading, so that another can begin at once."""


class Alone:
    """Nobody to share the work with, or nobody is to ask."""

    def leads(self) -> bool:
        return True

    def uninstalled(self) -> bool:
        return False  # nobody can tell us

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

    Owns what this replica knows of the Lease (`Standing`). It reads and writes the Lease and nothing else.
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
    _leaving: bool = False
    _left: bool = False
    _signed: bool = False
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _at_work: set[asyncio.Task[None]] = field(default_factory=set)
    _timer: asyncio.TimerHandle | None = None

    def leads(self) -> bool:
        return not self._leaving and self._standing.leads(self.clock())

    def uninstalled(self) -> bool:
        return self._left

    def draining(self) -> bool:
        return self._standing.draining(self.terms, self.clock())

    @in_lane(Lane.CONTROL)
    async def run(self) -> None:
        while not self._leaving and not (self._signed and self.draining()):
            pause = LOOK_SECONDS
            try:
                pause = await self._take_part()
            except (KubeError, TimeoutError, Unreadable) as error:
                logger.warning("the Lease %s cannot be asked, and is tried again: %s", self.name, error or "no answer")
            self._tell()
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
                await asyncio.wait({task})  # not `await task`: that would swallow our own cancellation with the work's

    @in_lane(Lane.CONTROL)
    async def release(self) -> None:
        """The work ends first, then the Lease is given back."""
        led, self._leaving = self.leads(), True
        self._tell()
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
            logger.warning("the Lease %s was not released, and runs out by itself: %s", self.name, error or "no answer")

    async def _take_part(self) -> float:
        """One look and at most one write; how long to wait until the next.

        A leader writes without a look: if another has written the Lease meanwhile, the API server refuses. So a slow
        API server costs a renewal one call, not two.
        """
        if self.leads() and self._raw is not None:
            return await self._make(Renew())
        found = await self._read()
        if self._left:
            return await self._stand_back(found)
        self._standing, move = look(self._standing, found, self.terms, self.clock())
        if isinstance(move, Withdraw):
            self._left = True
            logger.warning("`muster leave` was run: no gang is begun any more, until Muster is started again")
            self._tell()  # the eager work ends before others are told that it did
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
                raise NotFound(f"namespace {self.namespace} does not exist") from error
            return 0.0  # somebody was faster: look again
        if not self._leaving:
            self._standing = won(self._standing, written, began, self.terms)
        return max(0.0, began + self.terms.renew_seconds - self.clock())

    async def _stand_back(self, found: Lease | None) -> float:
        """Sign, and look on until whoever led has signed.

        `muster leave` gives gangs time to be completed only where somebody says so that he is there to do it.
        """
        if found is not None:
            self._standing = note_uninstall(self._standing, found, self.terms, self.clock())
        if found is None or found.holder != UNINSTALL_HOLDER:
            self._signed = True
        elif not self._signed:
            try:
                await self._answer(self.client.replace(LEASES, self.namespace, self.name, self._signature()))
            except (Conflict, NotFound):
                return 0.0  # it was changed by another: look again
            self._signed = True
        return LOOK_SECONDS

    async def _answer(self, call: Awaitable[Object]) -> Object:
        """Each call has its own time: a look and a write on a slow API server may take longer than a renewal."""
        async with asyncio.timeout(self.terms.renew_seconds):
            return await call

    def _signature(self) -> Object:
        lease = self._raw or {}
        noticed = words(mapping(mapping(lease, "metadata"), "annotations"), NOTICED, MAX_NOTICED)
        return with_annotations(lease, {NOTICED: ",".join(name for name in (noticed, self.terms.identity) if name)})

    async def _read(self) -> Lease | None:
        try:
            self._raw = await self._answer(self.client.get(LEASES, self.namespace, self.name))
        except NotFound:
            self._raw = None
            return None
        return read_lease(self._raw)

    async def _write(self, move: Move | None = None, released: bool = False) -> Lease:
        known = self._raw or {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": self.name}}
        body = {**known, "spec": self._spec(mapping(known, "spec"), move, released)}
        self._raw = None  # what came of the write is known only if it goes well
        if isinstance(move, Create):
            written = await self._answer(self.client.create(LEASES, self.namespace, body))
        else:
            written = await self._answer(self.client.replace(LEASES, self.namespace, self.name, body))
        found = read_lease(written)
        self._raw = written
        return found

    def _spec(self, known: Raw, move: Move | None, released: bool) -> Object:
        now = micro_time(datetime.now(UTC))
        transitions = max(0, integer(known, "leaseTransitions") or 0)
        taken = isinstance(move, Take)
        return {
            "holderIdentity": "" if released else self.terms.identity,
            "leaseDurationSeconds": 1 if released else math.ceil(self.terms.duration_seconds),
            "acquireTime": now if taken or isinstance(move, Create) else text(known, "acquireTime") or now,
            "renewTime": now,
            "leaseTransitions": min(transitions + taken, 2**31 - 1),
        }

    def _tell(self) -> None:
        """Wake those who wait for a change; and see to it that the end of our time is one, whatever else hangs."""
        if self._leaving:
            self._standing = lost(self._standing)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        until, now = self._standing.leading_until, self.clock()
        leading = self.leads()
        if leading and until is not None:
            self._timer = asyncio.get_running_loop().call_later(until - now, self._tell)
        if leading is self._leading:
            return
        self._leading = leading
        self.metrics.leader.set(int(leading))
        self.metrics.leader_changes.inc()
        logger.info("became the leader" if leading else "lost leadership")
        self._changed.set()
        self._changed = asyncio.Event()
