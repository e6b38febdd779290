"""`muster leave`: takes away what would stand in somebody's way once Muster is gone. Pods and Jobs are not touched.

A Muster that still runs would put it back. So the Lease is taken first: every replica that sees this stands back for
good (core/election.py), and those that run get the time to see it. From then on they begin no new gang; those that were
formed get the time to get all their pods, since what comes later comes without a webhook.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from muster.api.profile import CRD_IN_KUBERNETES_GROUP, CRD_IN_OWN_GROUP, KUBERNETES_GROUP, ApiProfile
from muster.api.v1alpha2.podgroup import PROTECTION
from muster.api.wire import MAX_WORD, Raw, Unreadable, mapping, text, texts
from muster.config.types import Settings
from muster.kube.api_detection import is_served
from muster.kube.client import KubeClient, every_item
from muster.kube.errors import Conflict, KubeError, NotFound, Unreachable
from muster.kube.objects import remove_protection
from muster.kube.resources import (
    LEASES,
    MUTATING_WEBHOOKS,
    PRIORITY_CLASSES,
    SECRETS,
    VALIDATING_WEBHOOKS,
    Resource,
    pod_groups,
)
from muster.uninstall.drain import Drain
from muster.uninstall.lease import LOOK_SECONDS, TRIES, LeaseInHand
from muster.webhooks.configurations import DEV_NAME, NAME

AT_ONCE = 32
ROUNDS = 3
"""How often webhooks and PodGroups are looked at: what comes back each time has somebody who puts it back."""
WAIT_SECONDS = 60
"""How long gangs get to be completed, unless somebody says otherwise."""


@dataclass(slots=True)
class Leave:
    """The steps of `muster leave`, in order.

    Takes the Lease, waits for gangs, empties the webhook configurations, removes the protection finalizers, and deletes
    the Secret with the certificates. What fails is in `problems`.
    """

    client: KubeClient
    settings: Settings
    say: Callable[[str], None]
    dev: bool = False
    """Also what a killed `muster run --dev` left behind."""
    dry_run: bool = False
    """The client stores nothing: then there is nothing to wait for, and one round shows all."""
    wait_seconds: float = WAIT_SECONDS
    """How long gangs get to be completed; 0: the webhooks go at once."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic
    problems: list[str] = field(default_factory=list)
    """What could not be done, a sentence each."""

    async def run(self) -> None:
        """Whatever is missing or forbidden, the rest is done."""
        try:
            await self._run()
        except Unreachable as error:
            self._problem(str(error))

    async def _run(self) -> None:
        namespace, certificates = self.settings.service.namespace, self.settings.certificates
        lease = LeaseInHand(self.client, namespace, self.settings.leadership.lease_name, self.clock)
        gangs = Drain(self.client, lease, self.say, self._problem, self.sleep)
        told = await self._tell_the_running_ones(lease)
        async with self._going_on("gangs cannot be waited for"):
            await self._wait_for(gangs, told)
        await self._round()
        if not self.dev:
            async with self._going_on(f"webhooks {DEV_NAME} cannot be looked for"):
                await self._mention_dev()
        if not self.dry_run:
            await self.sleep(max(LOOK_SECONDS, lease.noticed_at - self.clock()))
            await self._until_nothing_comes_back()
        async with self._going_on("whether Jobs are split cannot be seen"):
            await gangs.tell_who_is_split()
        if certificates.mode == "self-managed":
            await self._remove(SECRETS, certificates.secret_name, namespace)
        await self._remove(LEASES, lease.name, namespace)

    async def _wait_for(self, gangs: Drain, told: bool) -> None:
        if not told or not self.wait_seconds:
            return
        await (gangs.would_wait() if self.dry_run else gangs.run(self.wait_seconds))

    async def _until_nothing_comes_back(self) -> None:
        for _ in range(1, ROUNDS):
            if not await self._round(again=True):
                return
            await self.sleep(LOOK_SECONDS)
        self._problem("a Muster that runs puts things back: scale its Deployment to 0, then run this again")

    async def _round(self, again: bool = False) -> bool:
        """The webhooks first: from then on nothing new needs Muster. True if there was anything."""
        found = False
        for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
            found |= await self._empty(resource, again)
            if self.dev:
                found |= await self._remove(resource, DEV_NAME, again=again)
        for profile in (CRD_IN_KUBERNETES_GROUP, CRD_IN_OWN_GROUP):
            async with self._going_on(f"PodGroups of {profile.group} cannot be released"):
                found |= await self._release(profile, again)
        return found

    async def _tell_the_running_ones(self, lease: LeaseInHand) -> bool:
        """True if there may be some."""
        async with self._going_on(f"the Lease {lease} cannot be taken"):
            if not await lease.take():
                self.say(f"there is no Lease {lease}: no replica has to be told")
                return False
            self._did(f"taken the Lease {lease}: replicas that run register nothing and begin no gang any more")
            return True
        return False

    async def _empty(self, resource: Resource, again: bool) -> bool:
        """The configuration itself stays: it belongs to the chart, and a Muster that starts again may not create it."""
        what = f"{resource} {NAME}"
        async with self._going_on(f"the webhooks of {what} cannot be removed"):
            try:
                had_any = await self._emptied(resource)
            except NotFound:
                had_any = False
            if had_any:
                self._did(f"removed the webhooks of {what}{', which had come back' if again else ''}")
            elif not again:
                self.say(f"there is no webhook in {what}")
            return had_any
        return False

    async def _emptied(self, resource: Resource) -> bool:
        for _ in range(TRIES):
            found = await self.client.get(resource, "", NAME)
            if text(mapping(found, "metadata"), "name") != NAME:
                raise Unreadable("the API server answers with something else")
            if not found.get("webhooks"):
                return False
            try:
                await self.client.replace(resource, "", NAME, {**found, "webhooks": []})
            except Conflict:
                continue
            return True
        raise Conflict("it keeps changing")

    async def _mention_dev(self) -> None:
        """A `muster run --dev` that was killed leaves webhooks that refuse pods."""
        for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
            try:
                await self.client.get(resource, "", DEV_NAME)
            except NotFound:
                continue
            self.say(f"{resource} {DEV_NAME} is of a `muster run --dev`: if none runs, it refuses pods; add --dev")

    async def _remove(self, resource: Resource, name: str, namespace: str = "", again: bool = False) -> bool:
        what = f"{resource} {f'{namespace}/' if namespace else ''}{name}"
        async with self._going_on(f"{what} cannot be removed"):
            try:
                await self.client.delete(resource, namespace, name, {})
            except NotFound:
                if not again:
                    self.say(f"there is no {what}")
                return False
            self._did(f"removed {what}{', which had come back' if again else ''}")
            return True
        return False

    async def _release(self, profile: ApiProfile, again: bool) -> bool:
        """Nobody else takes the finalizer off. On a server with the built-in API it is that server's own."""
        if profile.group == KUBERNETES_GROUP and await is_served(self.client, PRIORITY_CLASSES):
            return False
        try:
            protected = [
                metadata
                async for each in every_item(self.client, pod_groups(profile))
                if PROTECTION in texts(metadata := mapping(each, "metadata"), "finalizers")
            ]
        except NotFound:
            if not again:
                self.say(f"PodGroups of {profile.group} are not served here")
            return False
        released = 0
        for start in range(0, len(protected), AT_ONCE):
            some = protected[start : start + AT_ONCE]
            released += sum(await asyncio.gather(*(self._release_one(profile, each) for each in some)))
        if released or not again:
            self._did(f"released {released} PodGroups of {profile.group} from their finalizer")
        return bool(protected)

    async def _release_one(self, profile: ApiProfile, metadata: Raw) -> bool:
        """Of the very object that was listed. One that changed meanwhile is seen again in the next round."""
        namespace, name = text(metadata, "namespace"), text(metadata, "name")
        version = text(metadata, "resourceVersion", MAX_WORD)
        async with self._going_on(f"PodGroup {namespace}/{name} cannot be released"):
            try:
                finalizers = texts(metadata, "finalizers")
                await remove_protection(self.client, profile, (namespace, name), version, finalizers)
            except (NotFound, Conflict):
                return False
            return True
        return False

    def _did(self, what: str) -> None:
        self.say(f"{'would have ' if self.dry_run else ''}{what}")

    @asynccontextmanager
    async def _going_on(self, sentence: str) -> AsyncIterator[None]:
        """One sentence for what is in the way, then the next step. Where nobody answers, there is no next step."""
        try:
            yield
        except Unreachable:
            raise
        except (KubeError, Unreadable) as error:
            self._problem(f"{sentence}: {error}")

    def _problem(self, sentence: str) -> None:
        if sentence not in self.problems:
            self.problems.append(sentence)
