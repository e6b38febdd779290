"""Workloads and PodGroups of one API profile at the API server, as typed objects.

`seen` is called with each object that the API server answers with: the cache keeps it. An object that does not exist is
no error: reading it gives None, and deleting it does nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from muster.api.keys import ObjectKey
from muster.api.meta import MANAGED_BY, MANAGED_BY_LABEL, ObjectMeta
from muster.api.profile import ApiProfile
from muster.api.v1alpha2.podgroup import PROTECTION, PodGroup
from muster.api.v1alpha2.workload import Workload
from muster.api.wire import Unreadable
from muster.kube.client import KubeClient, Object, every_item
from muster.kube.errors import NotFound
from muster.kube.resources import pod_groups, workloads

STRANGERS = {"labelSelector": f"{MANAGED_BY_LABEL}!={MANAGED_BY}"}
"""Selects objects that Muster did not create. They are few, so a list is cheap. Muster's own are found by name."""


@dataclass(frozen=True, slots=True)
class Workloads:
    """Reads, creates and deletes Workloads. Owns nothing."""

    client: KubeClient
    profile: ApiProfile
    seen: Callable[[Workload], object]

    async def get(self, namespace: str, name: str) -> Workload | None:
        try:
            raw = await self.client.get(workloads(self.profile), namespace, name)
        except NotFound:
            return None
        return self._seen(raw)

    async def list_strangers(self, namespace: str) -> list[Workload]:
        """Those that Muster did not create, without those that cannot be read."""
        found = []
        async for raw in every_item(self.client, workloads(self.profile), namespace, STRANGERS):
            with suppress(Unreadable):
                found.append(self.profile.read_workload(raw))
        return found

    async def create(self, wanted: Workload) -> Workload:
        body = self.profile.manifest(wanted)
        return self._seen(await self.client.create(workloads(self.profile), wanted.metadata.namespace, body))

    async def delete(self, metadata: ObjectMeta) -> None:
        """Delete the object with this UID."""
        exactly = {"uid": str(metadata.uid)}
        with suppress(NotFound):
            await self.client.delete(workloads(self.profile), metadata.namespace, metadata.name, exactly)

    def _seen(self, raw: Object) -> Workload:
        workload = self.profile.read_workload(raw)
        self.seen(workload)
        return workload


@dataclass(frozen=True, slots=True)
class PodGroups:
    """Reads, creates and deletes PodGroups, and removes their protection. Owns nothing."""

    client: KubeClient
    profile: ApiProfile
    seen: Callable[[PodGroup], object]

    async def get(self, namespace: str, name: str) -> PodGroup | None:
        found = await self.get_stored(namespace, name)
        return None if found is None else found[0]

    async def get_stored(self, namespace: str, name: str) -> tuple[PodGroup, Object] | None:
        """The PodGroup, and the object as it is stored, with the fields that Muster does not know."""
        try:
            raw = await self.client.get(pod_groups(self.profile), namespace, name)
        except NotFound:
            return None
        return self._seen(raw), raw

    async def list_strangers(self, namespace: str) -> list[PodGroup]:
        """Those that Muster did not create, without those that cannot be read."""
        found = []
        async for raw in every_item(self.client, pod_groups(self.profile), namespace, STRANGERS):
            with suppress(Unreadable):
                found.append(self.profile.read_pod_group(raw))
        return found

    async def create(self, wanted: PodGroup) -> PodGroup:
        return await self.create_stored(wanted.metadata.namespace, self.profile.manifest(wanted))

    async def create_stored(self, namespace: str, body: Mapping[str, Any]) -> PodGroup:
        """From an object as it was stored."""
        return self._seen(await self.client.create(pod_groups(self.profile), namespace, dict(body)))

    async def delete(self, metadata: ObjectMeta, unchanged: bool = False) -> None:
        """Delete the object with this UID; with `unchanged`, only in the version that was read."""
        exactly = {"uid": str(metadata.uid)}
        if unchanged:
            exactly["resourceVersion"] = metadata.resource_version
        with suppress(NotFound):
            await self.client.delete(pod_groups(self.profile), metadata.namespace, metadata.name, exactly)

    async def remove_protection(self, metadata: ObjectMeta) -> None:
        key = metadata.namespace, metadata.name
        with suppress(NotFound):
            await remove_protection(self.client, self.profile, key, metadata.resource_version, metadata.finalizers)

    async def replace_conditions(self, metadata: ObjectMeta, conditions: list[dict[str, Any]]) -> None:
        """In the version that was read. If the PodGroup has changed since, it raises `Conflict`."""
        body = {"status": {"conditions": conditions}, "metadata": {"resourceVersion": metadata.resource_version}}
        await self.client.patch(pod_groups(self.profile), metadata.namespace, metadata.name, body, "status")

    def _seen(self, raw: Object) -> PodGroup:
        group = self.profile.read_pod_group(raw)
        self.seen(group)
        return group


async def remove_protection(
    client: KubeClient, profile: ApiProfile, key: ObjectKey, version: str, finalizers: Iterable[str]
) -> None:
    """Remove the protection finalizer from a PodGroup and keep all other finalizers.

    The patch names the resourceVersion that was read. If the PodGroup has changed since, it raises `Conflict`.
    """
    kept = [finalizer for finalizer in finalizers if finalizer != PROTECTION]
    await client.patch(pod_groups(profile), *key, {"metadata": {"finalizers": kept, "resourceVersion": version}})
