"""Where replicas agree on one API profile: an annotation of their Lease."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from muster.api.lease import with_annotations
from muster.api.profile import ApiProfile, profile_named
from muster.api.wire import Unreadable, mapping, text
from muster.kube.client import KubeClient, Object
from muster.kube.errors import Conflict, NotFound
from muster.kube.resources import LEASES

PROFILE_ANNOTATION = "muster.dev/api-profile"
SETTLE_SECONDS = 5.0
"""From an agreement on another profile until it is used: by then every replica has read it, and has stopped."""


class Agreement(Protocol):
    settle_seconds: float
    """How long no replica uses any profile after an agreement on another one."""

    async def read(self) -> ApiProfile | None:
        """The profile that all replicas use; None if they have not agreed yet. Raises `KubeError`."""

    async def agree(self, on: ApiProfile, instead_of: ApiProfile | None) -> None:
        """Write it for all, unless another has written something else meanwhile. Raises `KubeError`."""


class OwnAgreement:
    """For a Muster that knows of no other replica. It lasts as long as the process."""

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
    """The election makes the Lease and keeps its annotations. If somebody deletes it, the agreement is written anew."""

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
        changed = with_annotations(lease, {PROFILE_ANNOTATION: on.name})
        with suppress(Conflict, NotFound):  # it was changed by another: decide again
            await self.client.replace(LEASES, self.namespace, self.name, changed)

    async def _lease(self) -> Object | None:
        try:
            return await self.client.get(LEASES, self.namespace, self.name)
        except NotFound:
            return None


def _agreed(lease: Object) -> ApiProfile | None:
    try:
        return profile_named(text(mapping(mapping(lease, "metadata"), "annotations"), PROFILE_ANNOTATION))
    except Unreadable:
        return None
