"""Decides which Jobs still need the pod webhook. `core.split` finds those that lost it too early.

A Job needs the webhook while its gang is formed and still lacks pods. A pod that is created after the webhook is gone
is in no group. If its siblings wait in the PodGroup, the gang is split, and they wait forever.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from muster.api.job import JobView
from muster.api.keys import JobKey


@dataclass(frozen=True, slots=True)
class JobPod:
    """The fields of a pod of the Job that these rules use."""

    group: str
    """Empty if the pod is in no group."""
    lives: bool
    """The pod has not ended and is not being deleted."""
    succeeded: bool
    bound: bool


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A gang that was formed and does not have all its pods."""

    key: JobKey
    present: int
    size: int
    begun: bool
    """At least one pod is in the group: pods that are created without the webhook split the gang."""

    def __str__(self) -> str:
        return f"{self.key} ({self.present} of {self.size} pods)"


def unfinished(job: JobView, formed: bool, pods: Sequence[JobPod]) -> Unfinished | None:
    """None if the Job no longer needs the webhook. `formed`: Muster has created a PodGroup for it."""
    if not job.gets_pods or _names_its_group(job):
        return None
    living = [pod for pod in pods if pod.lives]
    if not (any(pod.group for pod in living) if living else formed):
        return None
    size, present = job.parallelism or 1, len(living) + sum(pod.succeeded for pod in pods)
    if present >= size or _lacks_only_replacements(job, living):
        return None
    return Unfinished(job.key, present, size, begun=bool(living))


def _names_its_group(job: JobView) -> bool:
    """The pod template names the group, so the pods are members with or without the webhook."""
    return job.scheduling_group is not None or job.annotated_group is not None


def _lacks_only_replacements(job: JobView, living: Sequence[JobPod]) -> bool:
    """The gang has started as a whole: no running pod waits for the replacement, which is scheduled on its own."""
    return bool(living) and job.counted_pods > 0 and all(pod.bound for pod in living)
