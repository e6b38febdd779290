"""The parallelism guard: a gang's size does not change under it."""

import asyncio
from dataclasses import dataclass, replace

from muster.admission.review import Review
from muster.api.job import JobView
from muster.core.admit import ALLOWED, Verdict, admit_parallelism
from muster.core.decide import Rules
from muster.core.eligibility import preset_group
from muster.core.observed import Observed
from muster.kube.errors import KubeError
from muster.runtime.observer import Observer


@dataclass(slots=True)
class ParallelismGuard:
    observer: Observer
    rules: Rules

    async def review(self, review: Review, seconds: float) -> Verdict:
        old, new = JobView.parse(review.old), JobView.parse(review.new)
        if old.parallelism == new.parallelism:
            return ALLOWED
        try:
            async with asyncio.timeout(seconds):
                seen = await self._observe(old)
        except (KubeError, TimeoutError) as error:
            why = str(error) or "the API server is slow"
            return Verdict(
                allowed=False,
                message=f"muster: cannot tell now whether Job {old.key.name!r} is a gang, try again: {why}",
            )
        return admit_parallelism(old, new, seen, self.rules)

    async def _observe(self, job: JobView) -> Observed:
        seen = await self.observer.live(job.ref, thorough=True)
        preset = preset_group(job, self.rules.policy)
        if not preset:
            return seen
        group = await self.observer.pod_group(job.key.namespace, preset)
        return seen if group is None else replace(seen, pod_groups=(*seen.pod_groups, group))
