"""When the decision of a shared run is an answer to a caller."""

import pytest

from muster.core.decision import Decision, Membership
from muster.core.reasons import Reason
from muster.core.witness import answers

JOIN = Decision(Reason.GANG_FORMED, Membership.JOIN, "group")
PLAIN = Decision(Reason.NOT_INDEXED, Membership.PLAIN)
HOLD = Decision(Reason.SUSPENDED, Membership.HOLD)

CASES = {
    "the run began after the caller came, and says join": (JOIN, 2, 1, True),
    "the run began after the caller came, and says plain": (PLAIN, 2, 1, True),
    "the run began after the caller came, and says wait": (HOLD, 2, 1, True),
    "the run began before the caller came, and says join": (JOIN, 1, 2, False),
    "the run began before the caller came, and says plain": (PLAIN, 1, 2, False),
    "the run began before the caller came, and says wait": (HOLD, 1, 2, True),
}


@pytest.mark.parametrize(("decision", "began", "came", "expected"), CASES.values(), ids=CASES)
def test_a_run_that_may_have_missed_a_pod_answers_nobody_unless_the_pod_waits(
    decision: Decision, began: int, came: int, expected: bool
) -> None:
    assert answers(decision, began, came) is expected
