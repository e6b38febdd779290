"""The events about a gang, from its group's condition and its members."""

from dataclasses import replace

import pytest

from muster.api.pod import PodView
from muster.core.gang_status import (
    Gang,
    MemberSummary,
    gang_event,
    is_not_held,
    not_held_event,
    scheduled_event,
    summary_of,
    was_never_whole,
)
from muster.core.reasons import EventReason
from tests.builders import JobBuilder, PodBuilder, PodGroupBuilder, a_gang, a_pod
from tests.unit.core.seeing import our_group

BEFORE, BEGAN, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:00:10Z", "2026-01-01T00:00:20Z"
AFTER = "2026-01-01T00:00:30Z"
VERDICT = "0/1 placements are available"
FULL = "0/3 nodes are available: 3 Insufficient cpu."
GENERIC = "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled"


def job(resumed: str = BEGAN, **status: object) -> JobBuilder:
    conditions = [{"type": "Suspended", "status": "False", "lastTransitionTime": resumed}] if resumed else []
    return a_gang().uid("now").with_status(conditions=conditions, **status)


def group() -> PodGroupBuilder:
    return our_group(job()).uid("group")


def new() -> PodGroupBuilder:
    return group().created(BEGAN)


STARTED = group().scheduled(when=LATER)


def gang(group: PodGroupBuilder, resumed: str = BEGAN, **status: object) -> Gang:
    view = job(resumed, **status).view()
    assert view.resumed == resumed
    return Gang(view, group.read(), 4, resumed)


@pytest.mark.parametrize(
    ("gang", "claimed", "whole"),
    [
        pytest.param(gang(group()), False, False, id="no word yet"),
        pytest.param(gang(group().scheduled("False", VERDICT)), False, False, id="no room"),
        pytest.param(gang(STARTED), True, False, id="scheduled, and starting"),
        pytest.param(gang(STARTED, ready=4), True, True, id="all run"),
        pytest.param(gang(STARTED, ready=1, succeeded=3), True, True, id="all run or are done"),
        pytest.param(gang(STARTED, ready=2, succeeded=1), True, False, id="one was lost"),
        pytest.param(gang(group().scheduled(when=BEFORE)), False, False, id="that was before it was resumed"),
        pytest.param(gang(group().scheduled(when=BEFORE), ready=4), True, True, id="resumed, and all run"),
        pytest.param(gang(group(), ready=4), False, False, id="the condition is still to come"),
        pytest.param(gang(group().scheduled(when=BEFORE), ""), True, False, id="it was never suspended"),
    ],
)
def test_the_condition_alone_shows_whether_a_gang_is_claimed_and_whole(gang: Gang, claimed: bool, whole: bool) -> None:
    assert (gang.is_claimed, gang.is_whole) == (claimed, whole)


def pod(name: str, *, created: str = BEGAN) -> PodBuilder:
    return a_pod(name).uid(f"uid-{name}").created(created)


@pytest.mark.parametrize(
    ("pods", "summary"),
    [
        pytest.param([], MemberSummary(0, 0), id="none"),
        pytest.param(
            [pod("a").bound(), pod("b", created=BEFORE).bound().phase("Running")],
            MemberSummary(2, 2, bound_since=BEFORE),
            id="all have a node",
        ),
        pytest.param(
            [pod("a").being_deleted(), pod("b").being_deleted().bound()],
            MemberSummary(1, 1, bound_since=BEGAN),
            id="two go",
        ),
        pytest.param(
            [pod("a").bound().phase("Failed"), pod("b")],
            MemberSummary(1, 0, "", "uid-b", waiting_since=BEGAN),
            id="one has ended",
        ),
        pytest.param(
            [pod("a"), pod("b", created=BEFORE)],
            MemberSummary(2, 0, "", "uid-b", waiting_since=BEFORE),
            id="the oldest one without a node counts",
        ),
        pytest.param(
            [pod("a").unschedulable(GENERIC), pod("b").unschedulable(FULL)],
            MemberSummary(2, 0, FULL, "uid-a", waiting_since=BEGAN),
            id="the words that say something",
        ),
        pytest.param(
            [pod("a").unschedulable(GENERIC)],
            MemberSummary(1, 0, GENERIC, "uid-a", waiting_since=BEGAN),
            id="no better words",
        ),
        pytest.param(
            [pod("a").unschedulable(FULL).bound()], MemberSummary(1, 1, bound_since=BEGAN), id="words of the past"
        ),
    ],
)
def test_the_summary_counts_the_members(pods: list[PodBuilder], summary: MemberSummary) -> None:
    assert summary_of(each.view() for each in pods) == summary


HINT = "if this lasts, the Job's other events say why the remaining pods are not created"
ENDED = "1 succeeded, and the scheduler counts only pods that have not ended"
SCHEDULED = f"The gang of 4 is scheduled (PodGroup {group().name})"


@pytest.mark.parametrize(
    ("gang", "summary", "message"),
    [
        pytest.param(gang(group()), MemberSummary(0, 0), f"0 of the gang's 4 pods exist; {HINT}", id="no pods"),
        pytest.param(gang(group()), MemberSummary(2, 0), f"2 of the gang's 4 pods exist; {HINT}", id="not all pods"),
        pytest.param(
            gang(group()),
            MemberSummary(2, 2),
            f"2 of the gang's 4 pods exist; {HINT}",
            id="not all, and nobody holds them back",
        ),
        pytest.param(
            gang(group()),
            MemberSummary(4, 0),
            "All 4 pods exist, and no scheduler has reported on them yet",
            id="silence",
        ),
        pytest.param(
            gang(group().scheduled("False", VERDICT)),
            MemberSummary(4, 0, FULL),
            f"0 of the gang's 4 pods have a node: {FULL} | {VERDICT}",
            id="no room, by the scheduler's two words on it",
        ),
        pytest.param(
            gang(group().scheduled("False")),
            MemberSummary(4, 0),
            "0 of the gang's 4 pods have a node: Unschedulable",
            id="a reason without a message",
        ),
        pytest.param(
            gang(group().scheduled("False", VERDICT)),
            MemberSummary(3, 0, FULL),
            f"3 of the gang's 4 pods exist; {HINT}",
            id="old words, and one has gone since",
        ),
        pytest.param(gang(group()), MemberSummary(4, 4), SCHEDULED, id="all have nodes before the condition is true"),
        pytest.param(gang(STARTED), MemberSummary(4, 4), SCHEDULED, id="all start"),
        pytest.param(gang(STARTED, succeeded=3), MemberSummary(1, 1), SCHEDULED, id="the rest runs on"),
        pytest.param(gang(STARTED), MemberSummary(3, 3), SCHEDULED, id="nobody waits for a node"),
        pytest.param(
            gang(STARTED),
            MemberSummary(4, 3, FULL, "p"),
            f"3 of the gang's 4 pods have a node: {FULL}",
            id="no room for one",
        ),
        pytest.param(
            gang(STARTED, succeeded=1),
            MemberSummary(3, 2, "", "p"),
            f"3 of the gang's 4 pods exist; {ENDED}",
            id="the scheduler waits for one that will never come",
        ),
        pytest.param(
            gang(STARTED, succeeded=1),
            MemberSummary(3, 2, FULL, "p"),
            f"2 of the gang's 4 pods have a node: {FULL}",
            id="a scheduler that waits for nobody finds no room",
        ),
        pytest.param(gang(STARTED), MemberSummary(0, 0), f"0 of the gang's 4 pods exist; {HINT}", id="all were lost"),
    ],
)
def test_the_event_says_that_the_gang_is_scheduled_or_why_it_waits(
    gang: Gang, summary: MemberSummary, message: str
) -> None:
    event = gang_event(gang, summary, started=gang.is_claimed)
    assert event.message == message
    assert event.reason is (EventReason.GANG_SCHEDULED if message is SCHEDULED else EventReason.GANG_WAITING)


CLAIMED = {
    "all have a node": (gang(STARTED), MemberSummary(4, 4), True),
    "some are done already": (gang(STARTED, succeeded=3), MemberSummary(1, 1), True),
    "some failed at once, and none waits": (gang(STARTED, "", failed=2), MemberSummary(2, 2), True),
    "two of four started, and the scheduler calls it scheduled": (gang(STARTED), MemberSummary(4, 2, FULL, "p"), False),
    "a quota keeps the others away": (gang(STARTED), MemberSummary(2, 2), False),
    "the failures are from before it was resumed": (gang(STARTED, failed=2), MemberSummary(2, 2), False),
}


@pytest.mark.parametrize(("gang", "summary", "scheduled"), CLAIMED.values(), ids=CLAIMED)
def test_muster_checks_the_scheduler_s_claim_against_the_bound_members(
    gang: Gang, summary: MemberSummary, scheduled: bool
) -> None:
    reason = gang_event(gang, summary, started=False).reason
    assert (reason is EventReason.GANG_SCHEDULED) is scheduled


HALF = MemberSummary(4, 2, FULL, "p", bound_since=BEGAN)
NOT_HELD = {
    "two of four started": (gang(new()), HALF, True),
    "and the scheduler calls it scheduled": (gang(new().scheduled(when=LATER)), HALF, True),
    "none has started": (gang(new()), MemberSummary(4, 0, FULL, "p"), False),
    "all have": (gang(new()), MemberSummary(4, 4, bound_since=BEGAN), False),
    "two have, two are done": (gang(new(), succeeded=2), MemberSummary(2, 2, bound_since=BEGAN), False),
    "more than needed wait": (Gang(job().view(), new().read(), 2, BEGAN), HALF, False),
    "the others are not there yet": (gang(new()), MemberSummary(2, 2, bound_since=BEGAN), False),
    "the scheduler has not looked at the others": (gang(new()), MemberSummary(4, 2, "", "p", BEGAN), False),
    "they wait as a group": (gang(new()), MemberSummary(4, 2, GENERIC, "p", BEGAN), False),
    "the scheduler holds the group": (gang(new().scheduled("False", VERDICT)), HALF, False),
    "pods were lost": (gang(new(), failed=1), HALF, False),
    "it was resized under its pods": (gang(new().created(LATER)), HALF, False),
}


@pytest.mark.parametrize(("gang", "summary", "not_held"), NOT_HELD.values(), ids=NOT_HELD)
def test_members_that_started_alone_prove_that_no_scheduler_holds_the_gang(
    gang: Gang, summary: MemberSummary, not_held: bool
) -> None:
    assert is_not_held(gang, summary) is not_held


def ignoring() -> JobBuilder:
    """Its lost pods do not count as failures."""
    return job("").having(podFailurePolicy={"rules": [{"action": "Ignore"}]})


CALLED = new().scheduled(when=LATER)
OLDER, TOGETHER, NEWER = (replace(HALF, waiting_since=when) for when in (BEGAN, LATER, AFTER))
NEVER_WHOLE = {
    "one that waits is older than the claim": (gang(CALLED), OLDER, True),
    "they came in the same second": (gang(CALLED), TOGETHER, True),
    "one that waits came later, perhaps for a lost one": (gang(CALLED), NEWER, False),
    "nobody waits": (gang(CALLED), MemberSummary(4, 4, bound_since=BEGAN), False),
    "the scheduler has not spoken": (gang(new()), OLDER, False),
    "the gang does not need all pods": (Gang(job().view(), CALLED.read(), 3, BEGAN), OLDER, False),
    "one that waits came later, and no pod was ever lost": (gang(CALLED, ""), NEWER, True),
    "a pod ends just now, and another waits": (gang(CALLED, "", terminating=1), NEWER, False),
    "a pod failed, and another waits": (gang(CALLED, "", failed=1), NEWER, False),
    "lost pods may not have been counted": (Gang(ignoring().view(), CALLED.read(), 4, ""), NEWER, False),
    "no pod was lost, and enough have a node": (Gang(job("").view(), CALLED.read(), 2, ""), NEWER, False),
    "no pod was lost, and enough are done": (gang(CALLED, "", succeeded=2), NEWER, False),
}


@pytest.mark.parametrize(("gang", "summary", "never"), NEVER_WHOLE.values(), ids=NEVER_WHOLE)
def test_a_member_that_waits_and_replaces_no_lost_pod_proves_that_the_claim_is_false(
    gang: Gang, summary: MemberSummary, never: bool
) -> None:
    assert was_never_whole(gang, summary) is never


@pytest.mark.parametrize(("native", "cause"), [(True, "feature gate GangScheduling is off"), (False, "does not wait")])
def test_the_event_names_what_does_not_hold_the_gang_once_per_run(native: bool, cause: str) -> None:
    event = not_held_event(gang(new()), HALF, native)
    assert event.message.startswith("2 of the gang's 4 pods started without the others; ")
    assert cause in event.message
    assert (
        event.identity == not_held_event(gang(new()), MemberSummary(4, 3, "other words", "q", BEGAN), native).identity
    )
    assert event.identity != not_held_event(gang(new(), LATER), HALF, native).identity


WAITS = gang_event(gang(group()), MemberSummary(4, 0, FULL, "p"), started=False)


@pytest.mark.parametrize(
    ("gang", "summary", "same"),
    [
        pytest.param(gang(group()), MemberSummary(4, 1, FULL.replace("3", "17"), "q"), True, id="only numbers differ"),
        pytest.param(gang(group()), MemberSummary(4, 0, "no such volume", "p"), False, id="other words"),
        pytest.param(gang(group().uid("remade")), MemberSummary(4, 0, FULL, "p"), False, id="another group"),
        pytest.param(gang(STARTED), MemberSummary(4, 0, FULL, "p"), False, id="after it ran"),
    ],
)
def test_equal_waits_have_the_same_identity(gang: Gang, summary: MemberSummary, same: bool) -> None:
    assert (gang_event(gang, summary, started=gang.is_claimed).identity == WAITS.identity) is same


def test_each_loss_and_each_run_has_an_event_of_its_own() -> None:
    one, other = (gang_event(gang(STARTED), MemberSummary(4, 3, FULL, first), started=True) for first in ("p", "q"))
    resumed = gang(STARTED, LATER)
    ends = [scheduled_event(gang(STARTED)), scheduled_event(gang(STARTED), one.occasion), scheduled_event(resumed)]
    assert len({event.identity for event in (one, other, *ends)}) == 5


def test_a_pod_without_a_condition_has_no_message() -> None:
    view = PodView.parse(a_pod().build())
    assert (view.unschedulable, view.created) == ("", "")
