"""Who must not lose the pod webhook now: Jobs whose gang was formed and still lacks pods. And who lost it too early.

What lacks nothing goes on without Muster. A pod that comes once the webhook is gone is plain: beside siblings that wait
in a group which is never complete, it makes a gang that is half in and half out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from muster.api.job import JobView
from muster.api.keys import JobKey


@dataclass(frozen=True, slots=True)
class Member:
    """A pod of the Job, as far as this asks."""

    group: str
    """Empty: it is plain."""
    lives: bool
    """It may still run, and nobody deletes it."""
    succeeded: bool
    bound: bool


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A gang that was formed and does not have all its pods."""

    key: JobKey
    present: int
    size: int
    begun: bool
    """At least one pod is in its group: more that come without the webhook split it."""

    def __str__(self) -> str:
        return f"{self.key} ({self.present} of {self.size} pods)"


def unfinished(job: JobView, formed: bool, pods: Sequence[Member]) -> Unfinished | None:
    """None if the Job needs the webhook for nothing. `formed`: it has a PodGroup of Muster's."""
    if not _gets_pods(job) or _names_its_group(job):
        return None
    living = [pod for pod in pods if pod.lives]
    if not (any(pod.group for pod in living) if living else formed):
        return None
    size, present = job.parallelism or 1, len(living) + sum(pod.succeeded for pod in pods)
    if present >= size or _lacks_only_replacements(job, living):
        return None
    return Unfinished(job.key, present, size, begun=bool(living))


def is_split(job: JobView, pods: Sequence[Member]) -> bool:
    """Some of its living pods wait in a group, others are in none."""
    living = [pod for pod in pods if pod.lives]
    waits = any(pod.group and not pod.bound for pod in living)
    return _gets_pods(job) and waits and not all(pod.group for pod in living)


def _gets_pods(job: JobView) -> bool:
    return not (job.finished or job.suspended or job.being_deleted)


def _names_its_group(job: JobView) -> bool:
    """By its template, so that its pods are in it with or without the webhook."""
    return job.scheduling_group is not None or job.annotated_group is not None


def _lacks_only_replacements(job: JobView, living: Sequence[Member]) -> bool:
    """It has started as a whole. Of those that run nobody waits for the one to come, which finds a place by itself."""
    return bool(living) and job.counted_pods > 0 and all(pod.bound for pod in living)
