"""The pod gate: no pod of a gang Job exists before its PodGroup does, and each one is a member."""

import asyncio
import logging
from collections import Counter
from dataclasses import dataclass, field, replace

from muster.admission.review import Review
from muster.api.keys import JobRef, Uid
from muster.api.pod import PodView
from muster.core.admit import ALLOWED, Verdict, admit_pod
from muster.core.decide import Decision, Membership, decide
from muster.core.observed import Observed
from muster.core.reasons import Reason
from muster.kube.errors import KubeError
from muster.runtime.formation import Formation, Unsettled

logger = logging.getLogger(__name__)

PATIENCE = 5
"""Unexpected errors on one Job before its pods pass plain: it runs without its gang rather than never."""


@dataclass(slots=True)
class PodGate:
    formation: Formation
    _failures: Counter[Uid] = field(default_factory=Counter)

    async def review(self, review: Review, seconds: float) -> Verdict:
        """The verdict on one pod, within the given time."""
        # In admission the pod's own metadata may still lack its namespace; the request has it.
        pod = replace(PodView.parse(review.new), namespace=review.namespace)
        ref = pod.job
        if ref is None or self.formation.observer.dialect.group_of(pod):
            return ALLOWED
        try:
            async with asyncio.timeout(seconds):
                decision = await (self.formation.preview(ref) if review.dry_run else self._decide(ref))
        except TimeoutError:
            return _later(f"the gang of Job {ref.key.name!r} could not be formed within {seconds:.1f} s")
        except (KubeError, Unsettled) as error:
            return _later(f"the gang of Job {ref.key.name!r} could not be formed yet: {error}")
        except Exception:
            logger.exception("%s: unexpected error in the pod gate", ref.key, extra={"job": ref.key})
            return await self._fail(ref, seconds)
        self._failures.pop(ref.uid, None)
        return admit_pod(decision)

    async def _decide(self, ref: JobRef) -> Decision:
        """A Job can go while its gang is formed. A pod made after that helps nobody, and does harm: the Job controller
        waits up to five minutes for it before it makes the pods of a new Job of the same name. Refused, it does not."""
        decision = await self.formation.ensure(ref)
        if decision.membership is not Membership.JOIN or await self.formation.observer.exists(ref):
            return decision
        return decide(Observed(None), self.formation.rules)

    async def _fail(self, ref: JobRef, seconds: float) -> Verdict:
        self._failures[ref.uid] += 1
        if self._failures[ref.uid] < PATIENCE:
            return _later("an unexpected error, which is logged")
        if (group := await self._living_group(ref, seconds)) is not None:
            return Verdict(allowed=True, join=group)  # another replica had no such trouble
        decision = Decision(Reason.BROKEN, Membership.PLAIN)
        self.formation.recorder.report(self.formation.observer.cache.jobs.get(ref.key), decision)
        return admit_pod(decision)

    async def _living_group(self, ref: JobRef, seconds: float) -> str | None:
        """Also a bug must not split a gang, as far as it lets us look."""
        try:
            async with asyncio.timeout(seconds):
                return (await self.formation.observer.pods(ref)).group or None
        except Exception:
            logger.exception("%s: cannot tell the group of its living pods", ref.key, extra={"job": ref.key})
            return None


def _later(why: str) -> Verdict:
    return Verdict(allowed=False, message=f"muster: {why}; the Job controller tries again")
