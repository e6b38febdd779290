"""Replaces a gang's PodGroup by one of another size, under the same name.

Its pods know it by that name, and running ones stay as they are. It takes three writes: delete, let go, make. Each of
them rests on what is stored and on nothing else, so that whoever comes next, after a crash at any point, goes on from
there; and once the old one is gone, the pod webhook and the controller make it again as they make every PodGroup that
is missing, in the size that the Job has then.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field, replace

from muster.api.keys import JobRef, Uid
from muster.api.v1alpha2.podgroup import PROTECTION, PodGroup
from muster.controllers.job.gang_former import GangFormer, Unsettled
from muster.core import messages
from muster.core.decide import Rules
from muster.core.reasons import EventReason
from muster.core.resize import ResizeNeeded, Why, resize_needed
from muster.kube.client import Object
from muster.kube.errors import AlreadyExists, Conflict, Forbidden, NotFound, Rejected
from muster.kube.resources import pod_groups
from muster.runtime.health import API
from muster.runtime.ttl_cache import TtlCache

TRIES = 3
"""The scheduler reports in the PodGroup, so it may well change between two looks."""
MADE_SECONDS = 600.0


@dataclass(slots=True)
class Resizing:
    gang_former: GangFormer
    rules: Rules
    _made: TtlCache[Uid, int] = field(default_factory=lambda: TtlCache(MADE_SECONDS))
    """The size that was asked for, by the PodGroup that came of it."""

    async def resize(self, ref: JobRef) -> None:
        """Bring the Job's PodGroup to its size, if a live look shows that this is needed."""
        for _ in range(TRIES):
            try:
                return await self._try(ref)
            except Conflict:
                continue  # it changed meanwhile: look again
            except Forbidden as error:
                if error.lacks_right:
                    self.gang_former.health.problem(API, str(error))
                raise
        raise Unsettled(f"the PodGroup of Job {ref.key} kept changing while it was resized")

    async def _try(self, ref: JobRef) -> None:
        found, stored = await self._look(ref)
        if found is None or stored is None:
            return
        if self._made.recall(found.group.metadata.uid) == found.size:
            # Else it would be replaced again and again, by a webhook that knows better.
            found = replace(found, obstacle=messages.SIZE_NOT_STORED)
        if found.obstacle:
            self._tell_why_not(found)
            return
        # Shielded: whoever ceases to lead in the middle of it, because Muster is told to leave, say, still ends it.
        await asyncio.shield(self.gang_former.background.begin(self._replace(ref, found, stored), f"resize {ref.key}"))

    async def _replace(self, ref: JobRef, found: ResizeNeeded, stored: Object) -> None:
        if found.group.metadata.deletion_timestamp is None:
            await self._delete(found.group)
        if await self._let_go(found.group) and await self._make(ref, found, stored):
            self._tell(found)

    async def _look(self, ref: JobRef) -> tuple[ResizeNeeded | None, Object | None]:
        """From the store: the Job, its Workload, the PodGroup as it is stored, and whether a pod waits for it."""
        observer = self.gang_former.observer
        seen = await observer.live(ref, thorough=True)
        if (found := resize_needed(seen, self.rules)) is None:
            return None, None
        if (stored := await self._stored(found.group)) is None:
            await self._make_again(ref, found)
            return None, None
        now = observer.profile.read_pod_group(stored)
        others = tuple(group for group in seen.pod_groups if group.metadata.name != now.metadata.name)
        found = resize_needed(replace(seen, pod_groups=(*others, now)), self.rules)
        if found is None or (found.why is Why.INDEXES_ENDED and not await observer.waits(ref, now.metadata.name)):
            return None, None
        return found, stored

    async def _make_again(self, ref: JobRef, gone: ResizeNeeded) -> None:
        """Deleted under us. The stream's word of it is no news any more, so nobody else would make it again."""
        self.gang_former.forget(ref.uid)
        await self.gang_former.ensure(ref)
        if await self._stored(gone.group) is None:
            self._tell_why_not(replace(gone, obstacle=messages.NEW_ONE_REFUSED))

    async def _stored(self, group: PodGroup) -> Object | None:
        """Not from the cache, which may be behind, and has not all of it."""
        observer, metadata = self.gang_former.observer, group.metadata
        try:
            raw = await observer.client.get(pod_groups(observer.profile), metadata.namespace, metadata.name)
        except NotFound:
            observer.cache.drop_pod_group(metadata)
            return None
        observer.cache.put_pod_group(observer.profile.read_pod_group(raw))
        return raw

    async def _delete(self, group: PodGroup) -> None:
        """Exactly what was looked at, and no later one of that name."""
        observer, metadata = self.gang_former.observer, group.metadata
        exactly = {"uid": str(metadata.uid), "resourceVersion": metadata.resource_version}
        with suppress(NotFound):
            await observer.client.delete(pod_groups(observer.profile), metadata.namespace, metadata.name, exactly)

    async def _let_go(self, group: PodGroup) -> bool:
        """Take the finalizer off that would keep it until all its pods have ended. True once the old one is gone."""
        observer, old = self.gang_former.observer, group.metadata
        raw = await self._stored(group)
        now = observer.profile.read_pod_group(raw).metadata if raw is not None else None
        if now is None or now.uid != old.uid:
            return True
        if now.deletion_timestamp is None:
            raise Conflict(f"PodGroup {old.name} was not deleted")
        left = [finalizer for finalizer in now.finalizers if finalizer != PROTECTION]
        if len(left) < len(now.finalizers):
            change = {"metadata": {"finalizers": left, "resourceVersion": now.resource_version}}
            with suppress(NotFound):
                await observer.client.patch(pod_groups(observer.profile), old.namespace, old.name, change)
        if left:
            return False  # somebody's own finalizer holds it; its end wakes us
        observer.cache.drop_pod_group(old)
        return True

    async def _make(self, ref: JobRef, wanted: ResizeNeeded, stored: Object) -> bool:
        """True if there is another one now, whoever made it."""
        observer = self.gang_former.observer
        body = observer.profile.resized(stored, wanted.size)
        self.gang_former.forget(ref.uid)
        try:
            made = await observer.client.create(pod_groups(observer.profile), ref.key.namespace, body)
        except AlreadyExists as error:
            made = await self._stored(wanted.group) or {}
            if not made:
                raise Conflict(f"PodGroup {wanted.group.metadata.name} came and went") from error
        except (Forbidden, Rejected):
            # The server does not take it as it was (its priority class has another value, say): then from the template.
            await self.gang_former.ensure(ref)
            made = await self._stored(wanted.group) or {}
            if not made:
                self._tell_why_not(replace(wanted, obstacle=messages.NEW_ONE_REFUSED))
                return False
        now = observer.profile.read_pod_group(made)
        observer.cache.put_pod_group(now)
        if now.metadata.uid == wanted.group.metadata.uid:
            return False
        self._made.remember(now.metadata.uid, wanted.size)
        return True

    def _tell(self, done: ResizeNeeded) -> None:
        recorder, name = self.gang_former.recorder, done.group.metadata.name
        recorder.metrics.resizes.labels(done.why.value).inc()
        recorder.normal(
            done.job,
            EventReason.GANG_RESIZED,
            messages.gang_resized(name, done.was, done.size, done.sentence),
        )

    def _tell_why_not(self, found: ResizeNeeded) -> None:
        self.gang_former.recorder.warning(
            found.job,
            EventReason.GANG_NOT_RESIZED,
            messages.gang_not_resized(found.group.metadata.name, found.was, found.sentence, found.obstacle),
        )
