"""The decision, branch by branch. Rows J36-… are the in-tree controller's; a row names where the design differs."""

from dataclasses import replace

import pytest

from muster.core.actions import CreatePodGroup, CreateWorkload
from muster.core.decide import decide
from muster.core.decision import Decision, Membership
from muster.core.naming import pod_group_name
from muster.core.observed import Observed
from muster.core.reasons import EventReason, Reason
from tests.builders import a_gang, a_job, a_pod_group, a_workload
from tests.unit.core.seeing import (
    EARLIER,
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
MY_GROUP = a_pod_group("my-group").made_from(MINE)
TWO_TEMPLATES = (
    {"name": "driver", "schedulingPolicy": {"basic": {}}},
    {"name": "workers", "schedulingPolicy": {"gang": {"minCount": 4}}},
)
ODD = a_workload("odd-name").describing(JOB).controlled_by(JOB)
LEFTOVER = a_workload("leftover").describing(JOB).controlled_by(EARLIER)
SUSPENDED_BEFORE = (
    a_gang("test-job").uid("test-job-uid").with_status(conditions=[{"type": "Suspended", "status": "True"}])
)
SUSPENDED = a_gang("test-job").uid("test-job-uid").suspended()


def created(decision: Decision) -> str:
    """Kind and name of what the decision writes; empty for nothing."""
    if isinstance(decision.action, CreateWorkload):
        return f"Workload {decision.action.workload.metadata.name}"
    if isinstance(decision.action, CreatePodGroup):
        return f"PodGroup {decision.action.pod_group.metadata.name}"
    return ""


@pytest.mark.parametrize(
    ("seen", "reason", "creates"),
    [
        pytest.param(saw(), Reason.WORKLOAD_MISSING, f"Workload {WORKLOAD_NAME}", id="J36-29 nothing: Workload first"),
        pytest.param(
            saw(workloads=[our_workload()]),
            Reason.POD_GROUP_MISSING,
            f"PodGroup {GROUP_NAME}",
            id="J36-29 then the PodGroup under its computed name",
        ),
        pytest.param(
            saw(a_gang("test-job").uid("test-job-uid").with_status(startTime="2026-01-01T00:00:00Z")),
            Reason.WORKLOAD_MISSING,
            f"Workload {WORKLOAD_NAME}",
            id="J36-31 differs: a start time without pods is no obstacle",
        ),
        pytest.param(
            saw(SUSPENDED_BEFORE),
            Reason.WORKLOAD_MISSING,
            f"Workload {WORKLOAD_NAME}",
            id="J36-34 differs: the past suspension of a Job without pods is no obstacle",
        ),
        pytest.param(
            saw(workloads=[our_workload(), LEFTOVER]),
            Reason.POD_GROUP_MISSING,
            f"PodGroup {GROUP_NAME}",
            id="a leftover beside ours does not count",
        ),
        pytest.param(
            saw(workloads=[MINE]),
            Reason.POD_GROUP_MISSING,
            f"PodGroup {pod_group_name('mine', 'workers')}",
            id="J36-38 differs: a user's own Workload gets its PodGroup",
        ),
        pytest.param(
            saw(workloads=[ODD]),
            Reason.POD_GROUP_MISSING,
            f"PodGroup {pod_group_name('odd-name', 'workers')}",
            id="J36-37 a Workload that the Job controls, under another name, gets its PodGroup",
        ),
        pytest.param(
            saw(workloads=[LEFTOVER]),
            Reason.WORKLOAD_MISSING,
            f"Workload {WORKLOAD_NAME}",
            id="the Workload of an earlier Job of that name does not count",
        ),
        pytest.param(
            saw(workloads=[our_workload()], groups=[our_group(EARLIER).naming_workload(WORKLOAD_NAME)]),
            Reason.POD_GROUP_MISSING,
            f"PodGroup {GROUP_NAME}",
            id="the PodGroup of an earlier Job of that name does not count",
        ),
        pytest.param(
            saw(workloads=[our_workload()], pods=ENDED),
            Reason.POD_GROUP_MISSING,
            f"PodGroup {GROUP_NAME}",
            id="a missing PodGroup is recreated for pods to come, also after others ended",
        ),
        pytest.param(
            saw(workloads=[our_workload(), a_workload("going").describing(JOB).being_deleted()]),
            Reason.POD_GROUP_MISSING,
            f"PodGroup {GROUP_NAME}",
            id="a second Workload that is being deleted is no ambiguity",
        ),
    ],
)
def test_what_is_written_next(seen: Observed, reason: Reason, creates: str) -> None:
    decision = decide(seen, RULES)
    assert (decision.reason, created(decision)) == (reason, creates)
    assert decision.membership is Membership.HOLD, "no pod before its PodGroup"
    assert not decision.settled


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        pytest.param(saw(pods=ENDED), Reason.HAD_PODS_BEFORE, id="J36-30 pods that ended, and no Workload"),
        pytest.param(saw(a_gang().with_status(succeeded=1)), Reason.HAD_PODS_BEFORE, id="J36-32 a pod succeeded"),
        pytest.param(saw(a_gang().with_status(failed=1)), Reason.HAD_PODS_BEFORE, id="J36-33 a pod failed"),
        pytest.param(
            saw(workloads=[our_workload(), MINE]), Reason.AMBIGUOUS_WORKLOADS, id="J36-39 two Workloads claim the Job"
        ),
        pytest.param(
            saw(workloads=[our_workload(), ODD]), Reason.AMBIGUOUS_WORKLOADS, id="J36-39 the Job controls both"
        ),
        pytest.param(
            saw(workloads=[MINE], groups=[MY_GROUP, a_pod_group("other").made_from(MINE)]),
            Reason.AMBIGUOUS_POD_GROUPS,
            id="J36-41 two PodGroups",
        ),
        pytest.param(
            saw(workloads=[ODD], groups=[a_pod_group(name).made_from(ODD).controlled_by(JOB) for name in ("a", "b")]),
            Reason.AMBIGUOUS_POD_GROUPS,
            id="J36-41 the Job controls both",
        ),
        pytest.param(
            saw(workloads=[a_workload().describing(JOB).templates(*TWO_TEMPLATES)]),
            Reason.UNSUPPORTED_STRUCTURE,
            id="J36-42 two templates",
        ),
        pytest.param(
            saw(workloads=[a_workload().describing(JOB).templates()]), Reason.UNSUPPORTED_STRUCTURE, id="no template"
        ),
        pytest.param(saw(rejected="quota"), Reason.REJECTED, id="the API server permanently refuses the objects"),
        pytest.param(saw(a_gang().with_pods(nodeName="n")), Reason.NODE_NAME_PRESET, id="nodeName is preset"),
    ],
)
def test_where_muster_stands_aside_and_tells(seen: Observed, reason: Reason) -> None:
    decision = decide(seen, RULES)
    assert (decision.reason, decision.membership) == (reason, Membership.PLAIN)
    assert decision.settled
    assert decision.reason.event is EventReason.STANDING_ASIDE
    if reason is not Reason.HAD_PODS_BEFORE:
        later = decide(replace(seen, pods=PLAIN_ALIVE), RULES)
        assert (later.reason, later.sticky) == (reason, True), "its plain pods are no other cause, and no other event"


def test_the_detail_of_an_ambiguity_names_the_rivals() -> None:
    assert decide(saw(workloads=[our_workload(), MINE]), RULES).detail == f"mine, {WORKLOAD_NAME}"
    assert decide(saw(rejected="too many"), RULES).detail == "too many"


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        pytest.param(saw(None), Reason.JOB_GONE, id="the Job is gone"),
        pytest.param(saw(a_gang().being_deleted()), Reason.JOB_BEING_DELETED, id="the Job is being deleted"),
        pytest.param(
            saw(a_gang().being_deleted(), pods=members_of("any")),
            Reason.JOB_BEING_DELETED,
            id="the Job is being deleted with its pods",
        ),
        pytest.param(saw(SUSPENDED), Reason.SUSPENDED, id="a suspended Job may still change its size"),
        pytest.param(
            saw(SUSPENDED, workloads=[MINE]), Reason.SUSPENDED, id="so its user's Workload gets no PodGroup yet either"
        ),
        pytest.param(
            saw(workloads=[our_workload().being_deleted()]),
            Reason.WORKLOAD_BEING_DELETED,
            id="the Workload is being deleted: a PodGroup would be refused",
        ),
        pytest.param(
            saw(workloads=[our_workload()], groups=[our_group().being_deleted()]),
            Reason.POD_GROUP_BEING_DELETED,
            id="the PodGroup is being deleted",
        ),
    ],
)
def test_where_a_pod_has_to_wait(seen: Observed, reason: Reason) -> None:
    decision = decide(seen, RULES)
    assert (decision.reason, decision.membership) == (reason, Membership.HOLD)
    assert decision.settled, "and nothing is written"
    assert decision.reason.event is None


@pytest.mark.parametrize(
    ("seen", "group", "reason"),
    [
        pytest.param(
            saw(workloads=[our_workload()], groups=[our_group()]),
            GROUP_NAME,
            Reason.GANG_FORMED,
            id="J36-35 the pair is there",
        ),
        pytest.param(
            saw(workloads=[our_workload()], groups=[our_group()], pods=members_of(GROUP_NAME)),
            GROUP_NAME,
            Reason.GROUP_FOLLOWED,
            id="J36-36 the pair and pods are there",
        ),
        pytest.param(
            saw(workloads=[MINE], groups=[MY_GROUP]),
            "my-group",
            Reason.GANG_FORMED,
            id="J36-38 and J36-40 differ: a user's own pair is used",
        ),
        pytest.param(
            saw(workloads=[ODD], groups=[a_pod_group("my-group").made_from(ODD)]),
            "my-group",
            Reason.GANG_FORMED,
            id="J36-40 differs: also a user's own PodGroup of a Workload that the Job controls",
        ),
        pytest.param(
            saw(SUSPENDED, workloads=[our_workload()], groups=[our_group()]),
            GROUP_NAME,
            Reason.GANG_FORMED,
            id="suspension keeps the pair",
        ),
        pytest.param(
            saw(workloads=[MINE], groups=[MY_GROUP, a_pod_group("going").made_from(MINE).being_deleted()]),
            "my-group",
            Reason.GANG_FORMED,
            id="a second PodGroup that is being deleted is no ambiguity",
        ),
    ],
)
def test_which_group_a_pod_joins(seen: Observed, group: str, reason: Reason) -> None:
    decision = decide(seen, RULES)
    assert (decision.membership, decision.group, decision.reason) == (Membership.JOIN, group, reason)
    assert decision.settled


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(saw(a_job()), id="a plain Job"),
        pytest.param(saw(a_job(), workloads=[our_workload()], groups=[our_group()]), id="whatever else is there"),
        pytest.param(saw(a_gang().finished()), id="a finished Job"),
    ],
)
def test_a_job_that_is_none_of_our_business_costs_nothing(seen: Observed) -> None:
    decision = decide(seen, RULES)
    assert (decision.membership, decision.action, decision.reason.event) == (Membership.PLAIN, None, None)


def test_a_taken_name_is_followed_by_the_next() -> None:
    first = decide(saw(taken=[WORKLOAD_NAME]), RULES)
    assert created(first).startswith("Workload test-job-")
    assert created(first) != f"Workload {WORKLOAD_NAME}"
    second = decide(saw(workloads=[our_workload()], taken=[GROUP_NAME]), RULES)
    assert created(second) == f"PodGroup {our_group(collision=1).name}"


def test_the_planned_group_is_known_before_anything_is_written() -> None:
    """So that a dry run shows the pod as it would be."""
    assert decide(saw(), RULES).group == GROUP_NAME


def test_plain_pods_alive_keep_the_job_plain() -> None:
    decision = decide(saw(pods=PLAIN_ALIVE, workloads=[our_workload()], groups=[our_group()]), RULES)
    assert (decision.membership, decision.reason) == (Membership.PLAIN, Reason.PLAIN_PODS)
    assert decision.sticky


def test_a_workload_that_was_deleted_under_its_pod_group_is_made_again_under_its_name() -> None:
    """Also where it was not the first name: another Workload would get a PodGroup of its own, and the Job two."""
    lost = our_workload(collision=1)
    group = a_pod_group("theirs").made_from(lost).controlled_by(JOB).gang(4)
    decision = decide(saw(groups=[group]), RULES)
    assert isinstance(decision.action, CreateWorkload)
    assert decision.action.workload.metadata.name == lost.name
