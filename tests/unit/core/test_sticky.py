"""Membership is sticky: whatever appears or disappears in mid-run, no gang is half in and half out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.core.actions import CreatePodGroup, CreateWorkload
from muster.core.decide import decide
from muster.core.decision import Membership
from muster.core.observed import NO_PODS, Observed
from muster.core.reasons import EventReason, Reason
from tests.builders import JobBuilder, WorkloadBuilder, a_gang, a_job, a_pod_group, a_workload
from tests.unit.core.seeing import (
    ENDED,
    GROUP_NAME,
    JOB,
    PLAIN_ALIVE,
    RULES,
    WORKLOAD_NAME,
    members_of,
    our_group,
    our_workload,
    saw,
)

MINE = a_workload("mine").describing(JOB)
OF_OURS = members_of(GROUP_NAME)


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(saw(workloads=[our_workload(), MINE], groups=[our_group()], pods=OF_OURS), id="a rival Workload"),
        pytest.param(
            saw(
                workloads=[our_workload()],
                groups=[our_group(), a_pod_group("rival").made_from(our_workload())],
                pods=OF_OURS,
            ),
            id="a rival PodGroup",
        ),
        pytest.param(saw(groups=[our_group()], pods=OF_OURS), id="the Workload was deleted"),
        pytest.param(
            saw(workloads=[our_workload()], groups=[our_group().being_deleted()], pods=OF_OURS),
            id="the PodGroup is being deleted, held by its pods",
        ),
        pytest.param(saw(a_job("test-job"), groups=[our_group()], pods=OF_OURS), id="the Job no longer qualifies"),
        pytest.param(saw(a_job("test-job"), pods=OF_OURS), id="no longer qualifies, and the group is gone"),
    ],
)
def test_new_pods_join_the_group_of_the_living_pods(seen: Observed) -> None:
    decision = decide(seen, RULES)
    assert (decision.membership, decision.group) == (Membership.JOIN, GROUP_NAME)
    assert decision.reason is Reason.GROUP_FOLLOWED
    assert decision.sticky
    assert decision.action is None


def test_a_lost_group_that_is_not_muster_s_gets_an_event() -> None:
    decision = decide(saw(workloads=[MINE], pods=OF_OURS), RULES)
    assert (decision.membership, decision.group, decision.sticky) == (Membership.JOIN, GROUP_NAME, True)
    assert decision.reason is Reason.GROUP_LOST
    assert decision.reason.event is EventReason.GROUP_LOST
    assert decision.action is None


@pytest.mark.parametrize("workloads", [[our_workload()], []], ids=["the PodGroup", "the Workload"])
def test_a_group_that_cannot_be_made_again_gets_an_event(workloads: list[WorkloadBuilder]) -> None:
    decision = decide(saw(workloads=workloads, pods=OF_OURS, rejected="quota"), RULES)
    assert (decision.membership, decision.group, decision.sticky) == (Membership.JOIN, GROUP_NAME, True)
    assert (decision.reason, decision.detail) == (Reason.GROUP_REJECTED, "quota")
    assert decision.reason.event is EventReason.GROUP_LOST
    assert decision.action is None


def test_muster_creates_its_own_group_again_for_living_pods() -> None:
    decision = decide(saw(workloads=[our_workload()], pods=OF_OURS), RULES)
    assert isinstance(decision.action, CreatePodGroup)
    assert decision.action.pod_group.metadata.name == GROUP_NAME
    assert decision.group == GROUP_NAME


def test_muster_creates_its_own_group_again_also_beside_a_rival_workload() -> None:
    decision = decide(saw(workloads=[MINE, our_workload()], pods=OF_OURS), RULES)
    assert isinstance(decision.action, CreatePodGroup)
    assert decision.action.pod_group.workload_name == WORKLOAD_NAME


def test_muster_creates_the_group_again_under_the_name_that_the_pods_use() -> None:
    later = our_group(collision=3).name
    decision = decide(saw(workloads=[our_workload()], pods=members_of(later)), RULES)
    assert isinstance(decision.action, CreatePodGroup)
    assert decision.action.pod_group.metadata.name == later


def test_muster_creates_the_lost_workload_before_the_lost_group() -> None:
    decision = decide(saw(pods=OF_OURS), RULES)
    assert isinstance(decision.action, CreateWorkload)
    assert decision.action.workload.metadata.name == WORKLOAD_NAME
    assert decision.group == GROUP_NAME


def test_muster_does_not_create_the_group_again_while_the_workload_is_being_deleted() -> None:
    decision = decide(saw(workloads=[our_workload().being_deleted()], pods=OF_OURS), RULES)
    assert (decision.reason, decision.action) == (Reason.WORKLOAD_BEING_DELETED, None)
    assert (decision.membership, decision.group) == (Membership.JOIN, GROUP_NAME)


@pytest.mark.parametrize(
    "workload",
    [
        pytest.param(our_workload(), id="not made by Muster's rule"),
        pytest.param(our_workload().templates(), id="from a Workload without a template"),
    ],
)
def test_muster_never_creates_a_foreign_group_again(workload: object) -> None:
    decision = decide(saw(workloads=[workload], pods=members_of("strangers")), RULES)  # type: ignore[list-item]
    assert (decision.membership, decision.group, decision.action) == (Membership.JOIN, "strangers", None)


def test_plain_pods_do_not_change_the_reason_of_a_job_that_does_not_qualify() -> None:
    assert decide(saw(a_job(), pods=PLAIN_ALIVE), RULES).reason is Reason.NOT_INDEXED


jobs = st.sampled_from(
    [JOB, a_job("test-job"), a_gang("test-job").uid("test-job-uid").suspended(), a_gang().finished()]
)
worlds = st.builds(
    lambda job, workloads, groups, rejected: (job, workloads, groups, rejected),
    jobs,
    st.lists(st.sampled_from([our_workload(), MINE, our_workload().being_deleted()]), max_size=3),
    st.lists(st.sampled_from([our_group(), a_pod_group("x").made_from(MINE), our_group().being_deleted()]), max_size=3),
    st.sampled_from(["", "no"]),
)


@given(worlds, st.sampled_from([GROUP_NAME, "strangers", ""]))
def test_new_pods_never_leave_the_living_pods_group(world: tuple[JobBuilder, list, list, str], group: str) -> None:  # type: ignore[type-arg]
    job, workloads, groups, rejected = world
    decision = decide(saw(job, workloads, groups, members_of(group), rejected=rejected), RULES)
    assert decision.group == group
    if decision.membership is Membership.PLAIN:
        assert group == ""
    if decision.action is not None:
        assert group == GROUP_NAME


@given(worlds, st.sampled_from([NO_PODS, ENDED, PLAIN_ALIVE, members_of(GROUP_NAME)]))
def test_a_decision_is_consistent(world: tuple[JobBuilder, list, list, str], pods: object) -> None:  # type: ignore[type-arg]
    """A pod that joins has a group, a plain pod has none, and a StandingAside event means plain pods."""
    job, workloads, groups, rejected = world
    decision = decide(saw(job, workloads, groups, pods, rejected=rejected), RULES)  # type: ignore[arg-type]
    assert (decision.membership is not Membership.JOIN) or decision.group
    assert (decision.membership is not Membership.PLAIN) or (not decision.group and decision.action is None)
    stands_aside = decision.reason.event is EventReason.STANDING_ASIDE
    assert not stands_aside or decision.membership is Membership.PLAIN
