"""Keeps PodGroups of the CRD profiles as the built-in controllers keep theirs: their protection and their condition."""

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from muster.api.keys import ObjectKey
from muster.api.v1alpha2.podgroup import SCHEDULED, PodGroup
from muster.controllers.job.observer import Observer
from muster.controllers.podgroup.members import Members
from muster.core.podgroup_rules import MarkScheduled, RemoveProtection, keep
from muster.kube.errors import Conflict, NotFound
from muster.kube.objects import remove_protection
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
    """Does for PodGroups of CRDs what controllers of the built-in API do.

    Owns the queue of PodGroups and the index of members. It removes the protection finalizer from PodGroups that are
    being deleted, and sets the condition PodGroupScheduled.
    """

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
        observer, old = self.observer, group.metadata
        key = old.namespace, old.name
        await remove_protection(observer.client, observer.profile, key, old.resource_version, old.finalizers)

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
        old, body = group.metadata, {"status": {"conditions": [*kept, condition]}}
        exactly = {"metadata": {"resourceVersion": old.resource_version}}
        resource = pod_groups(self.observer.profile)
        await self.observer.client.patch(resource, old.namespace, old.name, {**body, **exactly}, "status")
