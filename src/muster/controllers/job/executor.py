"""Executes one write of a decision, and adds its outcome to what was observed."""

from dataclasses import dataclass, replace

from muster.api.v1alpha2.podgroup import PROTECTION, PodGroup
from muster.api.v1alpha2.workload import Workload
from muster.controllers.cache import Cache
from muster.controllers.job.attempts import Attempts
from muster.core import messages
from muster.core.actions import (
    CreatePodGroup,
    CreateWorkload,
    DeleteObject,
    DeletePodGroup,
    RecreatePodGroup,
    RemoveProtection,
    Write,
)
from muster.core.dropped_fields import dropped_policy
from muster.core.observed import Observed, Replaced
from muster.core.outcome import Written
from muster.core.ownership import serves
from muster.core.resize import resize_ended
from muster.kube.errors import AlreadyExists, Conflict, Forbidden, Rejected
from muster.kube.objects import PodGroups, Workloads


@dataclass(slots=True)
class Executor:
    """Creates and deletes Workloads and PodGroups, and keeps the outcome in the cache and the attempts. Owns nothing.

    After a name that is taken, it reads the object that has it.
    """

    workloads: Workloads
    pod_groups: PodGroups
    cache: Cache
    attempts: Attempts
    native: bool
    """The API is built in: its server drops the fields that it does not know."""

    async def execute(self, write: Write, seen: Observed) -> Written:
        try:
            written = await self._write(write, seen)
        except Rejected as error:
            written = Written(replace(seen, rejected=str(error), rejected_now=True))
        except Conflict:
            if not isinstance(write, DeletePodGroup | RemoveProtection | RecreatePodGroup):
                raise
            return Written(seen.changed_meanwhile())
        self.attempts.learn(written.seen)
        after, resized = resize_ended(written.seen)
        if resized is not None:
            self.attempts.resized(resized.pod_group, resized.done.size)
        return replace(written, seen=replace(after, proof=after.proof.after_write(written.created)), resized=resized)

    async def _write(self, write: Write, seen: Observed) -> Written:
        match write:
            case CreateWorkload(workload):
                return await self._create_workload(workload, seen)
            case CreatePodGroup(pod_group):
                return await self._create_pod_group(pod_group, seen)
            case DeleteObject(thing):
                return await self._release(thing, seen)
            case DeletePodGroup(pod_group, replaced):
                return await self._delete(pod_group, replaced, seen)
            case RemoveProtection(pod_group, replaced):
                return await self._remove_protection(pod_group, replaced, seen)
            case RecreatePodGroup():
                return await self._recreate(write, seen)

    async def _create_workload(self, wanted: Workload, seen: Observed) -> Written:
        name = wanted.metadata.name
        try:
            made = await self.workloads.create(wanted)
        except AlreadyExists:
            found = await self.workloads.get(wanted.metadata.namespace, name)
            if found is None:
                return Written(seen)  # gone again: decide again
            if not serves(found, wanted, seen.job):
                return Written(replace(seen, taken=seen.taken | {name}), taken=name)
            return Written(replace(seen, workloads=(*seen.workloads, found)))
        lost = dropped_policy(wanted, made, self.native)
        return Written(replace(seen, workloads=(*seen.workloads, made)), created=name, dropped=lost)

    async def _create_pod_group(self, wanted: PodGroup, seen: Observed) -> Written:
        name = wanted.metadata.name
        try:
            made = await self.pod_groups.create(wanted)
        except AlreadyExists:
            found = await self.pod_groups.get(wanted.metadata.namespace, name)
            if found is None:
                return Written(seen)
            if not serves(found, wanted, seen.job):
                return Written(replace(seen, taken=seen.taken | {name}), taken=name)
            return Written(replace(seen, pod_groups=(*seen.pod_groups, found)))
        except Forbidden as refusal:
            return await self._without_lost_workload(wanted, seen, refusal)
        lost = dropped_policy(wanted, made, self.native)
        return Written(replace(seen, pod_groups=(*seen.pod_groups, made)), created=name, dropped=lost)

    async def _release(self, thing: Workload | PodGroup, seen: Observed) -> Written:
        """The object with this UID. While a finalizer holds it, it exists, and is being deleted."""
        metadata = thing.metadata
        if isinstance(thing, PodGroup):
            await self.pod_groups.delete(metadata)
            if (group := await self.pod_groups.get(metadata.namespace, metadata.name)) is None:
                self.cache.drop_pod_group(metadata)
            return Written(seen.with_pod_group(metadata.name, group), released=f"PodGroup {metadata.name}")
        await self.workloads.delete(metadata)
        if (workload := await self.workloads.get(metadata.namespace, metadata.name)) is None:
            self.cache.drop_workload(metadata)
        others = (*(each for each in seen.workloads if each is not thing), *([workload] if workload else []))
        return Written(replace(seen, workloads=others), released=f"Workload {metadata.name}")

    async def _delete(self, group: PodGroup, replaced: Replaced, seen: Observed) -> Written:
        """Delete the PodGroup version that was read, and no newer one."""
        metadata = group.metadata
        await self.pod_groups.delete(metadata, unchanged=True)
        now = await self.pod_groups.get(metadata.namespace, metadata.name)
        if now is None:
            self.cache.drop_pod_group(metadata)
        elif now.metadata.uid == metadata.uid and now.metadata.deletion_timestamp is None:
            raise Conflict(messages.pod_group_not_deleted(metadata.name))
        return Written(replace(seen.with_pod_group(metadata.name, now), replaced=replaced))

    async def _remove_protection(self, group: PodGroup, replaced: Replaced, seen: Observed) -> Written:
        metadata = group.metadata
        await self.pod_groups.remove_protection(metadata)
        held = set(metadata.finalizers) - {PROTECTION}
        now = await self.pod_groups.get(metadata.namespace, metadata.name) if held else None
        if now is None:
            self.cache.drop_pod_group(metadata)
        return Written(replace(seen.with_pod_group(metadata.name, now), replaced=replaced))

    async def _recreate(self, wanted: RecreatePodGroup, seen: Observed) -> Written:
        name, namespace = wanted.name, seen.job.key.namespace if seen.job is not None else ""
        try:
            made = await self.pod_groups.create_stored(namespace, wanted.body)
        except AlreadyExists as error:
            found = await self.pod_groups.get(namespace, name)
            if found is None:
                raise Conflict(messages.pod_group_came_and_went(name)) from error
            return Written(seen.with_pod_group(name, found))
        except (Forbidden, Rejected):
            # The server rejects it as it was (its priority class has another value, say): then from the template.
            return Written(replace(seen, replaced=replace(seen.replaced, body=None) if seen.replaced else None))
        return Written(seen.with_pod_group(name, made))

    async def _without_lost_workload(self, wanted: PodGroup, seen: Observed, refusal: Forbidden) -> Written:
        """The server refuses a PodGroup whose Workload is gone. If that is why, a stale cache had it: decide again."""
        described = next((w for w in seen.workloads if w.metadata.name == wanted.workload_name), None)
        if refusal.lacks_right or described is None:
            raise refusal
        found = await self.workloads.get(wanted.metadata.namespace, wanted.workload_name)
        if found is not None and found.metadata.resource_version == described.metadata.resource_version:
            raise refusal
        if found is None:
            self.cache.drop_workload(described.metadata)
        others = tuple(w for w in seen.workloads if w is not described)
        return Written(replace(seen, workloads=(*others, *([found] if found else []))))
