"""How the replicas agree on one API profile: with an annotation of their Lease."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from muster.api.lease import agreed_on, read_lease
from muster.api.profile import ApiProfile, profile_named
from muster.api.wire import Unreadable
from muster.kube.client import KubeClient, Object
from muster.kube.errors import Conflict, NotFound
from muster.kube.resources import LEASES

SETTLE_SECONDS = 5.0
"""The time from an agreement on another profile to its use. By then every replica has read it and stopped."""


class Agreement(Protocol):
    settle_seconds: float
    """How long no replica uses any profile after an agreement on another one."""

    async def read(self) -> ApiProfile | None:
        """The profile that all replicas use; None if they have not agreed yet. Raises `KubeError`."""

    async def agree(self, on: ApiProfile, instead_of: ApiProfile | None) -> None:
        """Write the profile for all replicas, unless another replica has changed the agreement. Raises `KubeError`."""


class OwnAgreement:
    """For a single process without other replicas. It lasts as long as the process."""

    settle_seconds = 0.0

    def __init__(self) -> None:
        self._agreed: ApiProfile | None = None

    async def read(self) -> ApiProfile | None:
        return self._agreed

    async def agree(self, on: ApiProfile, instead_of: ApiProfile | None) -> None:
        if self._agreed == instead_of:
            self._agreed = on


@dataclass(slots=True)
class LeaseAgreement:
    """The agreement in an annotation of the Lease. Owns nothing; reads the Lease and writes that annotation.

    The election creates the Lease and keeps its annotations. If it is deleted, the leader writes the agreement
    again.
    """

    client: KubeClient
    namespace: str
    name: str
    settle_seconds: float = SETTLE_SECONDS

    async def read(self) -> ApiProfile | None:
        lease = await self._lease()
        return _agreed(lease) if lease is not None else None

    async def agree(self, on: ApiProfile, instead_of: ApiProfile | None) -> None:
        lease = await self._lease()
        if lease is None or _agreed(lease) != instead_of:
            return
        changed = agreed_on(lease, on.name)
        with suppress(Conflict, NotFound):  # another replica changed it: decide again
            await self.client.replace(LEASES, self.namespace, self.name, changed)

    async def _lease(self) -> Object | None:
        try:
            return await self.client.get(LEASES, self.namespace, self.name)
        except NotFound:
            return None


def _agreed(lease: Object) -> ApiProfile | None:
    try:
        return profile_named(read_lease(lease).profile)
    except Unreadable:
        return None
