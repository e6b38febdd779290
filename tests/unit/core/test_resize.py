"""When a PodGroup has to be replaced by one of another size, and what size that is."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.profile import NATIVE
from muster.core.actions import CreatePodGroup, ReadEverything, ReadWaitingPods
from muster.core.admit import admit_parallelism
from muster.core.decide import decide
from muster.core.desired import desired_pod_group
from muster.core.gang_size import group_size
from muster.core.naming import pod_group_name
from muster.core.observed import NOTHING_PROVEN, Observed, ResizeNeeded, Why
from muster.core.policy import Policy, Rules
from muster.core.reasons import EventReason, Reason
from muster.core.resize import resize_needed
from tests.builders import JobBuilder, PodGroupBuilder, WorkloadBuilder, a_gang, a_pod_group, a_workload
from tests.unit.core.seeing import GROUP_NAME, JOB, RULES, members_of, our_group, our_workload, saw

ELASTIC = Rules(NATIVE, Policy(elastic=True))
SUSPENDED_ONCE = [{"type": "Suspended", "status": "False"}]


def gang_of(pods: int = 4, **status: Any) -> JobBuilder:
    return a_gang("test-job", pods).uid("test-job-uid").with_status(**status)


def lost_after(completed: str, **more: Any) -> JobBuilder:
    """Some indexes have ended, and a pod of the others is back and not ready."""
    return gang_of(completedIndexes=completed, **{"failed": 1, "active": 3, "ready": 2, **more})


def found(job: JobBuilder, group: PodGroupBuilder | None = None, *workloads: WorkloadBuilder) -> ResizeNeeded | None:
    return resize_needed(saw(job, workloads or [our_workload()], [group or our_group()], None), RULES)


MINE = a_workload("mine").describing(JOB)


def made_from_mine() -> PodGroupBuilder:
    """As Muster makes it from a user's own Workload."""
    return a_pod_group(pod_group_name("mine", "workers")).ours().made_from(MINE).controlled_by(JOB)


@pytest.mark.parametrize(
    ("job", "group", "workload", "size"),
    [
        pytest.param(lost_after("0"), our_group(), our_workload(), 3, id="one has succeeded, one is back"),
        pytest.param(lost_after("0,2-3"), our_group(), our_workload(), 1, id="only one is left"),
        pytest.param(
            lost_after("", failedIndexes="1"), our_group(), our_workload(), 3, id="one has failed permanently"
        ),
        pytest.param(lost_after("0-1", failedIndexes="1-2"), our_group(), our_workload(), 1, id="both"),
        pytest.param(lost_after("0", failed=3), our_group(), our_workload(), 3, id="all the rest was lost"),
        pytest.param(
            gang_of(completedIndexes="0", active=3, conditions=SUSPENDED_ONCE),
            our_group(),
            our_workload(),
            3,
            id="resumed",
        ),
        pytest.param(
            gang_of(completedIndexes="0", active=3, ready=1),
            our_group(),
            our_workload(),
            3,
            id="none was lost, but some may never have got a node",
        ),
        pytest.param(lost_after("0"), our_group().being_deleted(), our_workload(), 3, id="half replaced already"),
        pytest.param(lost_after("0-1"), our_group().gang(3), our_workload(), 2, id="resized before"),
        pytest.param(lost_after("0").asking("none"), our_group(), our_workload(), 3, id="opted out since"),
        pytest.param(lost_after("0-2"), our_group().gang(2), our_workload().gang(2), 1, id="somebody else's number"),
        pytest.param(
            lost_after("0-1"),
            made_from_mine().gang(3),
            MINE,
            2,
            id="of a user's own Workload, which asks for more than are left",
        ),
    ],
)
def test_a_gang_that_holds_a_pod_back_is_resized_to_what_is_left(
    job: JobBuilder, group: PodGroupBuilder, workload: WorkloadBuilder, size: int
) -> None:
    it = found(job, group, workload)
    assert it is not None
    assert (it.size, it.why, it.obstacle) == (size, Why.INDEXES_ENDED, None)


@pytest.mark.parametrize(
    ("job", "group"),
    [
        pytest.param(gang_of(), our_group(), id="it has just been formed"),
        pytest.param(gang_of(active=4, ready=0), our_group(), id="it waits for room"),
        pytest.param(gang_of(completedIndexes="0", active=3, ready=3), our_group(), id="all the rest runs"),
        pytest.param(lost_after("0", active=2, ready=2), our_group(), id="the lost pod is not back yet"),
        pytest.param(lost_after("0"), our_group().gang(3), id="it was resized"),
        pytest.param(lost_after("0").suspended(), our_group(), id="suspended"),
        pytest.param(lost_after("0").being_deleted(), our_group(), id="the Job is being deleted"),
        pytest.param(lost_after("0").finished(), our_group(), id="the Job has finished"),
        pytest.param(
            lost_after("0", conditions=[{"type": "SuccessCriteriaMet", "status": "True"}]), our_group(), id="ending"
        ),
        pytest.param(lost_after("0"), our_group().basic(), id="the PodGroup is Basic"),
    ],
)
def test_otherwise_it_is_left_as_it_is(job: JobBuilder, group: PodGroupBuilder) -> None:
    assert found(job, group) is None


def test_muster_first_looks_for_a_pod_that_waits_and_reads_nothing_else_if_there_is_none() -> None:
    """A Job whose pods start at different times looks the same, and must cost little."""
    seen = saw(gang_of(completedIndexes="0", active=3, ready=1), [our_workload()], [our_group()], None)
    seen = replace(seen, form_only=False, proof=NOTHING_PROVEN)
    assert decide(seen, RULES).read == ReadWaitingPods(GROUP_NAME)
    assert decide(replace(seen, members_wait=False), RULES).resize is None
    assert decide(replace(seen, members_wait=True), RULES).read == ReadEverything(by_name=True)


def claiming() -> PodGroupBuilder:
    group = our_group()
    group.spec["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "gpus"}]
    return group


@pytest.mark.parametrize(
    ("group", "workload", "obstacle"),
    [
        pytest.param(claiming(), our_workload(), Reason.HAS_RESOURCE_CLAIMS, id="with claims"),
        pytest.param(a_pod_group("g").made_from(MINE), MINE, Reason.POD_GROUP_OF_ANOTHER, id="a user's own"),
        pytest.param(made_from_mine(), MINE.__class__("other"), Reason.WORKLOAD_GONE, id="made from nothing"),
        pytest.param(
            a_pod_group("aaa").ours().made_from(MINE).controlled_by(JOB),
            MINE,
            Reason.POD_GROUP_OF_ANOTHER,
            id="only labelled so",
        ),
    ],
)
def test_what_cannot_be_replaced_is_told(group: PodGroupBuilder, workload: WorkloadBuilder, obstacle: Reason) -> None:
    it = found(lost_after("0"), group, workload)
    assert it is not None
    assert it.obstacle is obstacle
    assert obstacle.event is EventReason.GANG_NOT_RESIZED


def test_a_workload_of_muster_s_that_is_gone_is_no_obstacle() -> None:
    it = resize_needed(saw(lost_after("0"), [], [our_group()], None), RULES)
    assert it is not None
    assert not it.obstacle


def test_a_workload_that_is_going_is_waited_for() -> None:
    """Nothing is read or written, and no event is posted: the log says what Muster waits for."""
    for job in (lost_after("0"), gang_of(6)):
        it = found(job, our_group(), our_workload().being_deleted())
        assert it is not None
        assert (it.obstacle, it.can_proceed) == (Reason.WORKLOAD_BEING_DELETED, False)
        assert Reason.WORKLOAD_BEING_DELETED.event is None


def test_a_group_that_another_client_s_finalizer_keeps_is_waited_for() -> None:
    held = our_group().being_deleted()
    held.metadata["finalizers"] = ["example.com/theirs"]
    it = found(lost_after("0"), held, our_workload())
    assert it is not None
    assert (it.obstacle, it.can_proceed) == (Reason.POD_GROUP_HELD, True)
    assert Reason.POD_GROUP_HELD.event is None


@pytest.mark.parametrize("pods", [2, 3, 5, 100])
def test_a_job_that_asks_for_another_number_gets_it_at_once(pods: int) -> None:
    it = found(gang_of(pods), our_group(), our_workload())
    assert it is not None
    assert (it.size, it.why, it.sentence) == (pods, Why.ASKED, f"the Job asks for a gang of {pods} now")


def test_a_job_that_asks_for_more_after_some_have_ended_gets_a_gang_of_the_rest() -> None:
    it = found(gang_of(6, completedIndexes="0", succeeded=1), our_group(), our_workload())
    assert it is not None
    assert (it.size, it.why) == (5, Why.ASKED)


def test_a_user_s_own_number_does_not_follow_the_job() -> None:
    assert found(gang_of(6), made_from_mine(), MINE) is None


@pytest.mark.parametrize(
    ("job", "size"),
    [
        pytest.param(gang_of(4).having(parallelism=2), 2, id="it runs two at a time"),
        pytest.param(gang_of(4).having(parallelism=1), 1, id="it runs one at a time"),
        pytest.param(gang_of(4).having(parallelism=8), None, id="more at a time do not matter"),
    ],
)
def test_a_job_that_is_no_gang_any_more_does_not_wait_for_more_pods_than_it_has(
    job: JobBuilder, size: int | None
) -> None:
    it = found(job)
    assert (it.size if it else None) == size
    assert it is None or (it.why, it.sentence) == (Why.ASKED, f"the Job asks for a gang of {size} now")


@given(st.integers(2, 12), st.sets(st.integers(0, 15)), st.sets(st.integers(0, 15)), st.integers(1, 12))
def test_the_size_is_one_that_the_rest_can_reach_and_one_resize_reaches_it(
    pods: int, completed: set[int], failed: set[int], before: int
) -> None:
    job = gang_of(
        pods,
        completedIndexes=",".join(map(str, completed)),
        failedIndexes=",".join(map(str, failed)),
        failed=1,
        active=1,
    )
    rest = len(set(range(pods)) - completed - failed)
    workload = our_workload(a_gang("test-job", pods).uid("test-job-uid"))
    it = found(job, our_group().gang(before), workload)
    size = it.size if it is not None else before
    assert size == max(1, rest)
    assert found(job, our_group().gang(size), workload) is None


def test_whoever_makes_the_group_again_makes_it_in_that_size() -> None:
    """The controller, or the webhook for a Job whose running or pending pods name a group that is gone."""
    for pods in (members_of(GROUP_NAME), None):
        decision = decide(saw(lost_after("0"), [our_workload()], [], pods), RULES)
        assert isinstance(decision.write, CreatePodGroup)
        assert decision.write.name == GROUP_NAME
        gang = decision.write.pod_group.gang
        assert gang is not None
        assert gang.min_count == 3


def test_a_user_s_number_is_copied_while_nothing_has_ended_also_one_that_is_too_large() -> None:
    workload = MINE.__class__("w").describing(JOB).gang(10).read()
    group = desired_pod_group(JOB.view(), workload, "g", NATIVE)
    assert group.gang is not None
    assert group.gang.min_count == 10
    assert group_size(lost_after("0").view(), workload, Policy()) == 3


def test_a_basic_group_has_no_size() -> None:
    assert group_size(JOB.view(), MINE.__class__("w").describing(JOB).basic().read(), Policy()) is None


PAIR = saw(workloads=[our_workload()], groups=[our_group()])


def resized(pods: int, completions: int | None = None, seen: Observed = PAIR, rules: Rules = ELASTIC) -> str:
    changed = gang_of(pods).having(completions=pods if completions is None else completions)
    return admit_parallelism(JOB.view(), changed.view(), seen, rules).message


def test_elastic_lets_a_gang_change_both_numbers_together() -> None:
    assert resized(2) == resized(8) == ""
    assert "Delete the Job" in resized(8, rules=RULES)


def test_elastic_also_while_the_gang_is_being_formed() -> None:
    assert resized(8, seen=saw()) == ""
    assert "being formed" in resized(8, seen=saw(), rules=RULES)


@pytest.mark.parametrize(("pods", "completions"), [(8, 4), (1, 1), (0, 0)])
def test_elastic_does_not_let_a_gang_stop_being_one(pods: int, completions: int) -> None:
    assert resized(pods, completions).endswith(
        "is a gang of 4 pods. Change completions together with it, to the same number greater than 1 [GangSizeFixed]"
    )


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(saw(workloads=[our_workload()], groups=[claiming()]), id="with claims"),
        pytest.param(saw(workloads=[MINE], groups=[a_pod_group("g").made_from(MINE)]), id="a user's own pair"),
        pytest.param(
            saw(workloads=[MINE], groups=[made_from_mine()]),
            id="a user's own Workload",
        ),
    ],
)
def test_elastic_does_not_reach_what_muster_cannot_replace(seen: Observed) -> None:
    assert "Delete the Job" in resized(8, seen=seen)
