"""What a gang's people are told: that it has its nodes, or that it waits, and why.

The scheduler reports on a PodGroup once: its condition never goes back from True, and says nothing while members are
missing. And kube-scheduler without the feature gate GangScheduling sets it to True as soon as one pod is bound. So the
condition is a claim: Muster counts the pods that have a node before it says that the gang has its nodes.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from muster.api.job import JobView
from muster.api.pod import PodView
from muster.api.v1alpha2.podgroup import GangState, PodGroup
from muster.core import messages
from muster.core.decide import Decision, Membership
from muster.core.observed import Observed
from muster.core.ownership import has_ours
from muster.core.reasons import EventReason, Reason, SilenceReason

_GENERIC = "pod group is unschedulable"
"""How kube-scheduler begins for members that would fit, were it not for the others."""


@dataclass(frozen=True, slots=True)
class Gang:
    """A Job that should be running, and its PodGroup."""

    job: JobView
    group: PodGroup
    needed: int
    """How many pods start together."""
    resumed: str
    """When the Job was last resumed; empty if it was never suspended."""

    @property
    def run(self) -> str:
        """Which run of which group this is: resumed, or with a group that was made anew, it is another one."""
        return f"{self.group.metadata.uid} {self.resumed}"

    @property
    def is_claimed(self) -> bool:
        """The scheduler calls this run scheduled. What it said before the Job was resumed is not about this run."""
        condition = self.group.scheduled
        if condition is None or condition.status != "True":
            return False
        return self._all_ready or condition.last_transition_time > self.resumed

    @property
    def is_whole(self) -> bool:
        """The Job's own status proves that every pod has had a node."""
        return self.is_claimed and self._all_ready

    @property
    def _all_ready(self) -> bool:
        return self.job.ready + self.job.succeeded >= self.needed

    @property
    def lost_pods(self) -> bool:
        """Pods of the Job have failed, which also counts those that were evicted, preempted or deleted."""
        return self.job.counted_pods > self.job.succeeded

    @property
    def ended(self) -> int:
        """Pods of this run that had a node and ended. Failures from before the Job was resumed do not count."""
        return self.job.succeeded if self.resumed else self.job.counted_pods

    @property
    def last_news(self) -> str:
        """When this run began or got its nodes, whichever was later, as the API server writes it."""
        condition = self.group.scheduled
        return max(self.resumed, condition.last_transition_time if condition else "")

    @property
    def verdict(self) -> str:
        """The scheduler's own words on why it does not start; empty if it said none."""
        condition = self.group.scheduled
        return condition.message or condition.reason if condition is not None and condition.status != "True" else ""

    @property
    def shown(self) -> object:
        """What the Job and its PodGroup show. While that stays, a new look at the members shows nothing new."""
        return self.run, self.group.scheduled, self.job.active, self.job.ready, self.job.succeeded


@dataclass(frozen=True, slots=True)
class MemberSummary:
    """The members as they are now. Those that have ended are none any more."""

    exist: int
    bound: int
    words: str = ""
    """What the scheduler says about one that has no node."""
    first: str = ""
    """The UID of the oldest one that has no node."""
    bound_since: str = ""
    """When the oldest one that has a node was created."""

    @property
    def waiting(self) -> int:
        return self.exist - self.bound


@dataclass(frozen=True, slots=True)
class GangEvent:
    reason: EventReason
    message: str
    occasion: str
    """The run, or the loss, that it is about. On another occasion it is another event, also in the same words."""

    @property
    def identity(self) -> str:
        """Numbers make no difference: a scheduler that counts nodes would have something new to say all the time."""
        return f"{self.occasion} {re.sub('[0-9]+', '#', self.message)}"


@dataclass(frozen=True, slots=True)
class Silence:
    """Nothing is posted, and why."""

    reason: Reason | SilenceReason
    again_in: float | None = None
    """Seconds after which to look again; None if a change of the Job or its PodGroup is what there is to wait for."""

    def __str__(self) -> str:
        return messages.silence(self.reason)


def gang_of(seen: Observed, decision: Decision, adopt_existing_only: bool = False) -> Gang | Silence:
    """The gang that there may be something to tell about, or why there is none."""
    job = seen.job
    if job is None or decision.membership is not Membership.JOIN:
        return Silence(decision.reason)
    if job.finished:
        return Silence(Reason.JOB_FINISHED)
    if adopt_existing_only and not has_ours(job, seen.pod_groups):
        return Silence(SilenceReason.POD_GROUP_NOT_OURS)
    if job.suspended:
        return Silence(Reason.SUSPENDED)
    if job.resumed is None:
        return Silence(SilenceReason.RESUMING)
    group = next((found for found in seen.pod_groups if found.metadata.name == decision.group), None)
    if group is None:
        return Silence(SilenceReason.POD_GROUP_UNKNOWN)
    if group.gang is None:
        return Silence(SilenceReason.BASIC_POLICY)
    if group.state is GangState.ENDING:
        return Silence(Reason.POD_GROUP_BEING_DELETED)
    return Gang(job, group, group.gang.min_count, job.resumed)


def summary_of(pods: Iterable[PodView]) -> MemberSummary:
    living = [pod for pod in pods if pod.live and (pod.bound or not pod.terminating)]
    waiting = sorted((pod for pod in living if not pod.bound), key=lambda pod: (pod.created, pod.name))
    words = [pod.unschedulable for pod in waiting if pod.unschedulable]
    specific = [said for said in words if not said.startswith(_GENERIC)]
    return MemberSummary(
        exist=len(living),
        bound=len(living) - len(waiting),
        words=next(iter(specific or words), ""),
        first=waiting[0].uid if waiting else "",
        bound_since=min((pod.created for pod in living if pod.bound), default=""),
    )


def gang_event(gang: Gang, summary: MemberSummary, started: bool) -> GangEvent:
    """What is so, from the members as they are. `started`: this run has had all its nodes."""
    runs_on = started and summary.exist > 0 and not summary.waiting
    if has_nodes(gang, summary) or runs_on:
        return scheduled_event(gang)
    if _lacks_members(gang, summary):
        why = messages.pods_missing(summary.exist, gang.needed, gang.job.succeeded)
    else:
        why = _no_room(gang, summary)
    occasion = f"{gang.run} lost {summary.first}" if started else gang.run
    return GangEvent(EventReason.GANG_WAITING, why, occasion)


def has_nodes(gang: Gang, summary: MemberSummary) -> bool:
    """Every pod of the gang has a node, or had one and has ended."""
    if summary.bound + gang.job.succeeded >= gang.needed:
        return True
    return gang.is_claimed and not summary.waiting and summary.exist + gang.ended >= gang.needed


def is_not_held(gang: Gang, summary: MemberSummary) -> bool:
    """Some members run, and the scheduler finds no node for others. Ask only if this run never had all its nodes.

    Only what a scheduler that holds gangs never does counts. It too leaves a gang half bound after a pod was lost
    (failures), or after its PodGroup was made again in another size (members that are older than the group).
    """
    specific = bool(summary.words) and not summary.words.startswith(_GENERIC)
    half = summary.bound > 0 and summary.waiting > 0 and not has_nodes(gang, summary)
    made_again = summary.bound_since < (gang.group.metadata.creation_timestamp or "")
    return half and specific and not gang.verdict and not gang.lost_pods and not made_again


def not_held_event(gang: Gang, summary: MemberSummary, native: bool) -> GangEvent:
    return GangEvent(EventReason.GANG_NOT_HELD, messages.gang_not_held(summary.bound, gang.needed, native), gang.run)


def scheduled_event(gang: Gang, occasion: str = "") -> GangEvent:
    message = messages.gang_scheduled(gang.needed, gang.group.metadata.name)
    return GangEvent(EventReason.GANG_SCHEDULED, message, occasion or gang.run)


def _lacks_members(gang: Gang, summary: MemberSummary) -> bool:
    """A scheduler that holds gangs says nothing about them before all are there. One that does not, does."""
    if summary.exist >= gang.needed:
        return False
    return not summary.words or summary.exist + gang.job.succeeded < gang.needed


def _no_room(gang: Gang, summary: MemberSummary) -> str:
    words = [said for said in (summary.words, gang.verdict) if said]
    if not words:
        return messages.no_scheduler_spoke(summary.exist)
    return messages.no_room(summary.bound, gang.needed, words)
