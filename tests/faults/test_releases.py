"""The PodGroup of a suspended Job is released and recreated, with every fault at every call."""

import pytest

from muster.api.job import JobView
from muster.api.v1alpha2.workload import Workload
from muster.core import decide, desired
from muster.core.actions import DeleteObject
from muster.core.decision import Decision, Membership
from muster.core.observed import Observed
from muster.core.own_group import own_pod_group
from muster.core.policy import Rules
from muster.core.reasons import Reason
from tests.faults.disturbances import ACTORS, FAULTS, REJECTED
from tests.faults.scenarios import ADMITTED_IN_PART, EVICTED, EVICTED_REPLICAS, RELEASES
from tests.faults.sweep import problems_of, sweep_single, undisturbed
from tests.faults.world import Scenario, World

LAGS = (1, 2, 3, 4, 5, 6)


@pytest.mark.parametrize("scenario", RELEASES, ids=str)
async def test_with_nothing_going_wrong(scenario: Scenario) -> None:
    normal = await undisturbed(scenario)
    assert sum(normal.created.values()) == scenario.creates


@pytest.mark.parametrize(
    "scenario", [EVICTED, pytest.param(EVICTED_REPLICAS, marks=pytest.mark.full), *RELEASES[2:]], ids=str
)
async def test_every_fault_at_every_call(scenario: Scenario) -> None:
    problems = await sweep_single(scenario, FAULTS)
    assert not problems, "\n".join(problems[:20])


@pytest.mark.parametrize("scenario", RELEASES, ids=str)
async def test_every_actor_before_every_call(scenario: Scenario) -> None:
    problems = await sweep_single(scenario, ACTORS)
    assert not problems, "\n".join(problems[:20])


@pytest.mark.parametrize("scenario", RELEASES, ids=str)
async def test_a_stale_view_ends_in_the_same_state(scenario: Scenario) -> None:
    normal = await undisturbed(scenario)
    problems = [problem for lag in LAGS for problem in await problems_of(scenario, {}, normal, lag)]
    assert not problems, "\n".join(problems[:20])


@pytest.mark.full
@pytest.mark.parametrize("lag", LAGS)
@pytest.mark.parametrize("scenario", [EVICTED, EVICTED_REPLICAS], ids=str)
async def test_a_stale_view_while_somebody_acts(scenario: Scenario, lag: int) -> None:
    problems = await sweep_single(scenario, [*ACTORS, REJECTED], lag)
    assert not problems, "\n".join(problems[:20])


async def test_a_gang_that_comes_back_smaller_has_a_group_of_its_size() -> None:
    world = await World(ADMITTED_IN_PART).run()
    (workload,), (group,) = world.cluster.find("workloads"), world.cluster.find("podgroups")
    assert workload["spec"]["podGroupTemplates"][0]["schedulingPolicy"] == {"gang": {"minCount": 3}}
    assert group["spec"]["schedulingPolicy"] == {"gang": {"minCount": 2}}
    assert len(world.cluster.find("pods")) == 2


async def test_a_group_that_is_made_again_while_the_job_is_suspended_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scenario detects a PodGroup that is released and recreated endlessly."""
    original = decide._complete

    def complete(job: JobView, workload: Workload, seen: Observed, rules: Rules) -> Decision:
        if not job.suspended:
            return original(job, workload, seen, rules)
        group = desired.desired_pod_group(
            job, workload, decide._free_pod_group_name(job, workload, seen), rules.profile
        )
        return decide._create_pod_group(group)

    monkeypatch.setattr(decide, "_complete", complete)
    normal = await undisturbed(EVICTED)
    assert sum(normal.created.values()) > EVICTED.creates


async def test_a_release_under_living_pods_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Likewise: who does not list the pods first takes the group away from those that are still there."""
    original = decide.decide

    def hasty(seen: Observed, rules: Rules) -> Decision:
        job = seen.job
        group = own_pod_group(seen)
        if job is not None and job.suspended and group is not None and group.metadata.deletion_timestamp is None:
            return Decision(Reason.RELEASED, Membership.HOLD, write=DeleteObject(group))
        return original(seen, rules)

    monkeypatch.setattr("muster.controllers.job.gang_former.decide", hasty)
    with pytest.raises(AssertionError, match="released PodGroup"):
        await undisturbed(EVICTED)
