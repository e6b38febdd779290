"""Muster's own PodGroup decides for every replica: what else is found, or how one is set up, changes nothing."""

import pytest

from muster.core.decide import CreateWorkload, Membership, Rules, anchor_of, decide
from muster.core.eligibility import Policy
from muster.core.observed import Observed
from muster.core.reasons import Reason
from tests.builders import a_gang, a_pod_group, a_workload
from tests.unit.core.seeing import (
    ENDED,
    GROUP_NAME,
    JOB,
    PLAIN_ALIVE,
    RULES,
    WORKLOAD_NAME,
    our_group,
    our_workload,
    saw,
)

RIVAL = a_workload("rival").describing(JOB)
OTHER_SETTINGS = Rules(RULES.dialect, Policy(scheduler_names=frozenset()))


@pytest.mark.parametrize(
    ("seen", "rules"),
    [
        pytest.param(saw(workloads=[our_workload(), RIVAL], groups=[our_group()]), RULES, id="a rival Workload"),
        pytest.param(
            saw(workloads=[our_workload()], groups=[our_group(), a_pod_group("rival").made_from(our_workload())]),
            RULES,
            id="a rival PodGroup",
        ),
        pytest.param(
            saw(workloads=[our_workload()], groups=[our_group()], rejected="no"), RULES, id="a refusal of before"
        ),
        pytest.param(saw(workloads=[our_workload()], groups=[our_group()]), OTHER_SETTINGS, id="other settings"),
        pytest.param(saw(workloads=[our_workload()], groups=[our_group()], pods=ENDED), RULES, id="pods that ended"),
        pytest.param(saw(groups=[our_group()], rejected="no"), RULES, id="its Workload is gone for good"),
        pytest.param(saw(groups=[our_group()], taken=[WORKLOAD_NAME]), RULES, id="its Workload's name was taken"),
    ],
)
def test_pods_join_it_whatever_else_there_is(seen: Observed, rules: Rules) -> None:
    decision = decide(seen, rules)
    assert (decision.reason, decision.membership, decision.group) == (Reason.GANG_FORMED, Membership.JOIN, GROUP_NAME)
    assert decision.settled


def test_but_not_against_the_living_pods() -> None:
    decision = decide(saw(workloads=[our_workload()], groups=[our_group()], pods=PLAIN_ALIVE), RULES)
    assert (decision.membership, decision.sticky) == (Membership.PLAIN, True)


def test_its_workload_is_made_again_also_beside_a_rival_and_after_pods_ended() -> None:
    for seen in (saw(groups=[our_group()], pods=ENDED), saw(workloads=[RIVAL], groups=[our_group()])):
        decision = decide(seen, RULES)
        assert isinstance(decision.action, CreateWorkload)
        assert (decision.action.workload.metadata.name, decision.group) == (WORKLOAD_NAME, GROUP_NAME)


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        pytest.param(
            saw(workloads=[our_workload(), RIVAL], groups=[our_group().being_deleted()]),
            Reason.POD_GROUP_BEING_DELETED,
            id="it is being deleted",
        ),
        pytest.param(
            saw(a_gang("test-job").uid("test-job-uid").suspended(), groups=[our_group()]),
            Reason.SUSPENDED,
            id="its Workload is gone while the Job is suspended",
        ),
    ],
)
def test_where_a_pod_waits_for_it(seen: Observed, reason: Reason) -> None:
    decision = decide(seen, RULES)
    assert (decision.reason, decision.membership, decision.action) == (reason, Membership.HOLD, None)


@pytest.mark.parametrize(
    "group",
    [
        pytest.param(our_group(a_gang("test-job").uid("earlier-uid")), id="an earlier Job's"),
        pytest.param(a_pod_group("theirs").made_from(our_workload()).controlled_by(JOB), id="not made by Muster"),
        pytest.param(a_pod_group("free").ours().made_from(our_workload()), id="nobody's"),
    ],
)
def test_what_is_no_anchor(group: object) -> None:
    assert anchor_of(saw(groups=[group])) is None  # type: ignore[list-item]


def test_a_finished_job_is_none_of_our_business_any_more() -> None:
    finished = a_gang("test-job").uid("test-job-uid").finished()
    assert decide(saw(finished, workloads=[our_workload()], groups=[our_group()]), RULES).reason is Reason.JOB_FINISHED
