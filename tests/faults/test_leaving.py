"""Muster is being uninstalled. Its replicas notice it one after the other, at any moment; this splits no gang."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from muster.core.reasons import Reason
from tests.fake_cluster import group_of
from tests.faults.disturbances import ACTORS
from tests.faults.scenarios import (
    CONTROLLER_FIRST,
    DIFFERENT_SETTINGS,
    OWN_PAIR,
    RACE,
    REPLICAS,
    RESUMED,
    WEBHOOK_ONLY,
    gang,
)
from tests.faults.test_mutants import membership_is_not_sticky
from tests.faults.world import Call, Disturbance, NeverSettled, Process, Scenario, World
from tests.unit.core.seeing import our_group, our_workload

LAGS = (0, 2, 4)
TWO_REPLICAS = replace(REPLICAS, name="two replicas", leads=False)
"""No replica stands aside before nobody leads any more (core/election.py). So neither of the two replicas leads."""
FORMED = replace(TWO_REPLICAS, name="two replicas, and a pair", start=(gang(), our_workload(gang()), our_group(gang())))
STORIES = (
    CONTROLLER_FIRST,
    WEBHOOK_ONLY,
    RACE,
    RESUMED,
    TWO_REPLICAS,
    FORMED,
    replace(TWO_REPLICAS, name="two replicas, and half a pair", start=(gang(), our_workload(gang()))),
    replace(TWO_REPLICAS, name="two replicas with different settings", policies=DIFFERENT_SETTINGS.policies),
    replace(TWO_REPLICAS, name="two replicas, and a user's own pair", start=OWN_PAIR.start),
)
FEW, MANY = 15, 1
"""Every how many calls the second replica learns of it."""
UNDISTURBED_CALLS = 45


def _learns(number: int) -> Disturbance:
    async def disturb(world: World, process: Process, call: Call[object]) -> object:
        world.processes[min(number, len(world.processes) - 1)].draining = True
        return await call()

    return disturb


def moments(every: int) -> Iterator[tuple[int, int]]:
    for first in range(1, UNDISTURBED_CALLS):
        yield from ((first, second) for second in range(first + 1, UNDISTURBED_CALLS + 1, every))


async def left_at(scenario: Scenario, first: int, second: int, lag: int) -> tuple[World, list[str]]:
    world = World(scenario, {first: _learns(0), second: _learns(1)}, lag)
    try:
        await world.run()
    except NeverSettled as error:
        return world, [f"{scenario} | {first}, {second} | lag {lag} | {error}"]
    found = [*world.oracle.violations]
    for job in world.cluster.find("jobs"):
        pods = [
            pod for pod in world.cluster.find("pods") if pod["metadata"]["name"].startswith(job["metadata"]["name"])
        ]
        groups = {group_of(pod) for pod in pods}
        if len(pods) != job["spec"]["parallelism"] or len(groups) != 1:
            found.append(f"{len(pods)} pods in {groups}")
    return world, [f"{scenario} | {first}, {second} | lag {lag} | {problem}" for problem in found]


@pytest.mark.parametrize("every", [FEW, pytest.param(MANY, marks=[pytest.mark.full, pytest.mark.timeout(1200)])])
@pytest.mark.parametrize("scenario", STORIES, ids=str)
async def test_every_job_is_a_whole_gang_or_wholly_plain(scenario: Scenario, every: int) -> None:
    problems, plain, whole = list[str](), 0, 0
    for lag in LAGS:
        for first, second in moments(every):
            world, found = await left_at(scenario, first, second, lag)
            problems += found
            posted = [event for event in world.cluster.find("events") if str(Reason.UNINSTALLING) in event["message"]]
            plain, whole = plain + bool(posted), whole + any(group_of(pod) for pod in world.cluster.find("pods"))
    assert not problems, "\n".join(problems[:20])
    assert plain or scenario is FORMED, "some were not begun, and an event reports it"
    assert whole, "some were completed"


async def test_a_replica_that_does_not_look_at_living_pods_splits_a_gang(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sweep finds a planted bug."""
    membership_is_not_sticky(monkeypatch)
    for lag in LAGS:
        for first, second in moments(FEW):
            if (await left_at(TWO_REPLICAS, first, second, lag))[1]:
                return
    raise AssertionError("it was not found")


@pytest.mark.parametrize("actor", sorted(ACTORS))
async def test_nor_while_somebody_acts(actor: str) -> None:
    """Only what may never happen: the end depends on who is asked first."""
    for first in range(1, 16):
        for at in range(1, 16):
            plan = {first: _learns(0), at + first: ACTORS[actor], at + first + 4: _learns(1)}
            world = World(TWO_REPLICAS, plan, lag=2)
            await world.run()
            assert not world.oracle.violations, (first, at, world.oracle.violations)
