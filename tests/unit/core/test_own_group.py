"""Muster's own PodGroup decides for every replica: what else is found, or how one is set up, changes nothing."""

import pytest

from muster.core import ownership
from muster.core.actions import CreateWorkload
from muster.core.decide import decide
from muster.core.decision import Membership
from muster.core.naming import pod_group_name
from muster.core.observed import Observed
from muster.core.own_group import own_pod_group
from muster.core.policy import Policy, Rules
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
OTHER_SETTINGS = Rules(RULES.profile, Policy(scheduler_names=frozenset()))


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
        pytest.param(saw(groups=[our_group()], rejected="no"), RULES, id="its Workload cannot be recreated"),
        pytest.param(saw(groups=[our_group()], taken=[WORKLOAD_NAME]), RULES, id="its Workload's name was taken"),
    ],
)
def test_pods_join_the_own_group_whatever_other_objects_exist(seen: Observed, rules: Rules) -> None:
    decision = decide(seen, rules)
    assert (decision.reason, decision.membership, decision.group) == (Reason.GANG_FORMED, Membership.JOIN, GROUP_NAME)
    assert decision.settled


def test_beside_living_plain_pods_new_pods_stay_plain() -> None:
    decision = decide(saw(workloads=[our_workload()], groups=[our_group()], pods=PLAIN_ALIVE), RULES)
    assert (decision.membership, decision.sticky) == (Membership.PLAIN, True)


def test_muster_creates_its_workload_again_also_beside_a_rival_and_after_pods_ended() -> None:
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
def test_a_pod_waits_while_the_own_group_is_incomplete(seen: Observed, reason: Reason) -> None:
    decision = decide(seen, RULES)
    assert (decision.reason, decision.membership, decision.action) == (reason, Membership.HOLD, None)


@pytest.mark.parametrize(
    "group",
    [
        pytest.param(our_group(a_gang("test-job").uid("earlier-uid")), id="an earlier Job's"),
        pytest.param(a_pod_group("theirs").made_from(our_workload()).controlled_by(JOB), id="not made by Muster"),
        pytest.param(a_pod_group("free").ours().made_from(our_workload()), id="nobody's"),
        pytest.param(
            a_pod_group("aaa").ours().made_from(our_workload()).controlled_by(JOB), id="planted under another name"
        ),
        pytest.param(
            a_pod_group(GROUP_NAME).ours().controlled_by(JOB), id="planted under its name, without a template"
        ),
        pytest.param(
            a_pod_group(GROUP_NAME).ours().naming_workload("aaa").controlled_by(JOB), id="planted, of another Workload"
        ),
    ],
)
def test_these_groups_are_not_the_own_group(group: object) -> None:
    assert own_pod_group(saw(groups=[group])) is None  # type: ignore[list-item]


PLANTED = a_pod_group(pod_group_name("aaa", "workers")).ours().naming_workload("aaa").controlled_by(JOB).gang(1000)
"""By somebody who knows Muster's rule for names. It sorts before everything that Muster makes."""
MADE_FROM_RIVAL = a_pod_group(pod_group_name("rival", "workers")).ours().made_from(RIVAL).controlled_by(JOB)


@pytest.mark.parametrize(
    ("seen", "own_group"),
    [
        pytest.param(saw(groups=[PLANTED, our_group()]), GROUP_NAME, id="the Job's own name comes first"),
        pytest.param(
            saw(groups=[PLANTED, our_group().being_deleted()]), GROUP_NAME, id="also while that is being deleted"
        ),
        pytest.param(
            saw(groups=[our_group().being_deleted(), our_group(collision=1)]),
            our_group(collision=1).name,
            id="of two of the Job's own, the one that stays",
        ),
        pytest.param(
            saw(workloads=[RIVAL], groups=[PLANTED, MADE_FROM_RIVAL]),
            MADE_FROM_RIVAL.name,
            id="the one whose Workload describes the Job",
        ),
        pytest.param(
            saw(groups=[MADE_FROM_RIVAL]),
            MADE_FROM_RIVAL.name,
            id="also when the Workload that it was made from is gone",
        ),
    ],
)
def test_a_planted_group_comes_last(seen: Observed, own_group: str) -> None:
    found = own_pod_group(seen)
    assert found is not None
    assert found.metadata.name == own_group


def test_a_name_is_looked_for_in_the_series_once() -> None:
    """`decide` is asked on every pod: sixteen hashes for each planted PodGroup would be felt."""
    planted = [a_pod_group(f"planted-{n}").ours().made_from(our_workload()).controlled_by(JOB) for n in range(50)]
    seen = saw(workloads=[our_workload()], groups=[*planted, our_group()])
    decide(seen, RULES)
    before = ownership._in_group_series.cache_info().misses
    assert decide(seen, RULES).group == GROUP_NAME
    assert ownership._in_group_series.cache_info().misses == before


def test_muster_skips_a_finished_job() -> None:
    finished = a_gang("test-job").uid("test-job-uid").finished()
    assert decide(saw(finished, workloads=[our_workload()], groups=[our_group()]), RULES).reason is Reason.JOB_FINISHED
