"""How `muster leave` uses the Lease: it takes the Lease to notify the running replicas, and they sign it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from muster.api.lease import Lease, read_lease, taken_for_uninstall
from muster.core import messages
from muster.core.election import LONGEST_BELIEVED_SECONDS, SHARE_OF_DURATION
from muster.kube.client import KubeClient
from muster.kube.errors import Conflict, NotFound
from muster.kube.resources import LEASES

TRIES = 5
LOOK_SECONDS = 1.0


@dataclass(slots=True)
class LeaseInHand:
    """The Lease, held by `muster leave`. Owns when every replica has noticed; reads and replaces the Lease."""

    client: KubeClient
    namespace: str
    name: str
    clock: Callable[[], float] = time.monotonic
    noticed_at: float = 0.0
    """When all running replicas have seen the new holder."""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    async def take(self) -> bool:
        """Take the Lease, or renew it. False if there is no Lease, and so no replica to notify."""
        for _ in range(TRIES):
            try:
                lease = await self.client.get(LEASES, self.namespace, self.name)
                await self.client.replace(
                    LEASES, self.namespace, self.name, taken_for_uninstall(lease, datetime.now(UTC))
                )
            except NotFound:
                return False
            except Conflict:
                continue
            if self.noticed_at == 0.0:
                self.noticed_at = self.clock() + _noticed_after_seconds(read_lease(lease))
            return True
        raise Conflict(messages.keeps_changing())

    async def is_noticed(self) -> bool:
        """At least one replica has signed: it runs and completes gangs."""
        try:
            lease = await self.client.get(LEASES, self.namespace, self.name)
        except NotFound:
            return False
        return bool(read_lease(lease).noticed_by)


def _noticed_after_seconds(lease: Lease) -> float:
    """Seconds until no replica leads, even if the leader does not notice, and until the others have seen that.

    A Lease without a holder needs time too: a replica may be about to take it.
    """
    if not lease.holder:
        return 2 * LOOK_SECONDS
    return min(lease.duration_seconds, LONGEST_BELIEVED_SECONDS) * SHARE_OF_DURATION + 2 * LOOK_SECONDS
