"""Gives existing gangs the time to get all their pods, before `muster leave` removes the webhooks."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from muster.core import messages
from muster.core.drain import Unfinished
from muster.kube.client import KubeClient
from muster.kube.errors import Conflict, RetryLater
from muster.uninstall.gang_inventory import take_inventory
from muster.uninstall.lease import LOOK_SECONDS, TRIES, LeaseInHand

NAMED = 20
"""The number of gangs that a message names; it counts the rest."""
REMEDY = messages.split_remedy("each of these Jobs", "without the group")


@dataclass(slots=True)
class Drain:
    """Waits until existing gangs have all their pods.

    Owns nothing. It reads Jobs, pods, PodGroups and the Lease, and renews the Lease while it waits. It reports the
    gangs that it cannot wait for to `problem`.
    """

    client: KubeClient
    lease: LeaseInHand
    say: Callable[[str], None]
    problem: Callable[[str], None]
    sleep: Callable[[float], Awaitable[None]]

    async def would_wait(self) -> None:
        if waiting := (await take_inventory(self.client)).unfinished:
            self.say(f"would have waited for the pods of {named(waiting)}")

    async def run(self, seconds: float) -> None:
        """Wait until no replica begins a new gang, then for the pods. Without a replica, nothing completes gangs."""
        await self._until_noticed()
        if not await self.lease.is_noticed():
            self.say("no replica has noticed the uninstall, so none can complete gangs: not waiting for them")
            return
        waiting = await self._unfinished()
        if not waiting:
            return
        self.say(f"waiting up to {seconds:g} s for the pods of {named(waiting)}")
        deadline = self.lease.clock() + seconds
        while waiting and self.lease.clock() < deadline:
            await self._pass(LOOK_SECONDS)
            waiting = await self._unfinished()
        if waiting:
            self._report_incomplete(waiting, seconds)
        else:
            self.say("every gang has its pods")

    async def _unfinished(self) -> tuple[Unfinished, ...]:
        """Retries for a while: the webhooks are removed afterwards, and that cannot be undone."""
        for _ in range(TRIES - 1):
            with suppress(RetryLater):
                return (await take_inventory(self.client)).unfinished
            await self.sleep(LOOK_SECONDS)
        return (await take_inventory(self.client)).unfinished

    async def report_split_gangs(self) -> None:
        """Report split gangs of any cause, such as deleted webhooks or a Job that was resumed at that moment."""
        if split := (await take_inventory(self.client)).split:
            self.say(f"split gangs, in which some pods wait forever: {named(split)}. {REMEDY}")

    async def _until_noticed(self) -> None:
        while (left := self.lease.noticed_at - self.lease.clock()) > 0:
            await self._pass(min(LOOK_SECONDS, left))

    async def _pass(self, seconds: float) -> None:
        """Sleep, and renew the Lease: to a replica that starts in the meantime it must not look expired."""
        await self.sleep(seconds)
        with suppress(RetryLater, Conflict):
            await self.lease.take()

    def _report_incomplete(self, waiting: Sequence[Unfinished], seconds: float) -> None:
        begun = [each for each in waiting if each.begun]
        if begun:
            lacking = f"these gangs still lack pods after {seconds:g} s and may be split"
            self.problem(f"{lacking}: {named(begun)}. {REMEDY}")
        if fresh := [each for each in waiting if not each.begun]:
            self.say(f"these Jobs have no pods yet, and get all of them without a gang: {named(fresh)}")


def named(things: Sequence[object]) -> str:
    return messages.listed(things, NAMED)
