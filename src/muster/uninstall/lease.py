"""The Lease in the hands of `muster leave`: how the replicas that run are told, and how they say that they know."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from muster.api.lease import NOTICED, TAKEN_FROM, UNINSTALL_HOLDER, Lease, micro_time, read_lease, with_annotations
from muster.api.wire import mapping
from muster.core.election import LONGEST_BELIEVED_SECONDS, SHARE_OF_DURATION
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
                self.noticed_at = self.clock() + _noticed_after_seconds(read_lease(lease))
            return True
        raise Conflict("it keeps changing")

    async def is_noticed(self) -> bool:
        """At least one replica says so: it is there, and completes gangs."""
        try:
            lease = await self.client.get(LEASES, self.namespace, self.name)
        except NotFound:
            return False
        return bool(read_lease(lease).noticed_by)


def _taken(lease: Object) -> Object:
    holder = read_lease(lease).holder
    if holder != UNINSTALL_HOLDER:  # who noticed an earlier `muster leave` may be gone
        lease = with_annotations(lease, {NOTICED: None, TAKEN_FROM: holder})
    held = {"holderIdentity": UNINSTALL_HOLDER, "renewTime": micro_time(datetime.now(UTC))}
    return {**lease, "spec": {**mapping(lease, "spec"), **held}}


def _noticed_after_seconds(lease: Lease) -> float:
    """Until nobody leads, whether the leader hears of it or not, and the others have seen that it did.

    Also a Lease that nobody holds may be about to be taken.
    """
    if not lease.holder:
        return 2 * LOOK_SECONDS
    return min(lease.duration_seconds, LONGEST_BELIEVED_SECONDS) * SHARE_OF_DURATION + 2 * LOOK_SECONDS
