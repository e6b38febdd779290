"""What Kueue does to a Job, without Kueue: it resumes it, perhaps with fewer pods, and evicts it."""

from tests.clusters.api import Api, ApiError, Object
from tests.clusters.objects import gang_job
from tests.clusters.waiting import eventually

QUEUE_NAME = "kueue.x-k8s.io/queue-name"
RESTORED_SECONDS = 30
"""Kueue tries again with a growing delay. Until it has restored the Job, the Job holds its quota, and others wait."""


def queued(body: Object) -> Object:
    """The same Job, for Kueue to admit."""
    return {**body, "metadata": {**body["metadata"], "labels": {QUEUE_NAME: "team"}}}


def waiting_job(name: str, size: int) -> Object:
    return queued(gang_job(name, size, suspend=True))


def admit(api: Api, namespace: str, name: str, **counts: int) -> None:
    """One update, as Kueue's: resumed, with the counts that were admitted."""
    api.patch("jobs", name, {"spec": {"suspend": False, **counts}}, namespace)


def evict(api: Api, namespace: str, name: str, **counts: int) -> list[str]:
    """Suspended, then restored to its own counts, again and again until that is allowed; the refusals."""
    refusals: list[str] = []
    api.patch("jobs", name, {"spec": {"suspend": True}}, namespace)

    def restored() -> bool:
        try:
            api.patch("jobs", name, {"spec": counts}, namespace)
        except ApiError as refusal:
            refusals.append(refusal.message)
            return False
        return True

    eventually(restored, f"{name} gets {counts} back", RESTORED_SECONDS, every=0.2)
    return refusals
