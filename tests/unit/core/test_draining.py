"""While Muster is being uninstalled: gangs that were formed are completed, and no new one is begun."""

from dataclasses import replace

import pytest

from muster.core.decide import decide
from muster.core.decision import Membership
from muster.core.observed import Observed
from muster.core.reasons import EventReason, Reason
from tests.builders import a_gang, a_job, a_pod_group, a_workload
from tests.unit.core.seeing import (
    ENDED,
    GROUP_NAME,
    JOB,
    PLAIN_ALIVE,
    RULES,
    members_of,
    our_group,
    our_workload,
    saw,
)

MINE = a_workload("mine").describing(JOB)
MY_GROUP = a_pod_group("my-group").made_from(MINE)
SUSPENDED = a_gang("test-job").uid("test-job-uid").suspended()

NOT_BEGUN = {
    "nothing was made": saw(),
    "only the Workload was made": saw(workloads=[our_workload()]),
    "a user's own pair, and no pod in it": saw(workloads=[MINE], groups=[MY_GROUP]),
    "its pods have ended": saw(pods=ENDED),
    "the first pods are plain": saw(pods=PLAIN_ALIVE),
    "the first pods are plain, and another replica made the PodGroup after that": saw(
        workloads=[our_workload()], groups=[our_group()], pods=PLAIN_ALIVE
    ),
}


@pytest.mark.parametrize("case", NOT_BEGUN)
def test_while_draining_muster_begins_no_new_gang_and_posts_an_event(case: str) -> None:
    decision = decide(replace(NOT_BEGUN[case], draining=True), RULES)
    assert (decision.reason, decision.membership, decision.action) == (Reason.UNINSTALLING, Membership.PLAIN, None)
    assert decision.reason.event is EventReason.STANDING_ASIDE


AS_EVER: dict[str, Observed] = {
    "its PodGroup is there": saw(workloads=[our_workload()], groups=[our_group()]),
    "its PodGroup is there, and its Workload gone": saw(groups=[our_group()]),
    "pods are in its PodGroup": saw(workloads=[our_workload()], groups=[our_group()], pods=members_of(GROUP_NAME)),
    "pods are in its PodGroup, which is gone": saw(workloads=[our_workload()], pods=members_of(GROUP_NAME)),
    "pods are in a user's own PodGroup": saw(workloads=[MINE], groups=[MY_GROUP], pods=members_of("my-group")),
    "it is suspended": saw(SUSPENDED),
    "it is none of Muster's business": saw(a_job("plain")),
    "what describes it leaves it open": saw(workloads=[MINE, our_workload()]),
    "it is gone": saw(None),
}


@pytest.mark.parametrize("case", AS_EVER)
def test_while_draining_every_other_decision_stays_the_same(case: str) -> None:
    assert decide(replace(AS_EVER[case], draining=True), RULES) == decide(AS_EVER[case], RULES)
