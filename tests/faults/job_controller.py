"""The Job controller of the model: it makes pods through the real pod webhook, first one, then twice as many."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import orjson

from muster.admission.pod import PodWebhook
from muster.admission.review import Review
from muster.api.pod import COMPLETION_INDEX_LABEL, CONTROLLER_UID_LABEL
from tests.builders import Object, a_review, copied
from tests.fake_cluster import JOB_CONTROLLER, FakeCluster, controller_uid, is_live, patched

PATIENCE_SECONDS = 60.0
"""Long: a slow machine must not change the outcome. Deadlines have tests of their own."""


@dataclass(slots=True)
class JobController:
    cluster: FakeCluster
    webhook: Callable[[], PodWebhook]
    """Whichever replica answers now."""
    refusals: list[str] = field(default_factory=list)
    _made: int = 0

    async def sync(self) -> None:
        for job in [copied(job) for job in self.cluster.find("jobs")]:
            if job["metadata"].get("deletionTimestamp") or _is_over(job):
                continue
            if job["spec"].get("suspend"):
                self._stop(job)
            else:
                await self._start(job)
            self._report(job)

    def _report(self, job: Object) -> None:
        """The Job's status, where it has anything to tell: pods that ended, those that are not ready after that, and
        that the Job is or was suspended."""
        pods = [pod for pod in self.cluster.find("pods") if controller_uid(pod) == job["metadata"]["uid"]]
        ended = [pod for pod in pods if not is_live(pod)]
        status = dict(job.get("status") or {})
        if ended:
            succeeded = sorted(self._completed(job))
            living = [pod for pod in pods if is_live(pod)]
            status |= {
                "completedIndexes": ",".join(map(str, succeeded)),
                "succeeded": len(succeeded),
                "failed": len(ended) - len(succeeded),
                "active": len(living),
                "ready": sum(bool(pod["spec"].get("nodeName")) for pod in living),
            }
        if job["spec"].get("suspend") or status.get("conditions"):
            suspended = "True" if job["spec"].get("suspend") else "False"
            status["conditions"] = [{"type": "Suspended", "status": suspended}]
        metadata = job["metadata"]
        stored = self.cluster.objects.get(("jobs", metadata["namespace"], metadata["name"]))
        if stored and stored["metadata"]["uid"] == metadata["uid"] and status != (stored.get("status") or {}):
            self.cluster.update(
                "jobs", metadata["namespace"], metadata["name"], lambda it: it.update(status=status), JOB_CONTROLLER
            )

    def _stop(self, job: Object) -> None:
        for pod in self._pods_of(job):
            self.cluster.remove("pods", pod["metadata"]["namespace"], pod["metadata"]["name"], JOB_CONTROLLER)

    async def _start(self, job: Object) -> None:
        """Until the first refusal; the rest is tried again in the next sync."""
        present = _indexes(self._pods_of(job)) | self._completed(job)
        missing = [index for index in range(job["spec"]["parallelism"]) if index not in present]
        at_once = 1
        while missing:
            batch, missing = missing[:at_once], missing[at_once:]
            at_once *= 2
            creating = (self._create(self._pod(job, index)) for index in batch)
            made = await asyncio.gather(*creating, return_exceptions=True)
            for failure in made:
                if isinstance(failure, BaseException):
                    raise failure
            if not all(made):
                return

    async def _create(self, pod: Object) -> bool:
        namespace = pod["metadata"]["namespace"]
        if "schedulingGroup" not in pod["spec"]:  # as the webhook's match condition says
            review = Review.parse(orjson.dumps(a_review(pod, namespace=namespace)))
            webhook = self.webhook()
            verdict = await webhook.review(review, PATIENCE_SECONDS)
            if not verdict.allowed:
                self.refusals.append(verdict.message)
                return False
            if verdict.join:
                pod = patched(pod, webhook.rules.profile.join(verdict.join, pod))
        self.cluster.create("pods", namespace, pod, JOB_CONTROLLER)
        return True

    def _completed(self, job: Object) -> set[int]:
        pods = [pod for pod in self.cluster.find("pods") if controller_uid(pod) == job["metadata"]["uid"]]
        return _indexes(pod for pod in pods if pod["status"]["phase"] == "Succeeded")

    def _pods_of(self, job: Object) -> list[Object]:
        uid = job["metadata"]["uid"]
        return [pod for pod in self.cluster.find("pods") if controller_uid(pod) == uid and is_live(pod)]

    def _pod(self, job: Object, index: int) -> Object:
        metadata = job["metadata"]
        self._made += 1
        owner = {"apiVersion": "batch/v1", "kind": "Job", "controller": True}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{metadata['name']}-{index}-{self._made}",
                "namespace": metadata["namespace"],
                "labels": {
                    CONTROLLER_UID_LABEL: metadata["uid"],
                    COMPLETION_INDEX_LABEL: str(index),
                    "place": f"{metadata['namespace']}/{metadata['name']}/{index}",
                },
                "ownerReferences": [{**owner, "name": metadata["name"], "uid": metadata["uid"]}],
            },
            "spec": copied(job["spec"]["template"]["spec"]),
        }


def _indexes(pods: Iterable[Object]) -> set[int]:
    return {int(pod["metadata"]["labels"][COMPLETION_INDEX_LABEL]) for pod in pods}


def _is_over(job: Object) -> bool:
    conditions = (job.get("status") or {}).get("conditions", [])
    return any(condition["type"] in {"Complete", "Failed"} for condition in conditions)
