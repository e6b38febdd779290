"""Registers the webhooks while `muster run --dev` runs."""

import asyncio
import logging
from dataclasses import dataclass, field

from muster.api.profile import ApiProfile
from muster.config.types import Settings
from muster.core import messages, readiness
from muster.kube.client import KubeClient, Object
from muster.kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from muster.kube.lanes import Lane, in_lane
from muster.kube.resources import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS, Resource
from muster.runtime.health import ADMISSION, API, WATCHING, Health
from muster.webhooks.configurations import DEV_NAME, at_url, mutating_configuration, validating_configuration

logger = logging.getLogger(__name__)

TRIES = 5
REGISTER_AGAIN_SECONDS = 2.0


@dataclass(slots=True)
class DevWebhooks:
    """Webhooks that live as long as this process. They replace those of a killed process.

    Owns both webhook configurations `muster-dev`: it creates or replaces them, and deletes them at the end.
    """

    client: KubeClient
    base_url: str
    authority: bytes
    settings: Settings
    _registered: dict[Resource, Object] = field(default_factory=dict)

    def announce(self, health: Health) -> None:
        health.announce(ADMISSION, readiness.NO_WEBHOOKS_YET)

    @in_lane(Lane.CONTROL)
    async def keep(self, profile: ApiProfile, health: Health) -> None:
        """Register the webhooks once Muster can work. Until then the API server admits pods without Muster."""
        await health.wait_until_well(API, WATCHING)
        while True:
            try:
                await self.register(profile)
            except KubeError as error:
                health.problem(ADMISSION, readiness.webhooks_unregistered(str(error)))
                await asyncio.sleep(REGISTER_AGAIN_SECONDS)
            else:
                health.well(ADMISSION)
                return

    async def register(self, profile: ApiProfile) -> None:
        # The guard first: no gang may exist without it, even for a moment.
        reach = at_url(self.base_url, self.authority)
        validating = validating_configuration(DEV_NAME, reach, self.settings)
        mutating = mutating_configuration(DEV_NAME, reach, self.settings, profile)
        for resource, body in ((VALIDATING_WEBHOOKS, validating), (MUTATING_WEBHOOKS, mutating)):
            self._registered[resource] = await self._put(resource, body)

    @in_lane(Lane.CONTROL)
    async def remove(self) -> None:
        """Remove the webhooks, unless another process has taken them over."""
        for resource, made in reversed(self._registered.items()):
            metadata = made["metadata"]
            only_ours = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
            try:
                await self.client.delete(resource, "", DEV_NAME, only_ours)
            except (NotFound, Conflict):
                continue
            except KubeError as error:
                logger.warning("could not delete %s %s; run `muster leave --dev`: %s", resource.plural, DEV_NAME, error)
        self._registered = {}

    async def _put(self, resource: Resource, body: Object) -> Object:
        for _ in range(TRIES):
            try:
                return await self.client.create(resource, "", body)
            except AlreadyExists:
                pass
            try:
                found = await self.client.get(resource, "", DEV_NAME)
                version = {"resourceVersion": found["metadata"]["resourceVersion"]}
                return await self.client.replace(
                    resource, "", DEV_NAME, {**body, "metadata": {**body["metadata"], **version}}
                )
            except (NotFound, Conflict):
                continue
        raise Conflict(messages.keeps_changing(f"{resource.plural} {DEV_NAME}"))
