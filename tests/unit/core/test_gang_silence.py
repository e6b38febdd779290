"""When nothing is posted about a gang: each silence has its Reason, and says when to look again."""

from dataclasses import replace

import pytest

from muster.api.keys import Uid
from muster.core.decide import decide
from muster.core.decision import Decision, Membership
from muster.core.gang_silence import (
    GangWait,
    Outcome,
    Pace,
    after_look,
    before_look,
    counted,
    half_started,
    has_ended,
    has_started,
    is_whole_again,
    may_not_report,
)
from muster.core.gang_status import Gang, GangEvent, MemberSummary, Silence, gang_of, scheduled_event
from muster.core.observed import Observed
from muster.core.reasons import EventReason, Reason, SilenceReason
from tests.builders import JobBuilder, PodGroupBuilder, a_gang
from tests.unit.core.seeing import RULES, our_workload, saw
from tests.unit.core.test_gang_status import BEGAN, FULL, HALF, STARTED, VERDICT, gang, group, job, new

NOW, PACE = 100.0, Pace()
NEW, RUNS = gang(new()), gang(STARTED, ready=4)
CLAIMED = gang(new().scheduled(when="2026-01-01T00:00:20Z"))
REFUSED = gang(group().scheduled("False", VERDICT))
NO_ROOM = MemberSummary(4, 0, FULL, "p")
DONE, FAILED = job(succeeded=4).finished().view(), job(succeeded=3).finished().view()


def a_wait(**changes: object) -> GangWait:
    made = GangWait(Uid("now"), started=False, since=0.0, watched=True, pause=5.0)
    return replace(made, **changes)  # type: ignore[arg-type]


def looked(gang: Gang, wait: GangWait, posted: float | None = None) -> Outcome:
    return after_look(gang, wait, NO_ROOM, posted, NOW, PACE)


def held(gang: Gang, wait: GangWait, summary: MemberSummary = HALF) -> Outcome:
    return half_started(gang, wait, summary, True, NOW, PACE)


POSTED = looked(NEW, a_wait())
IN_PARTS = a_wait(counting=CLAIMED, half=(CLAIMED.run, 0.0))

SILENCES: dict[str, tuple[object, Silence]] = {
    "another replica leads": (may_not_report(False, True), Silence(SilenceReason.NOT_LEADING)),
    "not everything was listed yet": (may_not_report(True, False), Silence(SilenceReason.CACHE_NOT_SYNCED)),
    "it came just now, and the scheduler has not spoken": (
        before_look(NEW, a_wait(since=98.0), NOW, PACE),
        Silence(SilenceReason.TOO_EARLY, 8.0),
    ),
    "it came just now, and the scheduler finds no room": (
        before_look(REFUSED, a_wait(since=98.0), NOW, PACE),
        Silence(SilenceReason.TOO_EARLY, 3.0),
    ),
    "the scheduler has just called it scheduled": (
        before_look(CLAIMED, a_wait(counting=CLAIMED, claimed=99.0), NOW, PACE),
        Silence(SilenceReason.TOO_EARLY, 4.0),
    ),
    "nothing changed since the last look": (
        before_look(REFUSED, a_wait(looked_at=REFUSED.shown), NOW, PACE),
        Silence(SilenceReason.NOTHING_NEW),
    ),
    "the pods are still being listed": (counted(None, False, PACE), Silence(SilenceReason.MEMBERS_UNKNOWN, 1.0)),
    "it changed during the look": (counted(NO_ROOM, True, PACE), Silence(SilenceReason.CHANGED_MEANWHILE)),
    "the same was posted before": (looked(NEW, a_wait(posted=POSTED)), Silence(SilenceReason.ALREADY_POSTED)),
    "another wait was posted just now": (looked(NEW, a_wait(), 90.0), Silence(SilenceReason.RATE_LIMITED, 20.0)),
    "half of it has just started": (held(NEW, a_wait()), Silence(SilenceReason.TOO_EARLY, 5.0)),
    "half of it started a moment ago": (
        held(NEW, a_wait(half=(NEW.run, 98.0))),
        Silence(SilenceReason.TOO_EARLY),
    ),
    "it had its nodes, and lost some": (held(NEW, a_wait(started=True)), Silence(SilenceReason.NO_PART_STARTED)),
    "nobody knows whether it had its nodes": (
        held(CLAIMED, a_wait(watched=False)),
        Silence(SilenceReason.NO_PART_STARTED),
    ),
    "it had its nodes before": (
        has_started(CLAIMED, a_wait(started=True), at_once=4, recent=True),
        Silence(SilenceReason.HAD_ITS_NODES),
    ),
    "its pods started one after the other": (
        has_started(CLAIMED, IN_PARTS, at_once=2, recent=True),
        Silence(SilenceReason.STARTED_IN_PARTS),
    ),
    "it started long before anybody looked": (
        has_started(RUNS, None, at_once=4, recent=False),
        Silence(SilenceReason.OLD_NEWS),
    ),
    "it runs on": (is_whole_again(RUNS, None), Silence(SilenceReason.GANG_RUNS)),
    "it lost a pod and had it back before that was posted": (
        is_whole_again(RUNS, a_wait(started=True)),
        Silence(SilenceReason.GANG_RUNS),
    ),
    "its Job is gone": (has_ended(a_wait(counting=CLAIMED), None), Silence(SilenceReason.WAIT_OVER)),
    "its Job failed before it was counted": (
        has_ended(a_wait(counting=CLAIMED), FAILED),
        Silence(SilenceReason.WAIT_OVER),
    ),
    "nobody called it scheduled before its Job was done": (has_ended(a_wait(), DONE), Silence(SilenceReason.WAIT_OVER)),
    "it was done after it had started in parts": (has_ended(IN_PARTS, DONE), Silence(SilenceReason.STARTED_IN_PARTS)),
}


@pytest.mark.parametrize(("outcome", "silence"), SILENCES.values(), ids=SILENCES)
def test_why_nothing_is_posted(outcome: object, silence: Silence) -> None:
    assert outcome == silence


def still_suspended() -> JobBuilder:
    return a_gang().uid("now").with_status(conditions=[{"type": "Suspended", "status": "True"}])


def seen_gang(job: JobBuilder, group: PodGroupBuilder | None, adopt_existing_only: bool = False) -> Gang | Silence:
    seen = saw(job, [our_workload(job)], [group] if group else [], pods=None)
    rules = replace(RULES, adopt_existing_only=adopt_existing_only)
    return gang_of(seen, decide(seen, rules), rules)


def somebody_s() -> PodGroupBuilder:
    made = group()
    del made.metadata["labels"]
    return made


NO_GANG = {
    "it is suspended": (job().suspended(), group(), Reason.SUSPENDED),
    "it is about to be resumed": (still_suspended(), group(), SilenceReason.RESUMING),
    "it has finished": (job().finished(), group(), Reason.JOB_FINISHED),
    "it goes": (job().being_deleted(), group(), Reason.JOB_BEING_DELETED),
    "its group is not there yet": (job(), None, Reason.POD_GROUP_MISSING),
    "its group goes": (job(), group().being_deleted(), Reason.POD_GROUP_BEING_DELETED),
    "its pods start one by one": (job(), group().basic(), SilenceReason.BASIC_POLICY),
    "its group is not Muster's, and Muster sees only some pods": (
        job(),
        somebody_s(),
        SilenceReason.POD_GROUP_NOT_OURS,
    ),
}


@pytest.mark.parametrize(("job", "group", "reason"), NO_GANG.values(), ids=NO_GANG)
def test_a_gang_that_muster_cannot_judge_is_a_silence(
    job: JobBuilder, group: PodGroupBuilder | None, reason: Reason | SilenceReason
) -> None:
    only_some = reason is SilenceReason.POD_GROUP_NOT_OURS
    assert seen_gang(job, group, adopt_existing_only=only_some) == Silence(reason)


def test_a_group_that_the_store_does_not_have_is_a_silence() -> None:
    seen = saw(job(), [our_workload(job())], [], pods=None)
    followed = Decision(Reason.GROUP_FOLLOWED, Membership.JOIN, "another")
    assert gang_of(seen, followed, RULES) == Silence(SilenceReason.POD_GROUP_UNKNOWN)


def test_a_job_that_is_gone_has_no_gang() -> None:
    seen = Observed(None)
    assert gang_of(seen, decide(seen, RULES), RULES) == Silence(Reason.JOB_GONE)


def test_a_gang_with_its_group_is_no_silence() -> None:
    found = seen_gang(job(), group())
    assert isinstance(found, Gang)
    assert found.needed == 4


WAITS, ALL_NODES = EventReason.GANG_WAITING, EventReason.GANG_SCHEDULED
SPOKEN: dict[str, tuple[object, EventReason]] = {
    "it waits, and nothing was posted": (looked(NEW, a_wait()), WAITS),
    "it waits for another reason": (looked(NEW, a_wait(posted=scheduled_event(NEW))), WAITS),
    "half of it has been running for a while": (
        held(NEW, a_wait(half=(NEW.run, 90.0))),
        EventReason.GANG_NOT_HELD,
    ),
    "it was half started before muster saw it": (
        held(CLAIMED, a_wait(watched=False, half=(CLAIMED.run, 90.0)), replace(HALF, waiting_since=BEGAN)),
        EventReason.GANG_NOT_HELD,
    ),
    "it started in parts, and now all have a node at once": (has_started(CLAIMED, IN_PARTS, 4, True), ALL_NODES),
    "it waited here, however long ago": (has_started(RUNS, a_wait(), 4, False), ALL_NODES),
    "it started just now": (has_started(RUNS, None, 4, True), ALL_NODES),
    "it has back what it was said to have lost": (is_whole_again(RUNS, a_wait(started=True, posted=POSTED)), ALL_NODES),
    "it was done before it was counted": (has_ended(a_wait(counting=CLAIMED), DONE), ALL_NODES),
}


@pytest.mark.parametrize(("outcome", "reason"), SPOKEN.values(), ids=SPOKEN)
def test_a_change_of_the_gang_is_posted(outcome: object, reason: EventReason) -> None:
    assert isinstance(outcome, GangEvent)
    assert outcome.reason is reason


NOTHING_TO_SAY = {
    "it is the leader, and has synced": may_not_report(True, True),
    "it has waited long enough": before_look(NEW, a_wait(since=90.0), NOW, PACE),
    "something changed since the last look": before_look(REFUSED, a_wait(looked_at=NEW.shown), NOW, PACE),
}


@pytest.mark.parametrize("outcome", NOTHING_TO_SAY.values(), ids=NOTHING_TO_SAY)
def test_without_a_reason_there_is_no_silence(outcome: object) -> None:
    assert outcome is None


def test_a_silence_is_one_line_of_the_log() -> None:
    assert str(Silence(SilenceReason.ALREADY_POSTED)) == "no event: AlreadyPosted: the same event was posted before"
