"""What Muster deletes of a suspended Job's pair, and what the Job gets when it is resumed."""

import pytest

from muster.api.job import PREBUILT_WORKLOAD, QUEUE_NAME
from muster.api.v1alpha2.scheduling import GangPolicy
from muster.core.actions import CreatePodGroup, CreateWorkload, DeleteObject
from muster.core.decide import decide
from muster.core.decision import Decision, Membership
from muster.core.naming import pod_group_name
from muster.core.observed import NO_PODS, Observed, Pods
from muster.core.policy import Policy, ReleaseOnSuspend, Rules
from muster.core.reasons import EventReason, Reason
from tests.builders import JobBuilder, a_gang, a_pod_group, a_workload
from tests.fake_cluster import FakeClient, FakeCluster
from tests.unit.controllers.parts import build
from tests.unit.core.seeing import (
    ENDED,
    GROUP_NAME,
    PLAIN_ALIVE,
    RULES,
    WORKLOAD_NAME,
    our_group,
    our_workload,
    saw,
)

RELEASING = {choice: Rules(RULES.profile, Policy(release_on_suspend=choice)) for choice in ReleaseOnSuspend}
PAIR = RELEASING[ReleaseOnSuspend.PAIR]
WAS_SUSPENDED = [{"type": "Suspended", "status": "False"}]


def job(**status: object) -> JobBuilder:
    return a_gang("test-job").uid("test-job-uid").with_status(**status)


def resting() -> JobBuilder:
    return job(conditions=[{"type": "Suspended", "status": "True"}]).suspended()


def deletes(decision: Decision) -> str:
    if not isinstance(decision.action, DeleteObject):
        return ""
    return f"{type(decision.action.thing).__name__} {decision.action.name}"


WORKLOADS, GROUPS = [our_workload()], [our_group()]
QUEUED = resting().labelled(**{QUEUE_NAME: "team"})
MINE = a_workload("mine").describing(job())
MADE_FROM_MINE = a_pod_group(pod_group_name("mine", "workers")).ours().made_from(MINE).controlled_by(job())
GROUP, WORKLOAD = f"PodGroup {GROUP_NAME}", f"Workload {WORKLOAD_NAME}"


@pytest.mark.parametrize(
    ("job", "auto", "pod_group", "pair"),
    [
        pytest.param(resting(), "", GROUP, GROUP, id="a Job of no queue"),
        pytest.param(QUEUED, GROUP, GROUP, GROUP, id="a Job of Kueue's"),
        pytest.param(
            resting().labelled(**{PREBUILT_WORKLOAD: "w"}), GROUP, GROUP, GROUP, id="a Job of MultiKueue's worker"
        ),
        pytest.param(resting().annotated(**{QUEUE_NAME: "team"}), GROUP, GROUP, GROUP, id="a Job of an old Kueue's"),
        pytest.param(resting().labelled(**{QUEUE_NAME: ""}), "", GROUP, GROUP, id="an empty queue is none"),
    ],
)
def test_whose_pod_group_goes(job: JobBuilder, auto: str, pod_group: str, pair: str) -> None:
    seen = saw(job, WORKLOADS, GROUPS)
    found = {choice: deletes(decide(seen, RELEASING[choice])) for choice in ReleaseOnSuspend}
    assert found == {"Auto": auto, "PodGroup": pod_group, "Pair": pair, "Nothing": ""}


@pytest.mark.parametrize("choice", ReleaseOnSuspend)
def test_the_workload_goes_only_with_pair(choice: ReleaseOnSuspend) -> None:
    for groups in ([], [our_group().being_deleted()]):
        decision = decide(saw(QUEUED, WORKLOADS, groups), RELEASING[choice])
        assert deletes(decision) == (WORKLOAD if choice is ReleaseOnSuspend.PAIR else "")
        assert decision.membership is Membership.HOLD


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(saw(resting()), id="nothing is left"),
        pytest.param(saw(job(), WORKLOADS, GROUPS), id="a Job that runs"),
        pytest.param(saw(job(active=1).suspended(), WORKLOADS, GROUPS), id="pods are still active"),
        pytest.param(saw(job(terminating=1).suspended(), WORKLOADS, GROUPS), id="pods are still on their way out"),
        pytest.param(
            saw(resting(), WORKLOADS, GROUPS, Pods(exist=True, live=True, group=GROUP_NAME)), id="a pod lives after all"
        ),
        pytest.param(saw(resting().finished(), WORKLOADS, GROUPS), id="a Job that is done"),
        pytest.param(saw(resting().being_deleted(), WORKLOADS, GROUPS), id="a Job that goes takes them along"),
        pytest.param(
            saw(resting(), [MINE], [a_pod_group("g").naming_workload("mine").controlled_by(job())]), id="somebody's own"
        ),
        pytest.param(
            saw(resting(), [MINE], [a_pod_group("g").ours().made_from(MINE).controlled_by(job())]), id="only labelled"
        ),
        pytest.param(
            saw(resting(), [a_workload("w").ours().describing(job()).controlled_by(job())]),
            id="a Workload only labelled",
        ),
    ],
)
def test_what_stays(seen: Observed) -> None:
    for rules in RELEASING.values():
        assert deletes(decide(seen, rules)) == ""


def test_of_a_user_s_own_workload_only_the_pod_group_goes() -> None:
    assert deletes(decide(saw(resting(), [MINE], [MADE_FROM_MINE]), PAIR)) == f"PodGroup {MADE_FROM_MINE.name}"
    assert deletes(decide(saw(resting(), [MINE]), PAIR)) == ""


def test_resumed_it_gets_another_pair_although_pods_ended_before() -> None:
    seen = saw(job(conditions=WAS_SUSPENDED, succeeded=1), pods=ENDED)
    assert isinstance(decide(seen, PAIR).action, CreateWorkload)
    assert decide(seen, RULES).reason is Reason.HAD_PODS_BEFORE
    never = saw(job(succeeded=1), pods=ENDED)
    assert decide(never, PAIR).reason is Reason.HAD_PODS_BEFORE


@pytest.mark.parametrize("choice", ReleaseOnSuspend)
@pytest.mark.parametrize(
    ("resumed", "size"),
    [
        pytest.param(job(conditions=WAS_SUSPENDED), 4, id="as it was"),
        pytest.param(job(conditions=WAS_SUSPENDED).indexed(3), 3, id="partly admitted"),
        pytest.param(job(conditions=WAS_SUSPENDED).indexed(9), 9, id="restored to more than its Workload has"),
        pytest.param(job(conditions=WAS_SUSPENDED, completedIndexes="0", succeeded=1), 3, id="after one has ended"),
    ],
)
def test_resumed_with_its_workload_it_gets_a_pod_group_of_its_present_size(
    resumed: JobBuilder, size: int, choice: ReleaseOnSuspend
) -> None:
    decision = decide(saw(resumed, WORKLOADS, pods=ENDED), RELEASING[choice])
    assert isinstance(decision.action, CreatePodGroup)
    assert (decision.action.name, decision.action.pod_group.gang) == (GROUP_NAME, GangPolicy(min_count=size))


SHRUNK = job(conditions=WAS_SUSPENDED).having(parallelism=2)


def test_a_job_that_was_a_gang_and_is_none_now_is_told_so() -> None:
    """Kueue admits two of four pods, and completions stay four."""
    for pods in (NO_PODS, PLAIN_ALIVE, None):
        decision = decide(saw(SHRUNK, WORKLOADS, pods=pods), RULES)
        assert (decision.reason, decision.membership) == (Reason.NO_LONGER_A_GANG, Membership.PLAIN)
        assert decision.detail == "completions is not equal to parallelism"
        assert decision.reason.event is EventReason.STANDING_ASIDE


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        pytest.param(saw(SHRUNK), Reason.COMPLETIONS_DIFFER, id="it never was one"),
        pytest.param(saw(SHRUNK, [MINE]), Reason.COMPLETIONS_DIFFER, id="its Workload is not Muster's"),
        pytest.param(saw(SHRUNK, [our_workload().basic()]), Reason.COMPLETIONS_DIFFER, id="its group was Basic"),
        pytest.param(saw(job().asking("none"), WORKLOADS), Reason.OPTED_OUT, id="its user does not want it any more"),
        pytest.param(
            saw(resting().having(parallelism=2), WORKLOADS),
            Reason.COMPLETIONS_DIFFER,
            id="it may change until it resumes",
        ),
    ],
)
def test_others_are_not(seen: Observed, reason: Reason) -> None:
    assert decide(seen, RULES).reason is reason


@pytest.mark.parametrize(
    ("choice", "kept"), [("Pair", 0), ("PodGroup", 1), ("Auto", 1)], ids=["Pair", "PodGroup", "Auto"]
)
async def test_what_goes_is_deleted_by_its_uid_and_the_job_is_settled(choice: str, kept: int) -> None:
    cluster = FakeCluster()
    for thing in (QUEUED, our_workload(), our_group()):
        cluster.apply(thing)
    parts = build(FakeClient(cluster))
    parts.gang_former.rules = RELEASING[ReleaseOnSuspend(choice)]
    decision = await parts.gang_former.ensure(QUEUED.ref)
    assert (decision.reason, decision.membership) == (Reason.SUSPENDED, Membership.HOLD)
    assert (len(cluster.find("workloads")), cluster.find("podgroups")) == (kept, [])
