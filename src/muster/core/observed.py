"""What Muster knows of one Job: everything that a decision may look at."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from muster.api.job import JobView
from muster.api.keys import Uid
from muster.api.v1alpha2.podgroup import PodGroup
from muster.api.v1alpha2.workload import Workload
from muster.core import messages
from muster.core.reasons import Reason


@dataclass(frozen=True, slots=True)
class Pods:
    """What a live LIST says about the Job's pods."""

    exist: bool
    """Any at all, also ended ones."""
    live: bool
    """At least one may still run."""
    group: str = ""
    """The group of the live ones; empty if they are plain."""
    name: str = field(default="", compare=False)
    """The live one that was looked at."""


NO_PODS = Pods(exist=False, live=False)


@dataclass(frozen=True, slots=True)
class Proof:
    """What the reads since the last write prove. A cached view proves nothing."""

    complete: bool = False
    """Everything was read from the API server, and not from the cache alone."""
    by_name: bool = False
    """Also Muster's own objects, by name."""
    group_uid: Uid | None = None
    """The PodGroup with this UID was seen before a list of the pods began, and no later read shows another one."""
    own_pair_read: bool = False
    """After the pods were listed, Muster's own pair was read by name."""
    suspended: bool = False
    """The Job was suspended before, during and after a list of the pods."""
    made: frozenset[str] = frozenset()
    """Names of the objects that Muster has created since everything was read."""

    def after_read(self, group_uid: Uid | None = None, own_pair_read: bool = False, suspended: bool = False) -> "Proof":
        """What one more read proves; it replaces what an earlier one proved."""
        return replace(self, group_uid=group_uid, own_pair_read=own_pair_read, suspended=suspended)

    def after_write(self, created: str = "") -> "Proof":
        return replace(self.after_read(), made=self.made | {created} if created else self.made)


NOTHING_PROVEN = Proof()


@dataclass(frozen=True, slots=True)
class StoredPodGroup:
    """A PodGroup as the API server stores it, with the fields that Muster does not know."""

    name: str
    body: Mapping[str, Any]
    requested_size: int | None = None
    """The size that Muster asked for when it created this object."""


class Why(StrEnum):
    """Also the metric's label."""

    INDEXES_ENDED = "ended"
    """Some indexes have ended, and a pod of the others waits for them."""
    ASKED = "asked"
    """The Job asks for another number of pods."""


@dataclass(frozen=True, slots=True)
class ResizeNeeded:
    """A gang whose PodGroup does not have the size that the Job needs."""

    job: JobView
    group: PodGroup
    size: int
    """What it should be."""
    why: Why
    obstacle: Reason | None = None
    """Why Muster does not replace it, or does not replace it yet."""

    @property
    def can_proceed(self) -> bool:
        """Whether a run could do anything: the end of the Workload's deletion wakes Muster."""
        return self.obstacle is not Reason.WORKLOAD_BEING_DELETED

    @property
    def was(self) -> int:
        return self.group.gang.min_count if self.group.gang else 0

    @property
    def sentence(self) -> str:
        if self.why is Why.ASKED:
            return messages.size_asked_for(self.size)
        ended = (self.job.completions or 0) - self.job.unfinished
        return messages.indexes_ended(ended, self.job.completions or 0)


@dataclass(frozen=True, slots=True)
class Replaced:
    """The PodGroup that a resize in this run replaces."""

    resize: ResizeNeeded
    body: Mapping[str, Any] | None
    """The new one, made from what was stored of the old one; None if the API server rejects it, or nothing is known."""
    by_us: bool = True
    """False: another client deleted the PodGroup before Muster did."""

    @property
    def name(self) -> str:
        return self.resize.group.metadata.name


@dataclass(frozen=True, slots=True)
class Observed:
    """Everything the decision may look at."""

    job: JobView | None
    workloads: tuple[Workload, ...] = ()
    pod_groups: tuple[PodGroup, ...] = ()
    pods: Pods | None = None
    """None: not read."""
    taken: frozenset[str] = frozenset()
    """Names that Muster would use, and that objects of other owners have."""
    rejected: str = ""
    """The API server's message when it permanently rejected Muster's object."""
    rejected_now: bool = False
    """The rejection is new: another replica may be creating the object that this replica could not create."""
    proof: Proof = NOTHING_PROVEN
    draining: bool = False
    """`muster leave` runs: Muster completes gangs that were formed, and begins no new one."""
    form_only: bool = False
    """This run forms the gang, and a pod may wait for it: it resizes no PodGroup."""
    will_write: bool = True
    """False for the dry run and the parallelism guard, which only want to know what Muster would do."""
    stored: StoredPodGroup | None = None
    """The PodGroup to resize; None: not read."""
    members_wait: bool | None = None
    """Pods of that PodGroup wait for a node; None: not read."""
    replaced: Replaced | None = None
    """The PodGroup that Muster has begun to resize in this run."""

    def pod_group(self, name: str) -> PodGroup | None:
        return next((group for group in self.pod_groups if group.metadata.name == name), None)

    @property
    def lasting_rejection(self) -> str:
        """The rejection that the next run remembers; empty while pods wait for the group, so that each run retries."""
        return "" if self.pods is not None and self.pods.group else self.rejected

    def changed_meanwhile(self) -> "Observed":
        """An object differs from what was observed: read everything again."""
        return replace(self, proof=NOTHING_PROVEN, stored=None, members_wait=None)

    def with_pod_group(self, name: str, found: PodGroup | None) -> "Observed":
        """The PodGroup of this name as it is now; None: it is gone."""
        others = tuple(group for group in self.pod_groups if group.metadata.name != name)
        return replace(self, pod_groups=others if found is None else (*others, found))


GONE = Observed(None, proof=Proof(complete=True))
"""The API server has no such Job."""
