"""What `muster leave` does before it takes the webhooks away: gangs that were formed get the time to be completed."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from muster.core.drain import Unfinished
from muster.kube.client import KubeClient
from muster.kube.errors import Conflict, RetryLater
from muster.uninstall.gang_inventory import take_inventory
from muster.uninstall.lease import LOOK_SECONDS, TRIES, LeaseInHand

NAMED = 20
"""How many are named; the rest is a number."""
WHAT_TO_DO = "suspend and resume such a Job, and its pods are made anew without the group"


@dataclass(slots=True)
class Drain:
    """Waits until gangs that were formed have all their pods.

    Reads gangs and the Lease, and holds the Lease meanwhile.
    """

    client: KubeClient
    lease: LeaseInHand
    say: Callable[[str], None]
    complain: Callable[[str], None]
    sleep: Callable[[float], Awaitable[None]]

    async def would_wait(self) -> None:
        if waiting := (await take_inventory(self.client)).unfinished:
            self.say(f"would have waited for the pods of {named(waiting)}")

    async def run(self, seconds: float) -> None:
        """From the moment on when nobody begins a new gang. Without a replica, nobody completes one either."""
        await self._until_noticed()
        if not await self.lease.is_noticed():
            self.say("no replica has noticed: there is nobody who completes gangs, so none is waited for")
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
            self._give_up(waiting, seconds)
        else:
            self.say("every gang has its pods")

    async def _unfinished(self) -> tuple[Unfinished, ...]:
        """One look in a minute may fail: what then is taken away cannot be put back."""
        for _ in range(TRIES - 1):
            with suppress(RetryLater):
                return (await take_inventory(self.client)).unfinished
            await self.sleep(LOOK_SECONDS)
        return (await take_inventory(self.client)).unfinished

    async def tell_who_is_split(self) -> None:
        """Also by others: somebody deleted the webhooks by hand, or a Job was resumed in that very moment."""
        if split := (await take_inventory(self.client)).split:
            self.say(f"half in their gang and half not, so that some pods wait for ever: {named(split)}; {WHAT_TO_DO}")

    async def _until_noticed(self) -> None:
        while (left := self.lease.noticed_at - self.lease.clock()) > 0:
            await self._pass(min(LOOK_SECONDS, left))

    async def _pass(self, seconds: float) -> None:
        """The Lease is taken again and again: a replica that starts meanwhile must not find that it has run out."""
        await self.sleep(seconds)
        with suppress(RetryLater, Conflict):
            await self.lease.take()

    def _give_up(self, waiting: Sequence[Unfinished], seconds: float) -> None:
        begun = [each for each in waiting if each.begun]
        if begun:
            self.complain(f"after {seconds:g} s pods are still missing, and may be split: {named(begun)}; {WHAT_TO_DO}")
        if fresh := [each for each in waiting if not each.begun]:
            self.say(f"no pod has come yet, and all will come without their gang: {named(fresh)}")


def named(things: Sequence[object]) -> str:
    more = f" and {len(things) - NAMED} more" if len(things) > NAMED else ""
    return ", ".join(str(thing) for thing in things[:NAMED]) + more
