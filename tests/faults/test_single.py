"""One fault at every call of every scenario."""

import pytest

from muster.api.pod import GROUPED_LABEL
from tests.fake_cluster import group_of
from tests.faults.disturbances import ACTORS, FAULTS
from tests.faults.scenarios import ALL, CHANGED_MIND, RESIZES, WITH_CRDS
from tests.faults.sweep import sweep_single, undisturbed
from tests.faults.world import Scenario, World

STORIES = (*ALL, *WITH_CRDS, *RESIZES, pytest.param(CHANGED_MIND, marks=pytest.mark.full))


@pytest.mark.parametrize("scenario", STORIES, ids=str)
async def test_with_nothing_going_wrong(scenario: Scenario) -> None:
    normal = await undisturbed(scenario)
    assert sum(normal.created.values()) == scenario.creates


@pytest.mark.parametrize("scenario", [*ALL[:1], *WITH_CRDS], ids=str)
async def test_pods_say_it_in_the_words_of_their_profile(scenario: Scenario) -> None:
    world = await World(scenario).run()
    members = [pod for pod in world.cluster.find("pods") if group_of(pod)]
    assert bool(members) == bool(scenario.creates)
    for pod in members:
        assert ("schedulingGroup" in pod["spec"]) is scenario.profile.native
        assert (pod["metadata"]["labels"].get(GROUPED_LABEL) == "true") is not scenario.profile.native


@pytest.mark.parametrize("scenario", STORIES, ids=str)
async def test_every_fault_at_every_call(scenario: Scenario) -> None:
    problems = await sweep_single(scenario, FAULTS)
    assert not problems, "\n".join(problems[:20])


@pytest.mark.parametrize("scenario", STORIES, ids=str)
async def test_every_actor_before_every_call(scenario: Scenario) -> None:
    problems = await sweep_single(scenario, ACTORS)
    assert not problems, "\n".join(problems[:20])
