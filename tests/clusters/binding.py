"""For how long a gang was bound in part, from a recording of its pods."""

from collections import defaultdict

from tests.clusters.api import Object, Recording
from tests.clusters.objects import is_bound

PARTLY_BOUND_SECONDS = 2.0
"""The scheduler binds the pods of a gang one after the other, which takes a moment."""


def bound_in(pods: Recording) -> dict[str, Object]:
    """Every pod that was seen bound at some time, by name."""
    seen = [event["object"] for event in list(pods.events)]
    return {pod["metadata"]["name"]: pod for pod in seen if is_bound(pod)}


def seconds_partly_bound(pods: Recording, name: str, size: int) -> float:
    """From the gang's first bound pod to its last. A pod stays bound when it ends, so the count only grows."""
    first_bound: dict[str, float] = defaultdict(lambda: float("inf"))
    for event, at in zip(list(pods.events), list(pods.seen_at), strict=False):
        pod = event["object"]
        if job_of(pod) == name and is_bound(pod):
            first_bound[pod["metadata"]["name"]] = min(at, first_bound[pod["metadata"]["name"]])
    assert len(first_bound) == size, f"{name}: {sorted(first_bound)}"
    return max(first_bound.values()) - min(first_bound.values())


def job_of(pod: Object) -> str:
    return str(pod["metadata"]["labels"]["batch.kubernetes.io/job-name"])
