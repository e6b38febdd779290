"""Two things go wrong in one run: a sample on every commit, all of them in the full run."""

import random
from itertools import combinations, product

import pytest

from tests.faults.disturbances import ACTORS, FAULTS
from tests.faults.scenarios import ALL
from tests.faults.sweep import Plan, problems_of, undisturbed
from tests.faults.world import Scenario

SAMPLE = 80
ANYTHING = (*FAULTS, *ACTORS)


def pairs(calls: int) -> list[Plan]:
    """All of them, but for one that no API server tells: that a Job is not there, right when its gang needs repair."""
    return [
        {early: one, late: other}
        for (early, late), one, other in product(combinations(range(1, calls + 1), 2), ANYTHING, ANYTHING)
        if not ("404" in (one, other) and (one in ACTORS or other in ACTORS))
    ]


@pytest.mark.parametrize("scenario", ALL, ids=str)
async def test_a_sample_of_pairs(scenario: Scenario) -> None:
    normal = await undisturbed(scenario)
    plans = random.Random(str(scenario)).sample(pairs(normal.calls), SAMPLE)
    problems = [problem for plan in plans for problem in await problems_of(scenario, plan, normal)]
    assert not problems, "\n".join(problems[:20])


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("scenario", ALL, ids=str)
async def test_all_pairs(scenario: Scenario) -> None:
    normal = await undisturbed(scenario)
    plans = pairs(normal.calls)
    problems = [problem for plan in plans for problem in await problems_of(scenario, plan, normal)]
    assert not problems, "\n".join(problems[:20])
