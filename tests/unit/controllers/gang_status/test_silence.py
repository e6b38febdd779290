"""A Job waits and no event was posted: the log says why, at debug, with the Job's key."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from muster.core.gang_status import Gang, MemberSummary
from muster.core.reasons import EventReason, Reason, SilenceReason
from tests.builders import PodGroupBuilder
from tests.unit.controllers.gang_status.test_controller import FULL, KEY, STARTED, Stage, group, job, pods
from tests.unit.controllers.gang_status.test_controller import stage as stage  # noqa: PLC0414 - a fixture


async def other_leads(stage: Stage) -> None:
    stage.gang_status.pause()
    stage.gang_status.job_changed(KEY)


async def group_of_nobody_in_lead(stage: Stage) -> None:
    stage.gang_status.pause()
    stage.gang_status.pod_group_changed(("default", group().name))


async def not_synced(stage: Stage) -> None:
    stage.cache.has_synced = False
    await stage.consider()


async def of_somebody(stage: Stage) -> None:
    stage.gang_status.adopt_existing_only = True
    theirs: PodGroupBuilder = group()
    del theirs.metadata["labels"]
    stage.shows(group=theirs.version(9))
    await stage.consider()


async def suspended(stage: Stage) -> None:
    stage.shows(job().suspended())
    await stage.consider()


async def too_early(stage: Stage) -> None:
    await stage.at(silence=60.0).consider()


async def no_news(stage: Stage) -> None:
    stage.shows(group=group().scheduled("False", "no placement"))
    await stage.consider(times=2)


async def not_listed(stage: Stage) -> None:
    async def look(_: Gang) -> MemberSummary | None:
        return None

    stage.gang_status.look = look
    await stage.consider()


async def changed(stage: Stage) -> None:
    look = stage.gang_status.look

    async def slow(gang: Gang) -> MemberSummary | None:
        stage.shows(job(ready=4), STARTED)
        return await look(gang)

    stage.gang_status.look = slow
    await stage.consider()


async def same_again(stage: Stage) -> None:
    await stage.consider(times=2)


async def same_by_another_process(stage: Stage) -> None:
    await stage.consider()
    await stage.posted()
    stage.restart()
    await stage.consider()
    await stage.posted()


async def other_words(stage: Stage) -> None:
    stage.at(between=30.0).restart()
    await stage.consider()
    stage.has(*(pod.unschedulable(FULL) for pod in pods(4)))
    await stage.consider()


async def storm(stage: Stage) -> None:
    recorder = stage.gang_status.recorder
    recorder._queue = asyncio.Queue(1)
    recorder.normal(job().view(), EventReason.WORKLOAD_CREATED, "in the way")
    await stage.consider()


async def running(stage: Stage) -> None:
    stage.shows(job(ready=4), STARTED)
    await stage.consider(times=2)


SILENCES: dict[str, tuple[Callable[[Stage], Awaitable[Any]], Reason | SilenceReason]] = {
    "another replica leads": (other_leads, SilenceReason.NOT_LEADING),
    "another replica leads, and a PodGroup changed": (group_of_nobody_in_lead, SilenceReason.NOT_LEADING),
    "nothing is watched": (not_synced, SilenceReason.STORE_NOT_SYNCED),
    "the gang is somebody else's": (of_somebody, SilenceReason.POD_GROUP_NOT_OURS),
    "the Job is suspended": (suspended, Reason.SUSPENDED),
    "it has only just come": (too_early, SilenceReason.TOO_EARLY),
    "nothing is new": (no_news, SilenceReason.NOTHING_NEW),
    "the pods are still being listed": (not_listed, SilenceReason.MEMBERS_UNKNOWN),
    "it changed meanwhile": (changed, SilenceReason.CHANGED_MEANWHILE),
    "the same was posted before": (same_again, SilenceReason.ALREADY_POSTED),
    "another process has posted it": (same_by_another_process, SilenceReason.ALREADY_POSTED),
    "too soon after the last": (other_words, SilenceReason.RATE_LIMITED),
    "too many events wait": (storm, SilenceReason.EVENT_QUEUE_FULL),
    "the gang runs": (running, SilenceReason.GANG_RUNS),
}


@pytest.mark.parametrize(("happen", "reason"), SILENCES.values(), ids=SILENCES)
async def test_the_log_says_why_nothing_was_posted(
    stage: Stage,
    caplog: pytest.LogCaptureFixture,
    happen: Callable[[Stage], Awaitable[Any]],
    reason: Reason | SilenceReason,
) -> None:
    with caplog.at_level(logging.DEBUG, "muster"):
        await happen(stage)
    said = [record for record in caplog.records if f"no event: {reason}: {reason.sentence}" in record.getMessage()]
    assert said, caplog.text
    assert {record.getMessage().partition(":")[0] for record in said} == {"default/train"}
    assert {record.__dict__["job"] for record in said} == {KEY}


async def test_at_info_a_silence_is_silent(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "muster"):
        await stage.consider(times=3)
    assert "no event" not in caplog.text


async def test_what_the_storm_kept_back_is_posted_after_it(stage: Stage) -> None:
    """Also where the scheduler has spoken, so that nothing new would make Muster look again."""
    stage.shows(group=group().scheduled("False", "no placement"))
    await storm(stage)
    await stage.posted()
    assert await asyncio.wait_for(stage.gang_status.queue.get(), 2) == KEY
    await stage.consider()
    assert sum(event.startswith("GangWaiting") for event in await stage.posted()) == 1
