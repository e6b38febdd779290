"""Two things go wrong in one run: some pairs on every commit, many in the full run."""

import random
from itertools import combinations, product

import pytest

from tests.faults.disturbances import ACTORS, BY_FORCE, FAULTS, REJECTED
from tests.faults.scenarios import ALL, ALL_LOST_AFTER_SUCCESS, RESIZES
from tests.faults.sweep import Plan, problems_of, undisturbed
from tests.faults.world import Scenario

SAMPLE, MANY = 80, 2_000
"""Of up to a hundred thousand pairs in a scenario: all of them would take hours."""
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


async def test_a_gang_whose_lost_group_is_rejected_says_why_it_waits() -> None:
    """The PodGroup of a gang that is being resized is deleted by force, and one of the last calls is rejected."""
    normal = await undisturbed(ALL_LOST_AFTER_SUCCESS)
    last = range(normal.calls - 9, normal.calls + 1)
    plans = [{early: BY_FORCE, late: REJECTED} for late in last for early in range(1, late)]
    problems = [problem for plan in plans for problem in await problems_of(ALL_LOST_AFTER_SUCCESS, plan, normal)]
    assert not problems, "\n".join(problems[:20])
