"""When an event about a gang is posted, and when not. To say nothing is a decision too: a `Silence` with its Reason.

Nothing here has a clock or a memory: the controller passes the time and what it remembers, and performs the outcome.
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
)
from muster.core.reasons import EventReason, SilenceReason

Outcome = GangEvent | Silence


@dataclass(frozen=True, slots=True)
class Pace:
    """How long Muster waits before it speaks, and between two events."""

    patience: float = 5.0
    """Seconds that a gang may be without its nodes before Muster posts an event. Most have them by then.

    A gang that the scheduler calls scheduled has as long to show in the Job's own status. Then its pods are counted.
    """
    silence: float = 10.0
    """The same while the scheduler has said nothing: when many Jobs come at once, their pods take a while."""
    first_pause: float = 5.0
    longest_pause: float = 300.0
    """Between two looks at a gang about which the scheduler says nothing; each is twice as long as the one before."""
    between: float = 30.0
    """At most one GangWaiting in that time per Job, whatever the scheduler says."""
    listing: float = 1.0
    """Before the next look, while the pods are still being listed."""


@dataclass(slots=True)
class Wait:
    """What the controller remembers of a gang while it is without its nodes."""

    job: Uid
    started: bool
    """It had its nodes, and lost some."""
    since: float
    watched: bool
    """It was seen before the scheduler called it scheduled, so that a loss cannot have been missed."""
    pause: float
    """Until the next look, if nothing comes by itself."""
    posted: GangEvent | None = None
    looked_at: object = None
    """What the last look at the members was about: nothing new, no new look."""
    claimed: float = 0.0
    """Since when the scheduler calls it scheduled."""
    counting: Gang | None = None
    """The gang, while its pods are to be counted."""
    half: tuple[str, float] = ("", 0.0)
    """The run in which some pods started without the others, and since when."""

    def note(self, gang: Gang, now: float) -> None:
        counting = gang.is_claimed and not self.started
        self.claimed, self.counting = (self.claimed or now, gang) if counting else (0.0, None)


def not_the_one(leads: bool, has_synced: bool) -> Silence | None:
    """Why this replica does not speak of any gang."""
    if not leads:
        return Silence(SilenceReason.NOT_LEADING)
    return None if has_synced else Silence(SilenceReason.STORE_NOT_SYNCED)


def before_look(gang: Gang, wait: Wait, now: float, pace: Pace) -> Silence | None:
    """Why the gang's pods are not looked at yet, or not again."""
    spoken_for = wait.started or wait.counting is not None or gang.verdict
    left = (wait.claimed or wait.since) + (pace.patience if spoken_for else pace.silence) - now
    if left > 0:
        return Silence(SilenceReason.TOO_EARLY, left)
    if gang.verdict and wait.looked_at == gang.shown:
        return Silence(SilenceReason.NOTHING_NEW)  # whatever changes, the streams tell
    return None


def counted(summary: MemberSummary | None, changed: bool, pace: Pace) -> MemberSummary | Silence:
    """What a look at the pods showed, if it counts. `changed`: the Job or its PodGroup is not as it was before it."""
    if summary is None:
        return Silence(SilenceReason.MEMBERS_UNKNOWN, pace.listing)
    return Silence(SilenceReason.CHANGED_MEANWHILE) if changed else summary  # it is queued for the change


def after_look(gang: Gang, wait: Wait, summary: MemberSummary, posted: float | None, now: float, pace: Pace) -> Outcome:
    """`posted`: when the Job got its last GangWaiting, if that was not long ago."""
    event = gang_event(gang, summary, wait.started and gang.is_claimed)
    if event.reason is EventReason.GANG_SCHEDULED:
        return event
    if wait.posted is not None and wait.posted.identity == event.identity:
        return Silence(SilenceReason.ALREADY_POSTED)
    if posted is not None:
        return Silence(SilenceReason.RATE_LIMITED, max(0.1, posted + pace.between - now))
    return event


def half_started(
    gang: Gang, wait: Wait, summary: MemberSummary, native: bool, now: float, pace: Pace
) -> Outcome | None:
    """A gang that stays half bound proves that no scheduler holds it. None if it is not half bound."""
    if wait.started or not wait.watched or not is_not_held(gang, summary):
        return None
    run, since = wait.half
    if run != gang.run:
        return Silence(SilenceReason.TOO_EARLY, pace.patience)
    if now - since < pace.patience:
        return Silence(SilenceReason.TOO_EARLY)  # it is looked at again for that already
    return not_held_event(gang, summary, native)


def has_started(gang: Gang, wait: Wait | None, at_once: int, recent: bool) -> Outcome:
    """This run has had all its nodes. `at_once`: how many pods are known to have one at the same time."""
    if wait is not None and wait.half[0] == gang.run and at_once < gang.needed:
        return Silence(SilenceReason.STARTED_IN_PARTS)
    if wait is None and not recent:
        return Silence(SilenceReason.OLD_NEWS)
    return scheduled_event(gang)


def is_whole_again(gang: Gang, wait: Wait | None) -> Outcome:
    """It has all its nodes. If an event said that it lost some, another one says that it has them back."""
    if wait is not None and wait.started and wait.posted is not None:
        return scheduled_event(gang, wait.posted.occasion)
    return Silence(SilenceReason.GANG_RUNS)


def has_ended(wait: Wait, job: JobView | None) -> Outcome:
    """A Job that succeeded before its pods were counted: each of them had a node."""
    gang = wait.counting
    if gang is None or job is None or job.uid != wait.job or not job.finished or job.succeeded < gang.needed:
        return Silence(SilenceReason.WAIT_OVER)
    return Silence(SilenceReason.STARTED_IN_PARTS) if wait.half[0] == gang.run else scheduled_event(gang)
