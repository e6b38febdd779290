"""The pod webhook: no pod of a gang Job exists before its PodGroup does, and each one is a member."""

import asyncio
import logging
from dataclasses import dataclass, field, replace

from muster.admission.review import Review
from muster.api.keys import JobRef, Uid
from muster.api.pod import PodView
from muster.api.wire import Unreadable
from muster.controllers.job.gang_former import GangFormer, Unsettled
from muster.core import messages
from muster.core.admit import ALLOWED, Verdict, admit_pod, refused
from muster.core.decide import Decision, Membership, decide
from muster.core.observed import Observed
from muster.core.reasons import Reason
from muster.kube.errors import KubeError
from muster.runtime.internal_errors import kind_of
from muster.runtime.tasks import Task
from muster.runtime.ttl_cache import TtlCache

logger = logging.getLogger(__name__)

REPORTED_SECONDS = 600.0
REPORTED_JOBS = 1_000


@dataclass(slots=True)
class PodWebhook:
    gang_former: GangFormer
    fail_open: bool = False
    """failurePolicy is Ignore: what Muster cannot judge passes without its gang. Otherwise it waits."""
    _reported: TtlCache[Uid, bool] = field(default_factory=lambda: TtlCache(REPORTED_SECONDS, REPORTED_JOBS))
    """Jobs on which Muster failed, and on which it has posted an event or tried to."""

    async def review(self, review: Review, seconds: float) -> Verdict:
        """The verdict on one pod, within the given time."""
        # In admission the pod's own metadata may still lack its namespace; the request has it.
        pod = replace(PodView.parse(review.new), namespace=review.namespace)
        ref = pod.job
        if ref is None or self.gang_former.observer.profile.group_of(pod):
            return ALLOWED
        if not ref.can_exist:
            return admit_pod(decide(Observed(None), self.gang_former.rules))
        deadline = asyncio.get_running_loop().time() + seconds
        try:
            async with asyncio.timeout_at(deadline):
                decision = await (self.gang_former.preview(ref) if review.dry_run else self._decide(ref))
        except TimeoutError:
            return refused(Reason.NOT_FORMED_IN_TIME, messages.not_formed_in_time(ref.key.name, seconds))
        except (KubeError, Unsettled) as error:
            return refused(Reason.NOT_FORMED_YET, messages.not_formed_yet(ref.key.name, str(error)))
        except Unreadable as error:
            # Somebody wrote an object that cannot be read. That is no bug, and no pod waits for it.
            logger.warning("%s: its gang cannot be formed: %s", ref.key, error, extra={"job": ref.key})
            return Verdict(allowed=True, join=await self._living_group(ref, deadline))
        except Exception as error:  # noqa: BLE001 - a bug that one Job meets concerns that Job alone
            return await self._fail(ref, error, deadline, review.dry_run)
        return admit_pod(decision)

    async def _decide(self, ref: JobRef) -> Decision:
        """A Job can go while its gang is formed. A pod made after that helps nobody, and does harm: the Job controller
        waits up to five minutes for it before it makes the pods of a new Job of the same name. Refused, it does not."""
        decision = await self.gang_former.ensure(ref)
        if decision.membership is not Membership.JOIN or await self.gang_former.observer.exists(ref):
            return decision
        return decide(Observed(None), self.gang_former.rules)

    async def _fail(self, ref: JobRef, error: Exception, deadline: float, dry_run: bool) -> Verdict:
        """The pod follows its living siblings, so that a bug splits no gang. Without any, failurePolicy decides."""
        self._report(ref, error, dry_run)
        if group := await self._living_group(ref, deadline):
            return Verdict(allowed=True, join=group)
        if self.fail_open:
            return ALLOWED
        return refused(Reason.MUSTER_FAILED, messages.failed_on_pod(ref.key.name, kind_of(error)))

    def _report(self, ref: JobRef, error: Exception, dry_run: bool) -> None:
        recorder, job = self.gang_former.recorder, self.gang_former.observer.cache.jobs.get(ref.key)
        known = job if job is not None and job.uid == ref.uid and not dry_run else None
        recorder.internal_error(Task.POD_WEBHOOK, ref.key, known, error)
        if known is None and not dry_run and not self._reported.recall(ref.uid):
            self._reported.remember(ref.uid, True)
            self.gang_former.background.begin(self._read_and_report(ref, error), f"report {ref.key}")

    async def _read_and_report(self, ref: JobRef, error: Exception) -> None:
        """For a Job that the cache does not know: one read, so that a made-up Job costs no more than that."""
        try:
            if (job := await self.gang_former.observer.job(ref)) is not None:
                self.gang_former.recorder.post_internal_error(job, error)
        except KubeError:
            return  # the leader posts the same event as soon as it can
        except Exception as another:  # noqa: BLE001
            self.gang_former.recorder.errors.note(Task.POD_WEBHOOK, ref.key, another)

    async def _living_group(self, ref: JobRef, deadline: float) -> str:
        """The PodGroup that a living pod of the Job names; empty if there is none, or nobody can tell."""
        try:
            async with asyncio.timeout_at(deadline):
                return (await self.gang_former.observer.pods(ref)).group
        except (KubeError, TimeoutError, Unreadable):
            return ""
        except Exception as error:  # noqa: BLE001
            self.gang_former.recorder.errors.note(Task.POD_WEBHOOK, ref.key, error)
            return ""
