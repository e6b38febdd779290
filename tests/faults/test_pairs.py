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


def pairs(calls: int, first: tuple[str, ...], second: tuple[str, ...]) -> list[Plan]:
    return [
        {early: one, late: other}
        for (early, late), one, other in product(combinations(range(1, calls + 1), 2), first, second)
    ]


@pytest.mark.parametrize("scenario", ALL, ids=str)
async def test_a_sample_of_pairs(scenario: Scenario) -> None:
    normal = await undisturbed(scenario)
    plans = random.Random(str(scenario)).sample(pairs(normal.calls, ANYTHING, ANYTHING), SAMPLE)
    problems = [problem for plan in plans for problem in await problems_of(scenario, plan, normal)]
    assert not problems, "\n".join(problems[:20])


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("scenario", ALL, ids=str)
async def test_all_pairs(scenario: Scenario) -> None:
    normal = await undisturbed(scenario)
    plans = pairs(normal.calls, ANYTHING, ANYTHING)
    problems = [problem for plan in plans for problem in await problems_of(scenario, plan, normal)]
    assert not problems, "\n".join(problems[:20])
