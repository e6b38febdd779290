"""Installs and removes Muster's CRDs."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from muster.api.profile import VERSION
from muster.crds.definitions import KINDS, Kind, Object, crd_name, definition
from muster.crds.ownership import is_ours
from muster.crds.server_support import CRDS, InstallRefused
from muster.kube.client import KubeClient, every_item
from muster.kube.errors import Conflict, KubeError, NotFound
from muster.kube.resources import Resource

PATIENCE_SECONDS = 90.0
"""A server that has just started, or cleans up CRDs that do not work, needs more than half a minute."""
LOOK_AGAIN_SECONDS = 0.1


class CrdClient(KubeClient, Protocol):
    async def apply(self, resource: Resource, namespace: str, name: str, body: Object) -> Object: ...


@dataclass(frozen=True, slots=True)
class Installed:
    """One of Muster's CRDs that is on the server."""

    kind: Kind
    group: str
    uid: str
    objects: int | None
    """How many objects are deleted with the CRD; None if the server does not list them."""

    @property
    def name(self) -> str:
        return crd_name(self.kind, self.group)


async def install(client: CrdClient, group: str) -> None:
    """Create or upgrade the CRDs of the group, and wait until the server serves them. Existing objects are kept."""
    try:
        for kind in KINDS:
            made = await client.apply(CRDS, "", crd_name(kind, group), definition(kind, group))
            if made["metadata"].get("deletionTimestamp"):
                raise InstallRefused(f"{crd_name(kind, group)} is being deleted: run this again once it is gone")
    except KubeError as error:
        raise InstallRefused(f"the CRDs of {group} cannot be installed: {error}") from error
    for kind in KINDS:

        async def served(kind: Kind = kind) -> bool:
            return await _is_served(client, kind, group)

        if not await _eventually(served):
            name, seconds = crd_name(kind, group), f"{PATIENCE_SECONDS:.0f} s"
            raise InstallRefused(f"{name} was installed, and after {seconds} the API server still does not serve it")


async def find_installed(client: KubeClient, groups: Iterable[str]) -> list[Installed]:
    """Muster's CRDs in these groups. A CRD of the same name that Muster did not create is ignored."""
    found: list[Installed] = []
    try:
        for group in groups:
            for kind in KINDS:
                crd = await _get(client, crd_name(kind, group))
                if crd is not None and is_ours(crd):
                    found.append(Installed(kind, group, crd["metadata"]["uid"], await _count(client, kind, group)))
    except KubeError as error:
        raise InstallRefused(str(error)) from error
    return found


async def uninstall(client: KubeClient, installed: list[Installed]) -> None:
    """Delete exactly these CRDs, and wait until they are gone."""
    try:
        for each in installed:
            await _delete(client, each)
    except KubeError as error:
        raise InstallRefused(f"the CRDs cannot be removed: {error}") from error
    for each in installed:

        async def gone(each: Installed = each) -> bool:
            return await _get(client, each.name) is None

        if not await _eventually(gone):
            raise InstallRefused(f"{each.name} is being deleted, and waits for the finalizers of its objects")


async def _delete(client: KubeClient, installed: Installed) -> None:
    try:
        await client.delete(CRDS, "", installed.name, {"uid": installed.uid})
    except NotFound:
        return
    except Conflict as error:
        raise InstallRefused(f"{installed.name} was replaced in the meantime: run this again") from error


async def _is_served(client: KubeClient, kind: Kind, group: str) -> bool:
    crd = await _get(client, crd_name(kind, group))
    conditions = ((crd or {}).get("status") or {}).get("conditions") or []
    established = any(each["type"] == "Established" and each["status"] == "True" for each in conditions)
    return established and await _count(client, kind, group, limit=1) is not None


async def _count(client: KubeClient, kind: Kind, group: str, limit: int = 0) -> int | None:
    resource, count = Resource(group, VERSION, kind.plural), 0
    try:
        async for _ in every_item(client, resource):
            count += 1
            if count == limit:
                break
    except NotFound:
        return None
    return count


async def _get(client: KubeClient, name: str) -> Object | None:
    try:
        return await client.get(CRDS, "", name)
    except NotFound:
        return None


async def _eventually(check: Callable[[], Awaitable[bool]]) -> bool:
    """Retry the check: a server needs a moment to notice a new CRD, and may be busy."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        try:
            if await check():
                return True
        except KubeError:
            pass
        await asyncio.sleep(LOOK_AGAIN_SECONDS)
    return False
