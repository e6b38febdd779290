"""Two things go wrong in one run: some pairs on every commit, many in the full run."""

import random
from itertools import combinations, product

import pytest

from tests.faults.disturbances import ACTORS, FAULTS
from tests.faults.scenarios import ALL, RESIZES
from tests.faults.sweep import Plan, problems_of, undisturbed
from tests.faults.world import Scenario

SAMPLE, MANY = 80, 2_000
"""Of up to a hundred thousand pairs in a story: all of them would take hours."""
ANYTHING = (*FAULTS, *ACTORS)


def pairs(calls: int) -> list[Plan]:
    """All there are, but for what no API server tells: that a Job is not there, right when its gang needs repair."""
    return [
        {early: one, late: other}
        for (early, late), one, other in product(combinations(range(1, calls + 1), 2), ANYTHING, ANYTHING)
        if not ("404" in (one, other) and (one in ACTORS or other in ACTORS))
    ]


@pytest.mark.parametrize("count", [SAMPLE, pytest.param(MANY, marks=[pytest.mark.full, pytest.mark.timeout(1200)])])
@pytest.mark.parametrize("scenario", [*ALL, *RESIZES], ids=str)
async def test_a_gang_is_whole_although_two_things_went_wrong(scenario: Scenario, count: int) -> None:
    normal = await undisturbed(scenario)
    possible = pairs(normal.calls)
    plans = random.Random(f"{scenario} {count}").sample(possible, min(count, len(possible)))
    problems = [problem for plan in plans for problem in await problems_of(scenario, plan, normal)]
    assert not problems, "\n".join(problems[:20])
