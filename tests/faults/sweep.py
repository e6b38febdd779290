"""One run, judged; and many of them."""

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product

from tests.faults.disturbances import ACTORS, FAULTS, REJECTED
from tests.faults.world import NeverSettled, Scenario, World
from tests.oracles import created_by_us, gangs, without_a_node, wrong_in_the_end

Plan = Mapping[int, str]
"""Which fault or actor strikes at which call."""


@dataclass(frozen=True)
class Undisturbed:
    calls: int
    gangs: Mapping[str, str]
    created: Mapping[str, int]


async def undisturbed(scenario: Scenario) -> Undisturbed:
    world = await World(scenario).run()
    problems = _problems(world)
    assert not problems, f"{scenario}, with nothing going wrong: {problems}"
    return Undisturbed(world.calls, gangs(world.cluster), created_by_us(world.cluster))


async def problems_of(scenario: Scenario, plan: Plan, normal: Undisturbed, lag: int = 0) -> list[str]:
    """Everything that is wrong with one disturbed run; each line names the scenario, the faults and the problem."""
    world = World(scenario, {index: {**FAULTS, **ACTORS}[name] for index, name in plan.items()}, lag)
    try:
        await world.run()
    except NeverSettled as error:
        return [f"{scenario} | {dict(plan)} | lag {lag} | {error}", *world.oracle.violations]
    found = _problems(world)
    if not (set(plan.values()) & set(ACTORS)) and not _was_rejected(world, plan):
        found += _differences(world, normal)
    return [f"{scenario} | {dict(plan)} | lag {lag} | {problem}" for problem in found]


async def splits_of(scenario: Scenario, plan: Plan, lag: int) -> list[str]:
    """Only what may never happen, for scenarios whose end depends on who is asked first."""
    world = World(scenario, {index: ACTORS[name] for index, name in plan.items()}, lag)
    with contextlib.suppress(NeverSettled):
        await world.run()
    return [f"{scenario} | {dict(plan)} | lag {lag} | {problem}" for problem in world.oracle.violations]


def _problems(world: World) -> list[str]:
    waiting = without_a_node(world.cluster) if world.nodes is not None else ()
    return [*world.oracle.violations, *wrong_in_the_end(world.cluster), *waiting]


def _was_rejected(world: World, plan: Plan) -> bool:
    """A permanent refusal leaves a Job without its gang, which `wrong_in_the_end` accepts if an event reports it.

    If Muster dies before it posts the event, the next process reports the result: the Job's pods are plain.
    """
    posted = [event["message"] for event in world.cluster.find("events")]
    return REJECTED in plan.values() and any("Rejected" in each or "PlainPods" in each for each in posted)


def _differences(world: World, normal: Undisturbed) -> Iterable[str]:
    if gangs(world.cluster) != normal.gangs:
        yield f"the end is another: {gangs(world.cluster)}, not {normal.gangs}"
    made = created_by_us(world.cluster)
    # A Job that is resumed before Muster has seen it suspended keeps its PodGroup: then that is made only once.
    if made != normal.created and not (world.scenario.releases and set(made) == set(normal.created)):
        yield f"other objects were made: {made}, not {normal.created}"


async def sweep_single(scenario: Scenario, kinds: Iterable[str], lag: int = 0, enough: int = 20) -> list[str]:
    """Every kind at every call, until there are problems enough to look at."""
    normal = await undisturbed(scenario)
    found: list[str] = []
    for kind, index in product(kinds, range(1, normal.calls + 1)):
        found += await problems_of(scenario, {index: kind}, normal, lag)
        if len(found) >= enough:
            break
    return found
