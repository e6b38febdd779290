"""Maintains the webhook configurations of an installed Muster. Only the leader writes; Muster's namespace owns them.

The chart ships both configurations without webhooks, so Muster does not need the permission to create them: it has
`get` and `update` by name.
"""

import asyncio
import base64
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from cryptography import x509

from muster.api.profile import ApiProfile
from muster.config.types import Settings
from muster.core import readiness
from muster.kube.client import KubeClient, Object
from muster.kube.errors import Forbidden, KubeError, NotFound, plain_text
from muster.kube.lanes import Lane, in_lane
from muster.kube.resources import MUTATING_WEBHOOKS, NAMESPACES, VALIDATING_WEBHOOKS, Resource
from muster.runtime.health import ADMISSION, API, CERTIFICATE, SERVING, WATCHING, Health
from muster.serving.trust_bundle import TrustBundle
from muster.webhooks.configurations import NAME, at_service, mutating_configuration, validating_configuration
from muster.webhooks.narrowing import added_by_others, is_as_wanted, merged, wanted

logger = logging.getLogger(__name__)

SOON_SECONDS = 1.0

PATIENCE = 30
"""How often Muster tries to reach its own Service. After that it assumes that only this pod cannot reach it."""


def always() -> bool:
    return True


def never() -> bool:
    return False


async def at_once() -> bool:
    return True


@dataclass(slots=True)
class WebhookReconciler:
    """Keeps the webhook configurations up to date. Only the leader writes.

    Owns which warnings it has logged. It reads the configurations, Muster's namespace and the trust bundle. It updates
    configurations, creates none, and reports to `health`.
    """

    client: KubeClient
    settings: Settings
    trust_bundle: TrustBundle
    leads: Callable[[], bool] = always
    """Whether this replica leads. The other replicas would write the same, a little later."""
    uninstalled: Callable[[], bool] = never
    """Once true, no replica registers webhooks."""
    service_answers: Callable[[], Awaitable[bool]] = at_once
    """Whether a ready replica answers through the Service. Checked before the first webhooks are registered."""
    _patience: int = PATIENCE
    _took_over: bool = False
    _logged: set[str] = field(default_factory=set)
    """The warnings of the previous pass."""
    _logging: set[str] = field(default_factory=set)
    """The warnings of this pass."""

    def announce(self, health: Health) -> None:
        """Announces nothing: a replica must be ready before the Service sends it requests."""

    @in_lane(Lane.CONTROL)
    async def keep(self, profile: ApiProfile, health: Health) -> None:
        """Register the webhooks once Muster can work. Then keep them: other clients may change or delete them."""
        while True:
            await health.wait_until_well(API, WATCHING, CERTIFICATE, SERVING)
            settled = True
            if self.uninstalled():
                settled = await self._report_uninstalled(health)
            elif self.leads():
                settled = await self._update(profile, health)
            else:
                self._took_over = False
                health.well(ADMISSION)
            await asyncio.sleep(
                self.settings.probe_seconds if settled else min(SOON_SECONDS, self.settings.probe_seconds)
            )

    async def _update(self, profile: ApiProfile, health: Health) -> bool:
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
            self._logged, self._logging = self._logging, set()
        health.well(ADMISSION)
        return True

    async def _report_uninstalled(self, health: Health) -> bool:
        """Report that Muster was uninstalled, unless there are webhooks that still need answers."""
        if await self._in_place():
            return False
        health.problem(ADMISSION, readiness.UNINSTALLED)
        return True

    async def _is_reachable(self) -> bool:
        """A ready replica is reachable only after a while. Until then, pods must be admitted and not refused."""
        if self._patience <= 0 or await self.service_answers():
            return True
        self._patience -= 1
        if self._patience == 0:
            logger.warning("the Service %s does not answer; registering anyway", self.settings.service.host)
        return False

    async def _cannot(self, error: KubeError, health: Health) -> None:
        """Report the error. If webhooks exist, the replica stays ready, because it must answer them."""
        sentence = readiness.webhooks_unregistered(str(error))
        if await self._in_place():
            self._warn(sentence)
        else:
            health.problem(ADMISSION, sentence)

    async def register(self, profile: ApiProfile) -> None:
        """Write the configurations, if they differ."""
        reach = at_service(self.settings.service, self.trust_bundle.pem())
        owners = await self._owners()
        # The guard first: no gang may exist without it, even for a moment.
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
            raise NotFound(readiness.configurations_missing(missing, NAME))

    async def _put(self, resource: Resource, found: Object, wanted: Object) -> None:
        if added := added_by_others(found):
            what = plain_text("; ".join(added))
            added_to = f"{resource.plural} {NAME}"
            self._log_once(logging.INFO, f"other clients added selectors to {added_to}, and Muster keeps them: {what}")
        if is_as_wanted(found, wanted):
            return
        try:
            await self.client.replace(resource, "", NAME, merged(found, wanted))
        except Forbidden as error:
            # OwnerReferencesPermissionEnforcement lets only clients that may delete set owners. Write the rest.
            with_its_owners = {**wanted, "metadata": {**wanted["metadata"], "ownerReferences": []}}
            if not is_as_wanted(found, with_its_owners):
                await self.client.replace(resource, "", NAME, merged(found, with_its_owners))
            self._warn(
                readiness.owner_not_permitted(f"{resource.plural} {NAME}", self.settings.service.namespace, str(error))
            )
        else:
            logger.info("%s %s %s", "updated" if found.get("webhooks") else "registered", resource.plural, NAME)

    async def _owners(self) -> list[Object]:
        """Muster's namespace owns the configurations. If it is deleted, so is the Service, and the webhooks would
        refuse all pods.

        The UID is read each time: the garbage collector would delete configurations whose owner does not exist.
        """
        name = self.settings.service.namespace
        try:
            found = await self.client.get(NAMESPACES, "", name)
        except NotFound:
            self._warn(readiness.owner_missing(name))
            return []
        return [{"apiVersion": "v1", "kind": "Namespace", "name": name, "uid": found["metadata"]["uid"]}]

    def _warn(self, sentence: str) -> None:
        self._log_once(logging.WARNING, sentence)

    def _log_once(self, level: int, sentence: str) -> None:
        """Log the sentence once, for as long as it holds."""
        if sentence not in self._logged | self._logging:
            logger.log(level, "%s", sentence)
        self._logging.add(sentence)

    async def _in_place(self) -> bool:
        try:
            return await registered_authorities(self.client) is not None
        except KubeError:
            return True  # unknown


async def registered_authorities(client: KubeClient) -> frozenset[x509.Certificate] | None:
    """The authorities that the API server trusts for all webhooks of an installed Muster; None without webhooks."""
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
