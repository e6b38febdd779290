"""Keeps PodGroups of the CRD profiles as the built-in controllers keep theirs: their protection and their condition."""

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from muster.api.keys import ObjectKey
from muster.api.v1alpha2.podgroup import PROTECTION, SCHEDULED, PodGroup
from muster.controllers.job.observer import Observer
from muster.controllers.podgroup.members import Members
from muster.core.podgroup_rules import MarkScheduled, RemoveProtection, keep
from muster.kube.client import Object
from muster.kube.errors import Conflict, NotFound
from muster.kube.resources import pod_groups
from muster.runtime.internal_errors import InternalErrors
from muster.runtime.metrics import Metrics
from muster.runtime.tasks import Task
from muster.runtime.worker import Workers
from muster.runtime.workqueue import WorkQueue

WORKERS = 4
LISTING_SECONDS = 1.0
"""How soon to look again while the members are still being listed."""


@dataclass(slots=True)
class PodGroupProtection:
    observer: Observer
    queue: WorkQueue[ObjectKey]
    errors: InternalErrors = field(default_factory=lambda: InternalErrors(Metrics()))
    members: Members = field(init=False)

    def __post_init__(self) -> None:
        self.members = Members(self.queue.add, self.errors)

    def workers(self) -> Workers[ObjectKey]:
        return Workers(Task.POD_GROUPS, self.queue, self.handle, self.errors, what="PodGroup", count=WORKERS)

    async def handle(self, key: ObjectKey) -> None:
        with suppress(NotFound, Conflict):  # it changed: the change is on its way here
            await self.keep(key)

    async def keep(self, key: ObjectKey) -> None:
        """One PodGroup, one write at most."""
        if not self.members.has_synced:
            self.queue.add_after(key, LISTING_SECONDS)
            return
        group = await self._look(key)
        if group is None:
            return
        match keep(group, self.members.of(key)):
            case RemoveProtection():
                await self._release(group)
            case MarkScheduled():
                await self._mark_scheduled(group)

    async def _look(self, key: ObjectKey) -> PodGroup | None:
        """While nothing is watched (half of the API is gone, say) the cache does not know what is being deleted.

        So a PodGroup whose last member has left is read: nobody would come back to it, and it could never go.
        """
        cache = self.observer.cache
        if cache.has_synced or any(pod.live for pod in self.members.of(key)):
            return cache.pod_group(*key)
        return await self.observer.pod_group(*key)

    async def _release(self, group: PodGroup) -> None:
        left = [finalizer for finalizer in group.metadata.finalizers if finalizer != PROTECTION]
        await self._patch(group, "", {"metadata": {"finalizers": left}})

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
        await self._patch(group, "status", {"status": {"conditions": [*kept, condition]}})

    async def _patch(self, group: PodGroup, part: str, body: Object) -> None:
        """A merge patch of the very object that was looked at, and of no later one."""
        metadata = {**body.get("metadata", {}), "resourceVersion": group.metadata.resource_version}
        observer = self.observer
        await observer.client.patch(
            pod_groups(observer.profile),
            group.metadata.namespace,
            group.metadata.name,
            {**body, "metadata": metadata},
            part,
        )
