"""Maintains the protection finalizer and the condition of PodGroups in the CRD profiles."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from muster.api.keys import ObjectKey
from muster.api.v1alpha2.podgroup import SCHEDULED, PodGroup
from muster.controllers.cache import Cache
from muster.controllers.podgroup.members import Members
from muster.core.podgroup_rules import MarkScheduled, RemoveFinalizer, protection_step
from muster.kube.errors import Conflict, NotFound
from muster.kube.objects import PodGroups
from muster.runtime.internal_errors import InternalErrors
from muster.runtime.tasks import Task
from muster.runtime.worker import Workers
from muster.runtime.workqueue import WorkQueue

WORKERS = 4
LISTING_SECONDS = 1.0
"""How soon to retry while the members are still being listed."""


@dataclass(slots=True)
class PodGroupProtection:
    """Does for PodGroups of CRDs what controllers of the built-in API do.

    Owns nothing. It reads `members`, the cache, and PodGroups that the cache does not know. It removes the protection
    finalizer from PodGroups that are being deleted, and sets the condition PodGroupScheduled.
    """

    pod_groups: PodGroups
    cache: Cache
    queue: WorkQueue[ObjectKey]
    members: Members
    errors: InternalErrors

    def workers(self) -> Workers[ObjectKey]:
        return Workers(Task.POD_GROUP_PROTECTION, self.queue, self.handle, self.errors, about=_about, count=WORKERS)

    async def handle(self, key: ObjectKey) -> None:
        with suppress(NotFound, Conflict):  # it changed: a watch event follows
            await self.protect(key)

    async def protect(self, key: ObjectKey) -> None:
        """Handle one PodGroup with at most one write."""
        if not self.members.has_synced:
            self.queue.add_after(key, LISTING_SECONDS)
            return
        group = await self._look(key)
        if group is None:
            return
        match protection_step(group, self.members.of(key)):
            case RemoveFinalizer():
                await self.pod_groups.remove_protection(group.metadata)
            case MarkScheduled():
                await self._mark_scheduled(group)

    async def _look(self, key: ObjectKey) -> PodGroup | None:
        """The PodGroup, from the API server if needed: without a watch, the cache does not know what is being deleted.

        This happens, for example, when only one kind of the API is served. Without this read, a PodGroup whose last
        member has ended would keep its finalizer forever.
        """
        cache = self.cache
        if cache.has_synced or any(pod.live for pod in self.members.of(key)):
            return cache.pod_group(*key)
        return await self.pod_groups.get(*key)

    async def _mark_scheduled(self, group: PodGroup) -> None:
        condition = {
            "type": SCHEDULED,
            "status": "True",
            "reason": "Scheduled",
            "message": "",
            "observedGeneration": group.metadata.generation,
            "lastTransitionTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        others = [c for c in group.status.conditions if c.type != SCHEDULED] if group.status else []
        kept = [other.model_dump(mode="json", by_alias=True, exclude_none=True) for other in others]
        await self.pod_groups.replace_conditions(group.metadata, [*kept, condition])


def _about(key: ObjectKey) -> str:
    return f"PodGroup {'/'.join(key)}"
