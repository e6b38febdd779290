"""The pod webhook: no pod of a gang Job exists before its PodGroup does, and each one is a member."""

import asyncio
import logging
from dataclasses import dataclass, field, replace

from muster.admission.review import Review
from muster.api.keys import JobRef, Uid
from muster.api.pod import PodView
from muster.api.wire import Unreadable
from muster.controllers.job.gang_former import GangFormer, Unsettled
from muster.controllers.job.job_reader import JobReader
from muster.controllers.job.pod_reader import PodReader
from muster.core import messages
from muster.core.admit import (
    ALLOWED,
    Verdict,
    admit_at_once,
    admit_on_failure,
    admit_pod,
    admit_pod_of_unreadable,
    needs_job,
    refused,
)
from muster.core.observed import Pods
from muster.core.policy import Rules
from muster.core.reasons import Reason
from muster.kube.errors import KubeError
from muster.runtime.background import BackgroundTasks
from muster.runtime.event_recorder import EventRecorder
from muster.runtime.internal_errors import InternalErrors, kind_of
from muster.runtime.tasks import Task
from muster.runtime.ttl_cache import TtlCache

logger = logging.getLogger(__name__)

REPORTED_SECONDS = 600.0
REPORTED_JOBS = 1_000


@dataclass(slots=True)
class PodWebhook:
    """Answers the API server about one pod.

    Owns the memory of Jobs on which Muster failed. It asks the gang former, which reads and writes; after a failure it
    reads the Job and its pods.
    """

    gang_former: GangFormer
    jobs: JobReader
    pods: PodReader
    rules: Rules
    recorder: EventRecorder
    errors: InternalErrors
    background: BackgroundTasks
    fail_open: bool = False
    """failurePolicy is Ignore: a pod on which Muster fails is admitted without its gang; otherwise it is refused."""
    _reported: TtlCache[Uid, bool] = field(default_factory=lambda: TtlCache(REPORTED_SECONDS, REPORTED_JOBS))
    """Jobs on which Muster failed, and on which it has posted an event or tried to."""

    async def review(self, review: Review, seconds: float) -> Verdict:
        """The verdict on one pod, within the given time."""
        # In admission the pod's own metadata may still lack its namespace; the request has it.
        pod = replace(PodView.parse(review.new), namespace=review.namespace)
        ref = pod.job
        if ref is None:
            return ALLOWED
        if (at_once := admit_at_once(ref, self.rules.profile.group_of(pod), self.rules)) is not None:
            return at_once
        deadline = asyncio.get_running_loop().time() + seconds
        try:
            async with asyncio.timeout_at(deadline):
                return await self._decide(ref, review.dry_run)
        except TimeoutError:
            return refused(Reason.NOT_FORMED_IN_TIME, messages.not_formed_in_time(ref.key.name, seconds))
        except (KubeError, Unsettled) as error:
            return refused(Reason.NOT_FORMED_YET, messages.not_formed_yet(ref.key.name, str(error)))
        except Unreadable as error:
            verdict = admit_pod_of_unreadable(ref.key.name, self.fail_open, await self._pods(ref, deadline))
            logger.warning("%s: %s: %s", ref.key, verdict.reason, error, extra={"job": ref.key})
            return verdict
        except Exception as error:  # noqa: BLE001 - a bug that one Job meets concerns that Job alone
            self._report(ref, error, review.dry_run)
            why = messages.failed_on_pod(ref.key.name, kind_of(error))
            return admit_on_failure(Reason.MUSTER_FAILED, why, self.fail_open, await self._pods(ref, deadline))

    async def _decide(self, ref: JobRef, dry_run: bool) -> Verdict:
        if dry_run:
            verdict = admit_pod(await self.gang_former.preview(ref))
        else:
            decision = await self.gang_former.ensure(ref)
            verdict = admit_pod(decision, not needs_job(decision) or await self.jobs.find(ref) is not None)
        logger.debug("%s: a pod is %s: %s", ref.key, verdict.outcome, verdict.reason, extra={"job": ref.key})
        return verdict

    def _report(self, ref: JobRef, error: Exception, dry_run: bool) -> None:
        known = None if dry_run else self.jobs.cached(ref)
        self.recorder.internal_error(Task.POD_WEBHOOK, ref.key, known, error)
        if known is None and not dry_run and not self._reported.recall(ref.uid):
            self._reported.remember(ref.uid, True)
            self.background.begin(self._read_and_report(ref, error), f"report {ref.key}")

    async def _read_and_report(self, ref: JobRef, error: Exception) -> None:
        """For a Job that the cache does not know: one read, so that a made-up Job costs no more than that."""
        try:
            if (job := await self.jobs.read(ref)) is not None:
                self.recorder.post_internal_error(job, error)
        except KubeError:
            return  # the leader posts the same event as soon as it can
        except Exception as another:  # noqa: BLE001
            self.errors.note(Task.POD_WEBHOOK, ref.key, another)

    async def _pods(self, ref: JobRef, deadline: float) -> Pods | None:
        """The Job's pods, read after a failure; None if they cannot be read."""
        try:
            async with asyncio.timeout_at(deadline):
                return await self.pods.listed(ref)
        except (KubeError, TimeoutError, Unreadable):
            return None
        except Exception as error:  # noqa: BLE001
            self.errors.note(Task.POD_WEBHOOK, ref.key, error)
            return None
