"""What Muster looks at is some changes old: its own cache, and the API server's."""

import pytest

from tests.faults.disturbances import ACTORS, REJECTED
from tests.faults.scenarios import ALL, DIFFERENT_SETTINGS, RESIZES, WITH_CRDS
from tests.faults.sweep import problems_of, splits_of, sweep_single, undisturbed
from tests.faults.world import Scenario

LAGS = (1, 2, 3, 4, 5, 6)
TWO_REPLICAS = [scenario for scenario in (*ALL, *WITH_CRDS) if scenario.replicas > 1]
"""Both work on every Job, nobody leads, and the webhook is asked in turn."""


@pytest.mark.parametrize("scenario", [*ALL, *WITH_CRDS, *RESIZES], ids=str)
async def test_a_stale_view_ends_in_the_same_state(scenario: Scenario) -> None:
    normal = await undisturbed(scenario)
    problems = [problem for lag in LAGS for problem in await problems_of(scenario, {}, normal, lag)]
    assert not problems, "\n".join(problems[:20])


@pytest.mark.parametrize("scenario", ALL, ids=str)
async def test_a_stale_view_while_somebody_acts(scenario: Scenario) -> None:
    problems = await sweep_single(scenario, ACTORS, lag=2)
    assert not problems, "\n".join(problems[:20])


@pytest.mark.full
@pytest.mark.parametrize("lag", LAGS)
@pytest.mark.parametrize("scenario", ALL, ids=str)
async def test_every_stale_view_while_somebody_acts(scenario: Scenario, lag: int) -> None:
    problems = await sweep_single(scenario, ACTORS, lag)
    assert not problems, "\n".join(problems[:20])


@pytest.mark.parametrize("lag", [2, *(pytest.param(lag, marks=pytest.mark.full) for lag in (1, 3, 4, 5, 6))])
@pytest.mark.parametrize("scenario", TWO_REPLICAS, ids=str)
async def test_two_replicas_that_see_different_things_do_not_split_a_gang(scenario: Scenario, lag: int) -> None:
    problems = await sweep_single(scenario, [*ACTORS, REJECTED], lag)
    assert not problems, "\n".join(problems[:20])


@pytest.mark.parametrize("lag", [0, 2])
async def test_two_replicas_with_different_settings_do_not_split_a_gang(lag: int) -> None:
    """As during a rolling change of them: one takes the Job for a gang, the other leaves it alone."""
    problems = [
        problem
        for actor in ACTORS
        for call in range(1, 40)
        for problem in await splits_of(DIFFERENT_SETTINGS, {call: actor}, lag)
    ]
    assert not problems, "\n".join(problems[:20])
