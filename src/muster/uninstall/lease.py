"""The Lease in the hands of `muster leave`: how the replicas that run are told, and how they say that they know."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from muster.api.wire import integer, mapping, text
from muster.core.election import LONGEST_BELIEVED_SECONDS, NOTICED, SHARE_OF_DURATION, TAKEN_FROM, UNINSTALL_HOLDER
from muster.kube.client import KubeClient, Object
from muster.kube.errors import Conflict, NotFound
from muster.kube.resources import LEASES

TRIES = 5
LOOK_SECONDS = 1.0


@dataclass(slots=True)
class LeaseInHand:
    client: KubeClient
    namespace: str
    name: str
    clock: Callable[[], float] = time.monotonic
    noticed_at: float = 0.0
    """When all who run have seen whose it is."""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    async def take(self) -> bool:
        """Also again, so that it does not run out. False if there is none: then nobody has to be told."""
        for _ in range(TRIES):
            try:
                lease = await self.client.get(LEASES, self.namespace, self.name)
                await self.client.replace(LEASES, self.namespace, self.name, _taken(lease))
            except NotFound:
                return False
            except Conflict:
                continue
            if self.noticed_at == 0.0:
                self.noticed_at = self.clock() + _noticed_after_seconds(lease)
            return True
        raise Conflict("it keeps changing")

    async def is_noticed(self) -> bool:
        """At least one replica says so: it is there, and completes gangs."""
        try:
            lease = await self.client.get(LEASES, self.namespace, self.name)
        except NotFound:
            return False
        return bool(text(mapping(mapping(lease, "metadata"), "annotations"), NOTICED))


def _taken(lease: Object) -> Object:
    metadata, spec = mapping(lease, "metadata"), mapping(lease, "spec")
    annotations, holder = dict(mapping(metadata, "annotations")), text(spec, "holderIdentity")
    if holder != UNINSTALL_HOLDER:  # who noticed an earlier `muster leave` may be gone
        annotations.pop(NOTICED, None)
        annotations[TAKEN_FROM] = holder
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {
        **lease,
        "metadata": {**metadata, "annotations": annotations},
        "spec": {**spec, "holderIdentity": UNINSTALL_HOLDER, "renewTime": now},
    }


def _noticed_after_seconds(lease: Object) -> float:
    """Until nobody leads, whether the leader hears of it or not, and the others have seen that it did.

    Also a Lease that nobody holds may be about to be taken.
    """
    spec = mapping(lease, "spec")
    if not text(spec, "holderIdentity"):
        return 2 * LOOK_SECONDS
    duration = min(float(max(0, integer(spec, "leaseDurationSeconds") or 0)), LONGEST_BELIEVED_SECONDS)
    return duration * SHARE_OF_DURATION + 2 * LOOK_SECONDS
