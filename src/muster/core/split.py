"""Detects split gangs: pods wait in the Job's PodGroup for pods that were created outside of it.

Pods stay outside if the pod webhook is not registered or fails open, or if two replicas run with different settings.
The scheduler counts only members, so such a PodGroup never reaches its minCount, and its members wait forever. A gang
whose members all have a node is not split: nothing waits for the pods outside.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from muster.api.job import JobView
from muster.api.keys import Uid
from muster.api.v1alpha2.podgroup import PodGroup
from muster.core import messages
from muster.core.drain import JobPod
from muster.core.ownership import controls, is_ours


@dataclass(frozen=True, slots=True)
class Sides:
    """The running or pending pods of one Job: those in its PodGroup and those in no group."""

    inside: int = 0
    waiting: int = 0
    """Pods in the PodGroup that have no node."""
    outside: int = 0
    oldest: tuple[str, Uid] = ("", Uid(""))
    """The oldest pod outside: its creation time and UID."""

    def with_member(self, bound: bool) -> "Sides":
        return replace(self, inside=self.inside + 1, waiting=self.waiting + (not bound))

    def with_outsider(self, created: str, uid: Uid) -> "Sides":
        oldest = min(self.oldest, (created, uid)) if self.outside else (created, uid)
        return replace(self, outside=self.outside + 1, oldest=oldest)


def can_split(job: JobView, group: PodGroup) -> bool:
    """The Job gets pods, and Muster created this PodGroup to hold them together."""
    stays = group.metadata.deletion_timestamp is None
    return (
        job.gets_pods and stays and group.gang is not None and is_ours(group.metadata) and controls(job, group.metadata)
    )


def sides_of(pods: Iterable[JobPod]) -> Sides:
    sides = Sides()
    for pod in pods:
        if pod.lives:
            sides = sides.with_member(pod.bound) if pod.group else sides.with_outsider("", Uid(""))
    return sides


def is_split(job: JobView, group: PodGroup, sides: Sides) -> bool:
    """The one rule, for the resync (`GangSplit`) and for `muster leave`."""
    needed = group.gang.min_count if group.gang else 0
    return can_split(job, group) and sides.waiting > 0 and sides.outside > 0 and sides.inside < needed


def split_sentence(group: PodGroup, sides: Sides) -> str:
    needed = group.gang.min_count if group.gang else 0
    return messages.gang_split(group.metadata.name, needed, sides.inside, sides.waiting, sides.outside)
