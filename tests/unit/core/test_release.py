"""A suspended Job gives its pair up, where the operator wants that, and gets another one when it is resumed."""

import pytest

from muster.core.decide import CreateWorkload, Decision, Membership, Rules, decide
from muster.core.observed import Observed, Pods
from muster.core.policy import Policy
from muster.core.reasons import Reason
from muster.core.release import Release
from tests.builders import JobBuilder, a_gang, a_pod_group, a_workload
from tests.fake_cluster import FakeClient, FakeCluster
from tests.unit.core.seeing import ENDED, GROUP_NAME, RULES, WORKLOAD_NAME, our_group, our_workload, saw
from tests.unit.runtime.parts import build

RELEASING = Rules(RULES.dialect, Policy(release_on_suspend=True))
WAS_SUSPENDED = [{"type": "Suspended", "status": "False"}]


def job(**status: object) -> JobBuilder:
    return a_gang("test-job").uid("test-job-uid").with_status(**status)


def resting() -> JobBuilder:
    return job(conditions=[{"type": "Suspended", "status": "True"}]).suspended()


def deletes(decision: Decision) -> str:
    if not isinstance(decision.action, Release):
        return ""
    return f"{type(decision.action.thing).__name__} {decision.action.name}"


WORKLOADS, GROUPS = [our_workload()], [our_group()]


@pytest.mark.parametrize(
    ("seen", "what"),
    [
        pytest.param(saw(resting(), WORKLOADS, GROUPS), f"PodGroup {GROUP_NAME}", id="the PodGroup first"),
        pytest.param(saw(resting(), WORKLOADS), f"Workload {WORKLOAD_NAME}", id="the Workload next"),
        pytest.param(
            saw(resting(), workloads=[our_workload()], groups=[our_group().being_deleted()]),
            f"Workload {WORKLOAD_NAME}",
            id="also while the PodGroup is on its way out",
        ),
        pytest.param(saw(resting()), "", id="nothing is left"),
        pytest.param(saw(job(), WORKLOADS, GROUPS), "", id="a Job that runs"),
        pytest.param(saw(job(active=1).suspended(), WORKLOADS, GROUPS), "", id="pods are still active"),
        pytest.param(saw(job(terminating=1).suspended(), WORKLOADS, GROUPS), "", id="pods are still on their way out"),
        pytest.param(
            saw(resting(), WORKLOADS, GROUPS, Pods(exist=True, live=True, group=GROUP_NAME)),
            "",
            id="a pod lives after all",
        ),
        pytest.param(saw(resting().finished(), WORKLOADS, GROUPS), "", id="a Job that is done"),
        pytest.param(saw(resting().being_deleted(), WORKLOADS, GROUPS), "", id="a Job that goes takes them along"),
        pytest.param(
            saw(
                resting(),
                workloads=[a_workload("mine").describing(job())],
                groups=[a_pod_group("g").naming_workload("mine").controlled_by(job())],
            ),
            "",
            id="somebody's own",
        ),
    ],
)
def test_what_is_given_up(seen: Observed, what: str) -> None:
    assert deletes(decide(seen, RELEASING)) == what
    assert deletes(decide(seen, RULES)) == "", "not unless the operator wants it"


def test_resumed_it_gets_another_pair_although_pods_ended_before() -> None:
    seen = saw(job(conditions=WAS_SUSPENDED, succeeded=1), pods=ENDED)
    assert isinstance(decide(seen, RELEASING).action, CreateWorkload)
    assert decide(seen, RULES).reason is Reason.HAD_PODS_BEFORE
    never = saw(job(succeeded=1), pods=ENDED)
    assert decide(never, RELEASING).reason is Reason.HAD_PODS_BEFORE


async def test_both_are_deleted_by_their_uid_and_the_job_is_settled() -> None:
    cluster = FakeCluster()
    for thing in (resting(), our_workload(), our_group()):
        cluster.apply(thing)
    parts = build(FakeClient(cluster))
    parts.formation.rules = RELEASING
    decision = await parts.formation.ensure(resting().ref)
    assert (decision.reason, decision.membership) == (Reason.SUSPENDED, Membership.HOLD)
    assert cluster.find("workloads") == cluster.find("podgroups") == []
