"""The events about a gang: it has its nodes, or it waits and why.

The scheduler reports on a PodGroup once: its condition never goes back from True, and says nothing while members are
missing. Without the feature gate GangScheduling, kube-scheduler sets it to True as soon as one pod is bound. So the
condition is only a claim: Muster counts the bound pods before it reports that the gang has its nodes.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from muster.api.job import JobView
from muster.api.pod import PodView
from muster.api.v1alpha2.podgroup import GangState, PodGroup
from muster.core import messages
from muster.core.decision import Decision, Membership
from muster.core.observed import Observed
from muster.core.ownership import has_own
from muster.core.policy import Rules
from muster.core.reasons import EventReason, Reason, SilenceReason

_GENERIC = "pod group is unschedulable"
"""The start of kube-scheduler's message for pods that would fit if the other members did."""


@dataclass(frozen=True, slots=True)
class Gang:
    """A Job that should run, and its PodGroup."""

    job: JobView
    group: PodGroup
    needed: int
    """The number of pods that start together."""
    resumed: str
    """When the Job was last resumed; empty if it was never suspended."""

    @property
    def run(self) -> str:
        """Identifies a run of a gang. A resume or a new PodGroup begins another run."""
        return f"{self.group.metadata.uid} {self.resumed}"

    @property
    def is_claimed(self) -> bool:
        """The scheduler reports this run as scheduled. A report from before the resume is not about this run."""
        condition = self.group.scheduled
        if condition is None or condition.status != "True":
            return False
        return self._all_ready or condition.last_transition_time > self.resumed

    @property
    def is_whole(self) -> bool:
        """The Job's status proves that every pod had a node."""
        return self.is_claimed and self._all_ready

    @property
    def _all_ready(self) -> bool:
        return self.job.ready + self.job.succeeded >= self.needed

    @property
    def lost_pods(self) -> bool:
        """Pods of the Job have failed; this includes evicted, preempted and deleted pods."""
        return self.job.counted_pods > self.job.succeeded

    @property
    def ended(self) -> int:
        """Pods of this run that had a node and ended. Failures from before the resume do not count."""
        return self.job.succeeded if self.resumed else self.job.counted_pods

    @property
    def last_news(self) -> str:
        """When this run began or got its nodes, whichever was later, in the API server's format."""
        condition = self.group.scheduled
        return max(self.resumed, condition.last_transition_time if condition else "")

    @property
    def scheduler_message(self) -> str:
        """The scheduler's message on why the gang does not start; empty if there is none."""
        condition = self.group.scheduled
        return condition.message or condition.reason if condition is not None and condition.status != "True" else ""

    @property
    def shown(self) -> object:
        """What the Job and its PodGroup show. If this is unchanged, a new look at the members shows nothing new."""
        return self.run, self.group.scheduled, self.job.active, self.job.ready, self.job.succeeded


@dataclass(frozen=True, slots=True)
class MemberSummary:
    """The current members. Pods that have ended are not members."""

    exist: int
    bound: int
    words: str = ""
    """The scheduler's message about a member without a node."""
    first: str = ""
    """The UID of the oldest member without a node."""
    bound_since: str = ""
    """When the oldest member with a node was created."""
    waiting_since: str = ""
    """When the oldest member without a node was created."""

    @property
    def waiting(self) -> int:
        return self.exist - self.bound


@dataclass(frozen=True, slots=True)
class GangEvent:
    reason: EventReason
    message: str
    occasion: str
    """The run or the loss that the event is about. The same message on another occasion is another event."""

    @property
    def identity(self) -> str:
        """Ignores numbers: a scheduler's message that counts nodes would otherwise be new all the time."""
        return f"{self.occasion} {re.sub('[0-9]+', '#', self.message)}"


@dataclass(frozen=True, slots=True)
class Silence:
    """No event is posted, and why."""

    reason: Reason | SilenceReason
    again_in: float | None = None
    """Seconds until the next look; None to wait for a change of the Job or its PodGroup."""

    def __str__(self) -> str:
        return messages.silence(self.reason)


def gang_of(seen: Observed, decision: Decision, rules: Rules) -> Gang | Silence:
    """The gang to report on, or why there is none."""
    job = seen.job
    if job is None or decision.membership is not Membership.JOIN:
        return Silence(decision.reason)
    if job.finished:
        return Silence(Reason.JOB_FINISHED)
    if rules.adopt_existing_only and not has_own(job, seen.pod_groups):
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
    current = [pod for pod in pods if pod.live and (pod.bound or not pod.terminating)]
    waiting = sorted((pod for pod in current if not pod.bound), key=lambda pod: (pod.created, pod.name))
    words = [pod.unschedulable for pod in waiting if pod.unschedulable]
    specific = [said for said in words if not said.startswith(_GENERIC)]
    return MemberSummary(
        exist=len(current),
        bound=len(current) - len(waiting),
        words=next(iter(specific or words), ""),
        first=waiting[0].uid if waiting else "",
        bound_since=min((pod.created for pod in current if pod.bound), default=""),
        waiting_since=waiting[0].created if waiting else "",
    )


def gang_event(gang: Gang, summary: MemberSummary, started: bool) -> GangEvent:
    """The event for the current members. `started`: this run had all its nodes."""
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
    """Some members run, and the scheduler finds no node for others. Valid only if this run never had all its nodes.

    It counts only what a scheduler that holds gangs never does. Such a scheduler also leaves a gang partly bound after
    a pod was lost (failures), or after the PodGroup was replaced with another size (members older than the group).
    """
    specific = bool(summary.words) and not summary.words.startswith(_GENERIC)
    half = summary.bound > 0 and summary.waiting > 0 and not has_nodes(gang, summary)
    made_again = summary.bound_since < (gang.group.metadata.creation_timestamp or "")
    return half and specific and not gang.scheduler_message and not gang.lost_pods and not made_again


def was_never_whole(gang: Gang, summary: MemberSummary) -> bool:
    """A member without a node is no replacement of a lost pod, so the gang never had all its nodes.

    The Job never lost a pod, or the member already existed when the scheduler reported the gang as scheduled. A gang
    that needs fewer pods than the Job has can start without that one. Times are in seconds, and no pod is lost and
    replaced within one second.
    """
    if not gang.is_claimed or not summary.waiting:
        return False
    if not gang.job.may_replace:
        return summary.bound + gang.job.succeeded < gang.needed
    claim = gang.group.scheduled
    older = claim is not None and "" < summary.waiting_since <= claim.last_transition_time
    return older and gang.needed >= (gang.job.parallelism or 1)


def not_held_event(gang: Gang, summary: MemberSummary, native: bool) -> GangEvent:
    return GangEvent(EventReason.GANG_NOT_HELD, messages.gang_not_held(summary.bound, gang.needed, native), gang.run)


def scheduled_event(gang: Gang, occasion: str = "") -> GangEvent:
    message = messages.gang_scheduled(gang.needed, gang.group.metadata.name)
    return GangEvent(EventReason.GANG_SCHEDULED, message, occasion or gang.run)


def _lacks_members(gang: Gang, summary: MemberSummary) -> bool:
    """A scheduler that holds gangs reports nothing until all members exist. Other schedulers report on single pods."""
    if summary.exist >= gang.needed:
        return False
    return not summary.words or summary.exist + gang.job.succeeded < gang.needed


def _no_room(gang: Gang, summary: MemberSummary) -> str:
    words = [said for said in (summary.words, gang.scheduler_message) if said]
    if not words:
        return messages.no_scheduler_spoke(summary.exist)
    return messages.no_room(summary.bound, gang.needed, words)
