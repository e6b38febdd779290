"""A split gang: pods wait in the Job's PodGroup for siblings that were created outside of it.

Pods pass the pod webhook unchanged while it is gone or fails open, or while two replicas run with different settings.
The scheduler counts only members, so a PodGroup that lacks them never becomes whole, and its members wait without end.
A gang whose members all have a node is not split: nothing waits for the pods outside.
"""

from dataclasses import dataclass, replace

from muster.api.job import JobView
from muster.api.keys import Uid
from muster.api.v1alpha2.podgroup import PodGroup
from muster.core import messages
from muster.core.ownership import controls, is_ours


@dataclass(frozen=True, slots=True)
class Sides:
    """The living pods of one Job: those in its PodGroup, and those in no group."""

    inside: int = 0
    waiting: int = 0
    """Those inside that have no node."""
    outside: int = 0
    oldest: tuple[str, Uid] = ("", Uid(""))
    """Of those outside: when it was created, and its UID."""

    def with_member(self, bound: bool) -> "Sides":
        return replace(self, inside=self.inside + 1, waiting=self.waiting + (not bound))

    def with_outsider(self, created: str, uid: Uid) -> "Sides":
        oldest = min(self.oldest, (created, uid)) if self.outside else (created, uid)
        return replace(self, outside=self.outside + 1, oldest=oldest)


def can_split(job: JobView, group: PodGroup) -> bool:
    """The Job gets pods, and Muster made this PodGroup to hold them together."""
    gets_pods = not (job.finished or job.suspended or job.being_deleted)
    stays = group.metadata.deletion_timestamp is None
    return gets_pods and stays and group.gang is not None and is_ours(group.metadata) and controls(job, group.metadata)


def is_split(group: PodGroup, sides: Sides) -> bool:
    needed = group.gang.min_count if group.gang else 0
    return sides.waiting > 0 and sides.outside > 0 and sides.inside < needed


def split_sentence(group: PodGroup, sides: Sides) -> str:
    needed = group.gang.min_count if group.gang else 0
    return messages.gang_split(group.metadata.name, needed, sides.inside, sides.waiting, sides.outside)
