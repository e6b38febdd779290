"""The parallelism guard: a gang's size does not change under it."""

import asyncio
from dataclasses import dataclass, replace

from muster.admission.review import Review, failure
from muster.api.job import JobView
from muster.api.wire import Unreadable
from muster.core.admit import ALLOWED, Verdict, admit_parallelism
from muster.core.decide import Rules
from muster.core.eligibility import preset_group
from muster.core.observed import Observed
from muster.kube.errors import KubeError
from muster.runtime.events import Recorder
from muster.runtime.observer import Observer
from muster.runtime.tasks import Task


@dataclass(slots=True)
class ParallelismGuard:
    observer: Observer
    rules: Rules
    recorder: Recorder

    async def review(self, review: Review, seconds: float) -> Verdict:
        old, new = JobView.parse(review.old), JobView.parse(review.new)
        if old.parallelism == new.parallelism:
            return ALLOWED
        try:
            return await self._judge(old, new, seconds)
        except Unreadable:
            raise  # not a bug: somebody wrote an object that cannot be read
        except Exception as error:  # noqa: BLE001 - a bug that one Job meets concerns that Job alone
            self.recorder.internal_error(Task.PARALLELISM_GUARD, old.key, None if review.dry_run else old, error)
            return Verdict(allowed=False, message=f"muster: {failure(f'Job {old.key.name!r}', error)}. Try again later")

    async def _judge(self, old: JobView, new: JobView, seconds: float) -> Verdict:
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
