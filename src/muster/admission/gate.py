"""The pod gate: no pod of a gang Job exists before its PodGroup does, and each one is a member."""

import asyncio
import logging
from collections import Counter, OrderedDict
from dataclasses import dataclass, field, replace

from muster.admission.review import Review
from muster.api.keys import JobRef, Uid
from muster.api.pod import PodView
from muster.core.admit import ALLOWED, Verdict, admit_pod
from muster.core.decide import Decision, Membership
from muster.core.reasons import Reason
from muster.kube.errors import KubeError
from muster.runtime.formation import Formation, Unsettled

logger = logging.getLogger(__name__)

REMEMBER_SECONDS = 5.0
"""A Job's pods come in bursts. For this long one living pod, read live, speaks for the next ones."""
REMEMBERED_JOBS = 10_000
PATIENCE = 5
"""Unexpected errors on one Job before its pods pass plain: it runs without its gang rather than never."""


@dataclass(slots=True)
class PodGate:
    formation: Formation
    _followed: OrderedDict[Uid, tuple[float, Decision]] = field(default_factory=OrderedDict)
    _failures: Counter[Uid] = field(default_factory=Counter)

    async def review(self, review: Review, seconds: float) -> Verdict:
        """The verdict on one pod, within the given time."""
        # In admission the pod's own metadata may still lack its namespace; the request has it.
        pod = replace(PodView.parse(review.new), namespace=review.namespace)
        ref = pod.job
        if ref is None or pod.group:
            return ALLOWED
        if (decision := self._recall(ref.uid)) is not None:
            return admit_pod(decision)
        try:
            async with asyncio.timeout(seconds):
                decision = await (self.formation.preview(ref) if review.dry_run else self.formation.ensure(ref))
        except TimeoutError:
            return _later(f"the gang of Job {ref.key.name!r} could not be formed within {seconds:.1f} s")
        except (KubeError, Unsettled) as error:
            return _later(f"the gang of Job {ref.key.name!r} could not be formed yet: {error}")
        except Exception:
            logger.exception("%s: unexpected error in the pod gate", ref.key)
            return self._fail(ref)
        self._failures.pop(ref.uid, None)
        self._remember(ref.uid, decision)
        return admit_pod(decision)

    def _recall(self, uid: Uid) -> Decision | None:
        known = self._followed.get(uid)
        if known is None or known[0] < asyncio.get_running_loop().time():
            return None
        return known[1]

    def _remember(self, uid: Uid, decision: Decision) -> None:
        if not decision.sticky or not decision.settled:
            return
        self._followed[uid] = (asyncio.get_running_loop().time() + REMEMBER_SECONDS, decision)
        self._followed.move_to_end(uid)
        while len(self._followed) > REMEMBERED_JOBS:
            self._followed.popitem(last=False)

    def _fail(self, ref: JobRef) -> Verdict:
        self._failures[ref.uid] += 1
        if self._failures[ref.uid] < PATIENCE:
            return _later("an unexpected error, which is logged")
        decision = Decision(Reason.BROKEN, Membership.PLAIN)
        self.formation.recorder.report(self.formation.observer.cache.jobs.get(ref.key), decision)
        return admit_pod(decision)


def _later(why: str) -> Verdict:
    return Verdict(allowed=False, message=f"muster: {why}; the Job controller tries again")
