"""The webhook configurations of an installed Muster: the leader keeps them right, and Muster's namespace owns them.

The chart ships both without webhooks, so Muster needs no right to create any: it has `get` and `update` by name.
"""

import asyncio
import base64
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from cryptography import x509

from muster.api.profile import ApiProfile
from muster.config.types import Settings
from muster.kube.client import KubeClient, Object
from muster.kube.errors import Forbidden, KubeError, NotFound, plain_text
from muster.kube.lanes import Lane, in_lane
from muster.kube.resources import MUTATING_WEBHOOKS, NAMESPACES, VALIDATING_WEBHOOKS, Resource
from muster.runtime.health import ADMISSION, API, CERTIFICATE, SERVING, WATCHING, Health
from muster.serving.trust_bundle import TrustBundle
from muster.webhooks.configurations import NAME, at_service, mutating_configuration, validating_configuration
from muster.webhooks.narrowing import added_by_others, is_as_wanted, put_right, wanted

logger = logging.getLogger(__name__)

SOON_SECONDS = 1.0
WHAT_TO_APPLY = "Muster may not create one: run `helm upgrade`, or `kubectl apply -f manifests/webhooks.yaml`"


PATIENCE = 30
"""How often the Service is asked before its silence is taken for our own inability to ask."""


def always() -> bool:
    return True


def never() -> bool:
    return False


async def at_once() -> bool:
    return True


@dataclass(slots=True)
class WebhookReconciler:
    """Keeps the webhook configurations as they should be. Only the leader writes.

    Reads the configurations, Muster's namespace and the trust bundle. It updates configurations, and creates none.
    """

    client: KubeClient
    settings: Settings
    trust_bundle: TrustBundle
    leads: Callable[[], bool] = always
    """Only the leader registers; the others would do the same, a little later."""
    uninstalled: Callable[[], bool] = never
    """Nobody registers any more."""
    service_answers: Callable[[], Awaitable[bool]] = at_once
    """Does a replica that is ready answer through the Service? Asked before there are webhooks that depend on it."""
    _patience: int = PATIENCE
    _took_over: bool = False
    _told: set[str] = field(default_factory=set)
    """What the last pass warned of."""
    _telling: set[str] = field(default_factory=set)
    """What this one does."""

    def announce(self, health: Health) -> None:
        """Nothing: a replica is sent requests when it is ready, so it has to be ready before there are any."""

    @in_lane(Lane.CONTROL)
    async def keep(self, profile: ApiProfile, health: Health) -> None:
        """Once Muster can do its work, and not before. Then for ever: somebody may change or delete them."""
        while True:
            await health.wait_until_well(API, WATCHING, CERTIFICATE, SERVING)
            settled = True
            if self.uninstalled():
                settled = await self._tell_that_it_is_left(health)
            elif self.leads():
                settled = await self._put_right(profile, health)
            else:
                self._took_over = False
                health.well(ADMISSION)
            await asyncio.sleep(
                self.settings.probe_seconds if settled else min(SOON_SECONDS, self.settings.probe_seconds)
            )

    async def _put_right(self, profile: ApiProfile, health: Health) -> bool:
        try:
            trusted = await registered_authorities(self.client)
            if trusted is None and not await self._is_reachable():
                return False
            if not self._took_over:
                self.trust_bundle.recall(trusted or ())
                self._took_over = True
            await self.register(profile)
        except KubeError as error:
            await self._cannot(error, health)
            return False
        finally:
            self._told, self._telling = self._telling, set()
        health.well(ADMISSION)
        return True

    async def _tell_that_it_is_left(self, health: Health) -> bool:
        """While there are webhooks, they are answered."""
        if await self._in_place():
            return False
        health.problem(
            ADMISSION, "`muster leave` has removed the webhooks; they come back when Muster is started again"
        )
        return True

    async def _is_reachable(self) -> bool:
        """It takes a while from being ready to being reached. Pods pass meanwhile, and must not be refused instead."""
        if self._patience <= 0 or await self.service_answers():
            return True
        self._patience -= 1
        if self._patience == 0:
            logger.warning("the Service %s does not answer; registering all the same", self.settings.service.host)
        return False

    async def _cannot(self, error: KubeError, health: Health) -> None:
        """While webhooks are in place, replicas have to go on answering them: then it is told, and no more."""
        sentence = f"the webhooks cannot be registered: {error}"
        if await self._in_place():
            self._warn(sentence)
        else:
            health.problem(ADMISSION, sentence)

    async def register(self, profile: ApiProfile) -> None:
        """What is right already costs no write."""
        reach = at_service(self.settings.service, self.trust_bundle.pem())
        owners = await self._owners()
        # The guard first: a gang must not exist for a moment without it.
        validating = validating_configuration(NAME, reach, self.settings)
        mutating = mutating_configuration(NAME, reach, self.settings, profile)
        missing: list[str] = []
        for resource, body in ((VALIDATING_WEBHOOKS, validating), (MUTATING_WEBHOOKS, mutating)):
            try:
                found = await self.client.get(resource, "", NAME)
                if found.get("webhooks") or not missing:
                    await self._put(resource, found, wanted(body, owners))
            except NotFound:
                missing.append(body["kind"])
        if missing:
            raise NotFound(f"there is no {' and no '.join(missing)} {NAME}, and {WHAT_TO_APPLY}")

    async def _put(self, resource: Resource, found: Object, wanted: Object) -> None:
        if added := added_by_others(found):
            what = plain_text("; ".join(added))
            self._tell(logging.INFO, f"others narrow {resource.plural} {NAME}, and Muster keeps it: {what}")
        if is_as_wanted(found, wanted):
            return
        try:
            await self.client.replace(resource, "", NAME, put_right(found, wanted))
        except Forbidden as error:
            # Where OwnerReferencesPermissionEnforcement is on, only who may delete changes owners. The rest counts.
            with_its_owners = {**wanted, "metadata": {**wanted["metadata"], "ownerReferences": []}}
            if not is_as_wanted(found, with_its_owners):
                await self.client.replace(resource, "", NAME, put_right(found, with_its_owners))
            self._warn(
                f"{resource.plural} {NAME} has no owner, and stays when somebody deletes the namespace "
                f"{self.settings.service.namespace}: {error}"
            )
        else:
            logger.info("%s %s %s", "put right" if found.get("webhooks") else "registered", resource.plural, NAME)

    async def _owners(self) -> list[Object]:
        """Muster's namespace: with it goes the Service, and the webhooks would refuse every pod.

        Its UID is read anew each time: an owner that is gone would take the webhooks along.
        """
        name = self.settings.service.namespace
        try:
            found = await self.client.get(NAMESPACES, "", name)
        except NotFound:
            self._warn(f"namespace {name} does not exist, so nothing owns the webhooks: they stay when Muster goes")
            return []
        return [{"apiVersion": "v1", "kind": "Namespace", "name": name, "uid": found["metadata"]["uid"]}]

    def _warn(self, sentence: str) -> None:
        self._tell(logging.WARNING, sentence)

    def _tell(self, level: int, sentence: str) -> None:
        """Once, for as long as it is so."""
        if sentence not in self._told | self._telling:
            logger.log(level, "%s", sentence)
        self._telling.add(sentence)

    async def _in_place(self) -> bool:
        try:
            return await registered_authorities(self.client) is not None
        except KubeError:
            return True  # nobody knows


async def registered_authorities(client: KubeClient) -> frozenset[x509.Certificate] | None:
    """Those that the API server trusts for every webhook of an installed Muster; None if there is no webhook."""
    trusted: list[frozenset[x509.Certificate]] = []
    for resource in (VALIDATING_WEBHOOKS, MUTATING_WEBHOOKS):
        try:
            found = await client.get(resource, "", NAME)
        except NotFound:
            continue
        trusted += [_authorities(webhook) for webhook in found.get("webhooks") or ()]
    return frozenset.intersection(*trusted) if trusted else None


def _authorities(webhook: Object) -> frozenset[x509.Certificate]:
    try:
        bundle = base64.b64decode((webhook.get("clientConfig") or {}).get("caBundle") or "", validate=True)
        return frozenset(x509.load_pem_x509_certificates(bundle))
    except ValueError:
        return frozenset()
