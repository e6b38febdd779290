"""Finds split gangs after each resync, on the leader only. It makes one paged LIST of the Jobs' pods and no write."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from muster.api.job import JobView
from muster.api.keys import JobKey, ObjectKey, Uid
from muster.api.pod import CONTROLLER_UID_LABEL, LIVE, PodView
from muster.api.profile import ApiProfile
from muster.api.wire import Unreadable
from muster.controllers.cache import Cache
from muster.core import messages
from muster.core.reasons import EventReason, SilenceReason
from muster.core.split import Sides, can_split, is_split, split_sentence
from muster.kube.client import KubeClient, every_item
from muster.kube.errors import KubeError
from muster.kube.resources import PODS
from muster.runtime.event_recorder import EventRecorder

logger = logging.getLogger(__name__)

SLICE = 100
OF_JOBS = {"labelSelector": CONTROLLER_UID_LABEL, "fieldSelector": LIVE}

Gangs = dict[Uid, tuple[JobView, ObjectKey]]
"""By the UID of the Job, with the key of its PodGroup: whole PodGroups of a large cluster would need much memory."""


@dataclass(slots=True)
class SplitCheck:
    """Finds gangs with members that wait for pods outside of the gang.

    Owns the Jobs whose gang is split now. It reads the cache, and lists the pods of Jobs. It posts events on Jobs and
    changes no other object.
    """

    client: KubeClient
    profile: ApiProfile
    cache: Cache
    recorder: EventRecorder
    leads: Callable[[], bool]
    _occasions: dict[Uid, str] = field(default_factory=dict)
    """The Jobs with a split gang, and the UID of the oldest pod outside the gang when the split was found."""

    def count(self) -> int:
        return len(self._occasions) if self.leads() else 0

    async def run(self) -> None:
        if not self.leads():
            logger.debug("split gangs: %s", messages.silence(SilenceReason.NOT_LEADING))
            self._occasions.clear()
            return
        try:
            gangs = await self._gangs()
            sides = await self._sides(gangs) if gangs else {}
        except KubeError as error:
            logger.warning("cannot look for split gangs; trying again at the next resync: %s", error)
            return
        self._report(gangs, sides)

    def _report(self, gangs: Gangs, sides: dict[Uid, Sides]) -> None:
        occasions: dict[Uid, str] = {}
        for uid, seen in sides.items():
            job, key = gangs[uid]
            group = self.cache.pod_group(*key) if seen.waiting and seen.outside else None
            if group is not None and is_split(job, group, seen):
                occasions[uid] = self._occasions.get(uid, seen.oldest[1])
                occasion = f"{group.metadata.uid} {occasions[uid]}"
                self.recorder.warning(job, EventReason.GANG_SPLIT, split_sentence(group, seen), occasion)
        self._occasions = occasions

    async def _gangs(self) -> Gangs:
        """From the cache, which the resync has just updated."""
        gangs: Gangs = {}
        cache = self.cache
        for number, group in enumerate(cache.every_pod_group()):
            owner = group.metadata.controller
            job = cache.jobs.get(JobKey(group.metadata.namespace, owner.name)) if owner is not None else None
            if job is not None and can_split(job, group):
                gangs[job.uid] = (job, (group.metadata.namespace, group.metadata.name))
            if number % SLICE == 0:
                await asyncio.sleep(0)
        return gangs

    async def _sides(self, gangs: Gangs) -> dict[Uid, Sides]:
        """Page by page, keeping only the counts of each pod: a cluster may have a hundred thousand."""
        sides: dict[Uid, Sides] = {}
        number = 0
        async for raw in every_item(self.client, PODS, params=OF_JOBS):
            number += 1
            if number % SLICE == 0:
                await asyncio.sleep(0)  # let admission requests run
            with suppress(Unreadable):
                pod = PodView.parse(raw)
                if pod.job is not None and pod.job.uid in gangs and pod.live and not pod.terminating:
                    sides[pod.job.uid] = self._with(pod, sides.get(pod.job.uid, Sides()))
        return sides

    def _with(self, pod: PodView, sides: Sides) -> Sides:
        if self.profile.group_of(pod):
            return sides.with_member(pod.bound)
        return sides.with_outsider(pod.created, pod.uid)
