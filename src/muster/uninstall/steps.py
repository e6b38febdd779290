"""`muster leave`: removes what would block the cluster once Muster is gone. It does not change pods and Jobs.

A running Muster would restore it. So `muster leave` takes the Lease first: every replica that sees this stops leading
permanently (core/election.py). It waits until all running replicas have seen it. From then on they begin no new gang;
existing gangs get time to get all their pods, because pods that are created later do not go through a webhook.
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
from muster.core import messages
from muster.kube.api_detection import server_owns_group
from muster.kube.client import KubeClient, every_item
from muster.kube.errors import Conflict, KubeError, NotFound, Unreachable
from muster.kube.objects import remove_protection
from muster.kube.resources import (
    LEASES,
    MUTATING_WEBHOOKS,
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
"""How often webhooks and PodGroups are checked. If something reappears every time, a client restores it."""
WAIT_SECONDS = 60
"""The default time for gangs to get all their pods."""


@dataclass(slots=True)
class Leave:
    """The steps of `muster leave`, in order.

    Owns `problems`: what fails is there. It takes the Lease, waits for gangs, empties the webhook configurations,
    removes the protection finalizers, and deletes the Secret with the certificates and the Lease.
    """

    client: KubeClient
    settings: Settings
    say: Callable[[str], None]
    dev: bool = False
    """Also remove what a killed `muster run --dev` left behind."""
    dry_run: bool = False
    """The API server stores nothing: there is nothing to wait for, and one round is enough."""
    wait_seconds: float = WAIT_SECONDS
    """Seconds for gangs to get all their pods; 0 removes the webhooks at once."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic
    problems: list[str] = field(default_factory=list)
    """The steps that failed, one sentence each."""

    async def run(self) -> None:
        """Run all steps. A step that fails does not prevent the others."""
        try:
            await self._run()
        except Unreachable as error:
            self._problem(str(error))

    async def _run(self) -> None:
        namespace, certificates = self.settings.service.namespace, self.settings.certificates
        lease = LeaseInHand(self.client, namespace, self.settings.leadership.lease_name, self.clock)
        gangs = Drain(self.client, lease, self.say, self._problem, self.sleep)
        notified = await self._notify_replicas(lease)
        async with self._record_failure("cannot wait for gangs"):
            await self._wait_for(gangs, notified)
        await self._round()
        if not self.dev:
            async with self._record_failure(f"cannot look for webhooks {DEV_NAME}"):
                await self._mention_dev()
        if not self.dry_run:
            await self.sleep(max(LOOK_SECONDS, lease.noticed_at - self.clock()))
            await self._until_nothing_reappears()
        async with self._record_failure("cannot check whether gangs are split"):
            await gangs.report_split_gangs()
        if certificates.mode == "self-managed":
            await self._remove(SECRETS, certificates.secret_name, namespace)
        await self._remove(LEASES, lease.name, namespace)

    async def _wait_for(self, gangs: Drain, notified: bool) -> None:
        if not notified or not self.wait_seconds:
            return
        await (gangs.would_wait() if self.dry_run else gangs.run(self.wait_seconds))

    async def _until_nothing_reappears(self) -> None:
        for _ in range(1, ROUNDS):
            if not await self._round(again=True):
                return
            await self.sleep(LOOK_SECONDS)
        self._problem("a running Muster restores what was removed: scale its Deployment to 0, then run this again")

    async def _round(self, again: bool = False) -> bool:
        """Remove the webhooks first, so that nothing new depends on Muster. True if anything was removed."""
        found = False
        for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
            found |= await self._empty(resource, again)
            if self.dev:
                found |= await self._remove(resource, DEV_NAME, again=again)
        for profile in (CRD_IN_KUBERNETES_GROUP, CRD_IN_OWN_GROUP):
            async with self._record_failure(f"the finalizer of PodGroups of {profile.group} cannot be removed"):
                found |= await self._remove_finalizers(profile, again)
        return found

    async def _notify_replicas(self, lease: LeaseInHand) -> bool:
        """Take the Lease. True if there may be running replicas."""
        async with self._record_failure(f"the Lease {lease} cannot be taken"):
            if not await lease.take():
                self.say(f"there is no Lease {lease}, so there is no replica to notify")
                return False
            self._did(f"acquired the Lease {lease}: running replicas register no webhooks and form no new gangs")
            return True
        return False

    async def _empty(self, resource: Resource, again: bool) -> bool:
        """Keep the configuration: it belongs to the chart, and Muster has no right to create it again."""
        what = f"{resource} {NAME}"
        async with self._record_failure(f"the webhooks of {what} cannot be removed"):
            try:
                had_any = await self._emptied(resource)
            except NotFound:
                had_any = False
            if had_any:
                self._did(f"removed the webhooks of {what}{', which had reappeared' if again else ''}")
            elif not again:
                self.say(f"there is no webhook in {what}")
            return had_any
        return False

    async def _emptied(self, resource: Resource) -> bool:
        for _ in range(TRIES):
            found = await self.client.get(resource, "", NAME)
            if text(mapping(found, "metadata"), "name") != NAME:
                raise Unreadable("the API server returned another object")
            if not found.get("webhooks"):
                return False
            try:
                await self.client.replace(resource, "", NAME, {**found, "webhooks": []})
            except Conflict:
                continue
            return True
        raise Conflict(messages.keeps_changing())

    async def _mention_dev(self) -> None:
        """A killed `muster run --dev` leaves webhooks behind that refuse pods."""
        for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
            try:
                await self.client.get(resource, "", DEV_NAME)
            except NotFound:
                continue
            self.say(
                f"{resource} {DEV_NAME} belongs to a `muster run --dev`. If that process has ended, the webhooks "
                "refuse pods: run `muster leave --dev`"
            )

    async def _remove(self, resource: Resource, name: str, namespace: str = "", again: bool = False) -> bool:
        what = f"{resource} {f'{namespace}/' if namespace else ''}{name}"
        async with self._record_failure(f"{what} cannot be removed"):
            try:
                await self.client.delete(resource, namespace, name, {})
            except NotFound:
                if not again:
                    self.say(f"there is no {what}")
                return False
            self._did(f"removed {what}{', which had reappeared' if again else ''}")
            return True
        return False

    async def _remove_finalizers(self, profile: ApiProfile, again: bool) -> bool:
        """Remove the finalizers of the CRDs' PodGroups. With the built-in API, the server removes its own."""
        if profile.group == KUBERNETES_GROUP and await server_owns_group(self.client, certain=True):
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
        removed = 0
        for start in range(0, len(protected), AT_ONCE):
            some = protected[start : start + AT_ONCE]
            removed += sum(await asyncio.gather(*(self._remove_finalizer(profile, each) for each in some)))
        if removed:
            self._did(f"removed the finalizer from {removed} PodGroups of {profile.group}")
        elif not again:
            self.say(f"there is no PodGroup of {profile.group} with the finalizer")
        return bool(protected)

    async def _remove_finalizer(self, profile: ApiProfile, metadata: Raw) -> bool:
        """Remove the finalizer, unless the object has changed since it was listed. The next round handles it then."""
        namespace, name = text(metadata, "namespace"), text(metadata, "name")
        version = text(metadata, "resourceVersion", MAX_WORD)
        async with self._record_failure(f"the finalizer of PodGroup {namespace}/{name} cannot be removed"):
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
    async def _record_failure(self, sentence: str) -> AsyncIterator[None]:
        """Record a failure and continue with the next step. If the API server does not answer, stop."""
        try:
            yield
        except Unreachable:
            raise
        except (KubeError, Unreadable) as error:
            self._problem(f"{sentence}: {error}")

    def _problem(self, sentence: str) -> None:
        if sentence not in self.problems:
            self.problems.append(sentence)
