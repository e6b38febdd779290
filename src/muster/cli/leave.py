"""`muster leave`: takes away what would stand in somebody's way once Muster is gone. Pods and Jobs are not touched.

A Muster that still runs would put it back. So the Lease is taken first: every replica that sees this stands back for
good (core/election.py), and those that run get the time to see it.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from muster.admission.webhooks import DEV_NAME, NAME
from muster.api.dialect import CRD_IN_KUBERNETES_GROUP, CRD_IN_OWN_GROUP, Dialect
from muster.api.podgroup import PROTECTION
from muster.api.wire import Unreadable, integer, mapping, text
from muster.config.types import Settings
from muster.core.election import LEFT, LONGEST_BELIEVED_SECONDS
from muster.kube.client import KubeClient, Object, every_item
from muster.kube.credentials import Credentials
from muster.kube.errors import Conflict, KubeError, NotFound, Unreachable
from muster.kube.http import HttpClient
from muster.kube.resources import (
    LEASES,
    MUTATING_WEBHOOKS,
    PRIORITY_CLASSES,
    SECRETS,
    VALIDATING_WEBHOOKS,
    Resource,
    pod_groups,
)

TRIES = 5
AT_ONCE = 32
ROUNDS = 3
"""How often webhooks and PodGroups are looked at: what comes back each time has somebody who puts it back."""
BETWEEN_SECONDS = 1.0
SHARE_OF_DURATION = 0.5
"""A leader looks at its Lease at least twice in its duration."""


@dataclass(slots=True)
class Leave:
    client: KubeClient
    settings: Settings
    say: Callable[[str], None]
    dev: bool = False
    """Also what a killed `muster run --dev` left behind."""
    dry_run: bool = False
    """The client stores nothing: then there is nothing to wait for, and one round shows all."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    problems: list[str] = field(default_factory=list)
    """What could not be done, a sentence each."""

    async def run(self) -> None:
        """Whatever is missing or forbidden, the rest is done."""
        try:
            await self._run()
        except Unreachable as error:
            self._problem(str(error))

    async def _run(self) -> None:
        noticed_at = time.monotonic() + await self._tell_the_running_ones()
        await self._round()
        if not self.dry_run:
            await self.sleep(max(BETWEEN_SECONDS, noticed_at - time.monotonic()))
            await self._until_nothing_comes_back()
        certificates, lease = self.settings.certificates, self.settings.leadership.lease_name
        if certificates.mode == "self-managed":
            await self._remove(SECRETS, certificates.secret_name, self.settings.service.namespace)
        await self._remove(LEASES, lease, self.settings.service.namespace)

    async def _until_nothing_comes_back(self) -> None:
        for _ in range(1, ROUNDS):
            if not await self._round(again=True):
                return
            await self.sleep(BETWEEN_SECONDS)
        self._problem("a Muster that runs puts things back: scale its Deployment to 0, then run this again")

    async def _round(self, again: bool = False) -> bool:
        """The webhooks first: from then on nothing new needs Muster. True if there was anything."""
        found = False
        for name in (NAME, *((DEV_NAME,) if self.dev else ())):
            for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
                found |= await self._remove(resource, name, again=again)
        for dialect in (CRD_IN_KUBERNETES_GROUP, CRD_IN_OWN_GROUP):
            async with self._going_on(f"PodGroups of {dialect.group} cannot be released"):
                found |= await self._release(dialect, again)
        return found

    async def _tell_the_running_ones(self) -> float:
        """The seconds until each of them has seen that the Lease is taken from it."""
        namespace, name = self.settings.service.namespace, self.settings.leadership.lease_name
        async with self._going_on(f"the Lease {namespace}/{name} cannot be taken"):
            for _ in range(TRIES):
                try:
                    lease = await self.client.get(LEASES, namespace, name)
                    await self.client.replace(LEASES, namespace, name, _taken(lease))
                except NotFound:
                    self.say(f"there is no Lease {namespace}/{name}: no replica has to be told")
                    return 0.0
                except Conflict:
                    continue
                self._did(f"taken the Lease {namespace}/{name}: replicas that run register nothing any more")
                return _noticed_after_seconds(lease)
            raise Conflict("it keeps changing")
        return 0.0

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

    async def _release(self, dialect: Dialect, again: bool) -> bool:
        """Nobody else takes the finalizer off. On a server with the built-in API it is that server's own."""
        if dialect.group == PRIORITY_CLASSES.group and await self._is_served(PRIORITY_CLASSES):
            return False
        try:
            protected = [
                each["metadata"]
                async for each in every_item(self.client, pod_groups(dialect))
                if PROTECTION in (each["metadata"].get("finalizers") or ())
            ]
        except NotFound:
            if not again:
                self.say(f"PodGroups of {dialect.group} are not served here")
            return False
        released = 0
        for start in range(0, len(protected), AT_ONCE):
            some = protected[start : start + AT_ONCE]
            released += sum(await asyncio.gather(*(self._release_one(dialect, each) for each in some)))
        if released or not again:
            self._did(f"released {released} PodGroups of {dialect.group} from their finalizer")
        return bool(protected)

    async def _release_one(self, dialect: Dialect, metadata: Object) -> bool:
        """Of the very object that was listed. One that changed meanwhile is seen again in the next round."""
        namespace, name = metadata["namespace"], metadata["name"]
        left = [each for each in metadata["finalizers"] if each != PROTECTION]
        body = {"metadata": {"resourceVersion": metadata["resourceVersion"], "finalizers": left}}
        async with self._going_on(f"PodGroup {namespace}/{name} cannot be released"):
            try:
                await self.client.patch(pod_groups(dialect), namespace, name, body)
            except (NotFound, Conflict):
                return False
            return True
        return False

    async def _is_served(self, resource: Resource) -> bool:
        try:
            await self.client.list(resource, params={"limit": "1"})
        except NotFound:
            return False
        return True

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


async def leave(credentials: Credentials, settings: Settings, dev: bool, dry_run: bool) -> list[str]:
    """What could not be done, a sentence each."""
    async with HttpClient(credentials, dry_run=dry_run) as client:
        leaving = Leave(client, settings, print, dev, dry_run)
        await leaving.run()
        return leaving.problems


def _taken(lease: Object) -> Object:
    return {**lease, "spec": {**mapping(lease, "spec"), "holderIdentity": LEFT}}


def _noticed_after_seconds(lease: Object) -> float:
    """Also a Lease that nobody holds may be about to be taken."""
    spec = mapping(lease, "spec")
    if not text(spec, "holderIdentity"):
        return 2 * BETWEEN_SECONDS
    duration = min(float(max(0, integer(spec, "leaseDurationSeconds") or 0)), LONGEST_BELIEVED_SECONDS)
    return duration * SHARE_OF_DURATION + BETWEEN_SECONDS
