"""Decides when to post an event about a gang. To post none is a decision too: a `Silence` with its Reason.

These functions have no clock and no state: the controller passes the time and what it remembers, and acts on the
outcome.
"""

from dataclasses import dataclass

from muster.api.job import JobView
from muster.api.keys import Uid
from muster.core.gang_status import (
    Gang,
    GangEvent,
    MemberSummary,
    Silence,
    gang_event,
    is_not_held,
    not_held_event,
    scheduled_event,
    was_never_whole,
)
from muster.core.reasons import EventReason, SilenceReason

Outcome = GangEvent | Silence


@dataclass(frozen=True, slots=True)
class Pace:
    """How long Muster waits before an event, and between two events."""

    patience: float = 5.0
    """Seconds that a gang may be without its nodes before Muster posts an event. Most gangs have them by then.

    After the scheduler reports a gang as scheduled, the Job's status has the same time to show it. Then Muster counts
    the pods.
    """
    silence: float = 10.0
    """The same while the scheduler has reported nothing: if many Jobs are created at once, this takes a while."""
    first_pause: float = 5.0
    longest_pause: float = 300.0
    """The longest pause between two looks at a gang on which the scheduler does not report; each pause doubles."""
    between: float = 30.0
    """At most one GangWaiting per Job in this time."""
    listing: float = 1.0
    """The pause before the next look while the pods are still being listed."""


@dataclass(slots=True)
class GangWait:
    """What the controller remembers of a gang while it does not have its nodes."""

    job: Uid
    started: bool
    """The gang had its nodes and lost some."""
    since: float
    watched: bool
    """Muster saw the gang before the scheduler reported it as scheduled, so it cannot have missed a loss."""
    pause: float
    """The time until the next look, if there is no watch event."""
    posted: GangEvent | None = None
    looked_at: object = None
    """What the Job and PodGroup showed at the last look at the members. Muster looks again only if that changes."""
    claimed: float = 0.0
    """Since when the scheduler reports the gang as scheduled."""
    counting: Gang | None = None
    """The gang whose pods Muster is going to count."""
    half: tuple[str, float] = ("", 0.0)
    """The run in which some pods started without the others, and since when."""

    def note(self, gang: Gang, now: float) -> None:
        counting = gang.is_claimed and not self.started
        self.claimed, self.counting = (self.claimed or now, gang) if counting else (0.0, None)


def may_not_report(leads: bool, has_synced: bool) -> Silence | None:
    """Why this replica posts no events about gangs."""
    if not leads:
        return Silence(SilenceReason.NOT_LEADING)
    return None if has_synced else Silence(SilenceReason.CACHE_NOT_SYNCED)


def before_look(gang: Gang, wait: GangWait, now: float, pace: Pace) -> Silence | None:
    """Why Muster does not look at the gang's pods yet, or not again."""
    heard_of = wait.started or wait.counting is not None or gang.scheduler_message
    left = (wait.claimed or wait.since) + (pace.patience if heard_of else pace.silence) - now
    if left > 0:
        return Silence(SilenceReason.TOO_EARLY, left)
    if gang.scheduler_message and wait.looked_at == gang.shown:
        return Silence(SilenceReason.NOTHING_NEW)  # a watch event follows any change
    return None


def counted(summary: MemberSummary | None, changed: bool, pace: Pace) -> MemberSummary | Silence:
    """The result of a look at the pods, if it is valid. `changed`: the Job or its PodGroup changed during the look."""
    if summary is None:
        return Silence(SilenceReason.MEMBERS_UNKNOWN, pace.listing)
    return Silence(SilenceReason.CHANGED_MEANWHILE) if changed else summary  # the change has queued the Job


def after_look(
    gang: Gang, wait: GangWait, summary: MemberSummary, posted: float | None, now: float, pace: Pace
) -> Outcome:
    """`posted`: when the Job got its last GangWaiting, if that was recently."""
    event = gang_event(gang, summary, wait.started and gang.is_claimed)
    if event.reason is EventReason.GANG_SCHEDULED:
        return event
    if wait.posted is not None and wait.posted.identity == event.identity:
        return Silence(SilenceReason.ALREADY_POSTED)
    if posted is not None:
        return Silence(SilenceReason.RATE_LIMITED, max(0.1, posted + pace.between - now))
    return event


def half_started(gang: Gang, wait: GangWait, summary: MemberSummary, native: bool, now: float, pace: Pace) -> Outcome:
    """A gang that stays partly bound proves that no scheduler holds it."""
    had_nodes = wait.started or not (wait.watched or was_never_whole(gang, summary))
    if had_nodes or not is_not_held(gang, summary):
        return Silence(SilenceReason.NO_PART_STARTED)
    run, since = wait.half
    if run != gang.run:
        return Silence(SilenceReason.TOO_EARLY, pace.patience)
    if now - since < pace.patience:
        return Silence(SilenceReason.TOO_EARLY)  # the next look is already queued
    return not_held_event(gang, summary, native)


def is_half_started(outcome: Outcome) -> bool:
    """Some pods started without the others, so Muster remembers since when."""
    return not isinstance(outcome, Silence) or outcome.reason is not SilenceReason.NO_PART_STARTED


def has_started(gang: Gang, wait: GangWait | None, at_once: int, recent: bool) -> Outcome:
    """This run had all its nodes. `at_once`: the number of pods known to have a node at the same time."""
    if wait is not None and wait.started:
        return Silence(SilenceReason.HAD_ITS_NODES)
    if wait is not None and wait.half[0] == gang.run and at_once < gang.needed:
        return Silence(SilenceReason.STARTED_IN_PARTS)
    if wait is None and not recent:
        return Silence(SilenceReason.OLD_NEWS)
    return scheduled_event(gang)


def is_whole_again(gang: Gang, wait: GangWait | None) -> Outcome:
    """The gang has all its nodes. If an event reported a loss, another one reports that it has them back."""
    if wait is not None and wait.started and wait.posted is not None:
        return scheduled_event(gang, wait.posted.occasion)
    return Silence(SilenceReason.GANG_RUNS)


def has_ended(wait: GangWait, job: JobView | None) -> Outcome:
    """A Job that succeeded before its pods were counted: each of its pods had a node."""
    gang = wait.counting
    if gang is None or job is None or job.uid != wait.job or not job.finished or job.succeeded < gang.needed:
        return Silence(SilenceReason.WAIT_OVER)
    return Silence(SilenceReason.STARTED_IN_PARTS) if wait.half[0] == gang.run else scheduled_event(gang)
