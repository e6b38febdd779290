"""One thing goes wrong, at every call of every story."""

import pytest

from tests.faults.disturbances import ACTORS, FAULTS
from tests.faults.scenarios import ALL
from tests.faults.sweep import sweep_single, undisturbed
from tests.faults.world import Scenario


@pytest.mark.parametrize("scenario", ALL, ids=str)
async def test_with_nothing_going_wrong(scenario: Scenario) -> None:
    normal = await undisturbed(scenario)
    assert sum(normal.created.values()) == scenario.creates


@pytest.mark.parametrize("scenario", ALL, ids=str)
async def test_every_fault_at_every_call(scenario: Scenario) -> None:
    problems = await sweep_single(scenario, FAULTS)
    assert not problems, "\n".join(problems[:20])


@pytest.mark.parametrize("scenario", ALL, ids=str)
async def test_every_actor_before_every_call(scenario: Scenario) -> None:
    problems = await sweep_single(scenario, ACTORS)
    assert not problems, "\n".join(problems[:20])
