"""Execution: exactly one write, and what was learnt from it added to what was seen."""

from contextlib import suppress
from dataclasses import dataclass, replace

from muster.api.v1alpha2.podgroup import PodGroup
from muster.api.v1alpha2.workload import Workload
from muster.controllers.job.observer import Observer
from muster.core.actions import Action, CreateWorkload
from muster.core.dropped_fields import dropped_policy
from muster.core.observed import Observed
from muster.core.ownership import is_leftover
from muster.core.suspension import DeleteObject
from muster.kube.errors import AlreadyExists, Forbidden, NotFound, Rejected
from muster.kube.resources import pod_groups, workloads


@dataclass(frozen=True, slots=True)
class Written:
    """The outcome of one write."""

    seen: Observed
    created: str = ""
    """Name of the object that this write made; empty if it made none."""
    taken: str = ""
    """Name that turned out to be a stranger's."""
    dropped: str = ""
    """What the server did not keep of it, as a sentence."""
    released: str = ""
    """Kind and name of the object that this write deleted."""


@dataclass(slots=True)
class Executor:
    observer: Observer

    async def execute(self, action: Action, seen: Observed) -> Written:
        try:
            if isinstance(action, DeleteObject):
                return await self._release(action.thing, seen)
            if isinstance(action, CreateWorkload):
                return await self._create_workload(action.workload, seen)
            return await self._create_pod_group(action.pod_group, seen)
        except Rejected as error:
            return Written(replace(seen, rejected=str(error), rejected_now=True))

    async def _create_workload(self, wanted: Workload, seen: Observed) -> Written:
        observer, name, namespace = self.observer, wanted.metadata.name, wanted.metadata.namespace
        try:
            body = observer.profile.manifest(wanted)
            made = observer.profile.read_workload(
                await observer.client.create(workloads(observer.profile), namespace, body)
            )
        except AlreadyExists:
            found = await observer.workload(namespace, name)
            if found is None:
                return Written(seen)  # gone again: decide again
            if seen.job is None or found.job_key != seen.job.key or is_leftover(found.metadata, seen.job):
                return Written(_taken(seen, name), taken=name)
            return Written(replace(seen, workloads=(*seen.workloads, found)))
        observer.cache.put_workload(made)
        lost = dropped_policy(wanted, made, observer.profile.native)
        return Written(replace(seen, workloads=(*seen.workloads, made)), created=name, dropped=lost)

    async def _create_pod_group(self, wanted: PodGroup, seen: Observed) -> Written:
        observer, name, namespace = self.observer, wanted.metadata.name, wanted.metadata.namespace
        try:
            body = observer.profile.manifest(wanted)
            made = observer.profile.read_pod_group(
                await observer.client.create(pod_groups(observer.profile), namespace, body)
            )
        except AlreadyExists:
            found = await observer.pod_group(namespace, name)
            if found is None:
                return Written(seen)
            if seen.job is None or found.workload_name != wanted.workload_name or is_leftover(found.metadata, seen.job):
                return Written(_taken(seen, name), taken=name)
            return Written(replace(seen, pod_groups=(*seen.pod_groups, found)))
        except Forbidden as refusal:
            return await self._without_lost_workload(wanted, seen, refusal)
        observer.cache.put_pod_group(made)
        lost = dropped_policy(wanted, made, observer.profile.native)
        return Written(replace(seen, pod_groups=(*seen.pod_groups, made)), created=name, dropped=lost)

    async def _release(self, thing: Workload | PodGroup, seen: Observed) -> Written:
        """That very object, by its UID. What a finalizer still holds is there for a while, and being deleted."""
        observer, metadata = self.observer, thing.metadata
        exactly, key = {"uid": str(metadata.uid)}, (metadata.namespace, metadata.name)
        if isinstance(thing, PodGroup):
            with suppress(NotFound):
                await observer.client.delete(pod_groups(observer.profile), *key, exactly)
            if (group := await observer.pod_group(*key)) is None:
                observer.cache.drop_pod_group(metadata)
            groups = (*(each for each in seen.pod_groups if each is not thing), *([group] if group else []))
            return Written(replace(seen, pod_groups=groups), released=f"PodGroup {metadata.name}")
        with suppress(NotFound):
            await observer.client.delete(workloads(observer.profile), *key, exactly)
        if (workload := await observer.workload(*key)) is None:
            observer.cache.drop_workload(metadata)
        others = (*(each for each in seen.workloads if each is not thing), *([workload] if workload else []))
        return Written(replace(seen, workloads=others), released=f"Workload {metadata.name}")

    async def _without_lost_workload(self, wanted: PodGroup, seen: Observed, refusal: Forbidden) -> Written:
        """The server refuses a PodGroup whose Workload is gone. If that is why, a stale cache had it: decide again."""
        described = next((w for w in seen.workloads if w.metadata.name == wanted.workload_name), None)
        if refusal.lacks_right or described is None:
            raise refusal
        found = await self.observer.workload(wanted.metadata.namespace, wanted.workload_name)
        if found is not None and found.metadata.resource_version == described.metadata.resource_version:
            raise refusal
        if found is None:
            self.observer.cache.drop_workload(described.metadata)
        others = tuple(w for w in seen.workloads if w is not described)
        return Written(replace(seen, workloads=(*others, *([found] if found else []))))


def _taken(seen: Observed, name: str) -> Observed:
    return replace(seen, taken=seen.taken | {name})
