"""Muster checks what the scheduler claims: a gang of which only a part has nodes is never called scheduled."""

import asyncio
from unittest.mock import ANY

import pytest

from muster.core.reasons import EventReason
from tests.builders import PodBuilder
from tests.unit.controllers.gang_status.test_controller import FULL, JUST_NOW, SCHEDULED, Stage, group, job, pods
from tests.unit.controllers.gang_status.test_controller import stage as stage  # noqa: PLC0414 - a fixture

CREATED = "2026-01-01T00:00:40Z"
HALF = f"GangWaiting: 2 of the gang's 4 pods have a node: {FULL}"
NOT_HELD = "GangNotHeld: 2 of the gang's 4 pods started without the others"


def members(bound: int) -> list[PodBuilder]:
    made = [pod.created(CREATED) for pod in pods(4)]
    return [*(pod.bound() for pod in made[:bound]), *(pod.unschedulable(FULL) for pod in made[bound:])]


async def claimed(stage: Stage, bound: int) -> None:
    """A gang that was seen to wait, and that the scheduler now calls scheduled."""
    stage.shows(job(), group().created(CREATED))
    await stage.consider()
    stage.has(*members(bound))
    stage.shows(group=group().created(CREATED).scheduled(when=JUST_NOW).version(9))


@pytest.fixture
def silent(stage: Stage) -> Stage:
    """Posts no event without a condition of the scheduler."""
    return stage.at(silence=60.0)


async def test_a_false_claim_is_not_repeated_and_its_cause_is_named_once(silent: Stage) -> None:
    await claimed(silent, bound=2)
    await silent.consider(times=5)
    assert await silent.posted() == [HALF, NOT_HELD]
    silent.restart()
    await silent.consider(times=5)
    assert SCHEDULED not in await silent.posted(), "the next process does not know better"
    silent.has(*members(bound=4))
    await silent.consider(times=2)
    assert (await silent.posted())[-1] == SCHEDULED, "once all have a node, it is true"


async def test_a_gang_that_starts_in_parts_is_never_called_scheduled(silent: Stage) -> None:
    await claimed(silent, bound=2)
    await silent.consider(times=2)
    silent.shows(job(ready=2, succeeded=2))
    silent.has(*(pod.bound() for pod in pods(2)))
    await silent.consider(times=3)
    assert SCHEDULED not in await silent.posted()


async def test_a_true_claim_costs_one_list_per_run(silent: Stage) -> None:
    await claimed(silent, bound=4)
    await silent.consider()
    assert (await silent.posted(), silent.client.lists) == ([SCHEDULED], 1)


async def test_muster_does_not_list_before_the_job_had_time_to_count_its_pods(silent: Stage) -> None:
    silent.at(patience=60.0)
    await claimed(silent, bound=4)
    await silent.consider(times=3)
    assert (await silent.posted(), silent.client.lists) == ([], 0)
    silent.shows(job(ready=4))
    await silent.consider()
    assert (await silent.posted(), silent.client.lists) == ([SCHEDULED], 0)


@pytest.mark.parametrize(("succeeded", "events"), [(4, [SCHEDULED]), (3, [])])
async def test_a_gang_that_completes_before_the_count_needs_no_list(
    silent: Stage, succeeded: int, events: list[str]
) -> None:
    silent.at(patience=60.0)
    await claimed(silent, bound=4)
    await silent.consider()
    done = [{"type": "Complete", "status": "True"}]
    silent.shows(job(succeeded=succeeded, conditions=done))
    await silent.consider(times=2)
    assert (await silent.posted(), silent.client.lists) == (events, 0)


async def test_a_scheduler_that_ignores_groups_is_detected(stage: Stage) -> None:
    stage.shows(job(), group().created(CREATED))
    stage.has(*members(bound=2))
    await stage.consider(times=3)
    assert await stage.posted() == [HALF, NOT_HELD]


async def test_the_cause_is_named_also_if_the_watch_shows_the_gang_late(stage: Stage) -> None:
    """As after an outage of the API server: the pod webhook works again before the watches do."""
    stage.has(*members(bound=2))
    stage.shows(group=group().created(CREATED).scheduled(when=JUST_NOW))
    await stage.consider(times=3)
    assert await stage.posted() == [HALF, NOT_HELD]


async def test_a_half_bound_gang_has_to_last_before_muster_names_a_cause(silent: Stage) -> None:
    silent.at(patience=60.0)
    await claimed(silent, bound=2)
    await silent.consider(times=3)
    assert await silent.posted() == []


async def test_muster_names_no_cause_for_a_gang_that_had_its_nodes_and_lost_some(silent: Stage) -> None:
    """Also if the Job does not count the loss (podFailurePolicy with Ignore)."""
    await claimed(silent, bound=4)
    await silent.consider()
    silent.has(*members(bound=2))
    silent.shows(job(ready=2))
    await silent.consider(times=5)
    assert await silent.posted() == [SCHEDULED, HALF]


async def test_on_crd_profiles_muster_does_not_count_again(silent: Stage) -> None:
    silent.gang_status.native = False
    await claimed(silent, bound=4)
    await silent.consider()
    assert (await silent.posted(), silent.client.lists) == ([SCHEDULED], ANY)
    assert silent.gang_status._started
    silent.cache.drop_job(job().view().key, job().view().uid)
    await silent.consider()
    assert not silent.gang_status._started, "nothing is kept of a Job that is gone"


async def test_an_event_that_the_full_queue_rejects_is_posted_later(silent: Stage) -> None:
    recorder = silent.gang_status.recorder
    recorder._queue = asyncio.Queue(1)
    recorder.normal(job().view(), EventReason.WORKLOAD_CREATED, "in the way")
    silent.shows(job(ready=4), group().scheduled(when=JUST_NOW))
    await silent.consider()
    assert SCHEDULED not in await silent.posted()
    assert await asyncio.wait_for(silent.gang_status.queue.get(), 2), "it is tried again"
    await silent.consider(times=2)
    assert (await silent.posted()).count(SCHEDULED) == 1


@pytest.mark.parametrize(("claimed", "posted"), [(JUST_NOW, [SCHEDULED]), ("2026-01-01T00:00:56Z", [])])
async def test_the_patience_counts_from_the_claim_also_if_another_leader_saw_it(
    stage: Stage, claimed: str, posted: list[str]
) -> None:
    """A leader that is killed soon after it came would otherwise never count the pods of a gang, nor would the next."""
    stage.at(patience=5.0).has(*(pod.bound() for pod in pods(4)))
    stage.shows(job(active=4, ready=3), group().scheduled(when=claimed))
    await stage.consider()
    assert await stage.posted() == posted
