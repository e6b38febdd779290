"""A Job waits and no event was posted: the log says why, at debug, with the Job's key."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from muster.core.gang_status import Gang, MemberSummary
from muster.core.reasons import EventReason, Reason, SilenceReason
from muster.runtime.ttl_cache import TtlCache
from tests.builders import PodGroupBuilder
from tests.unit.controllers.gang_status.test_controller import FULL, KEY, STARTED, Stage, group, job, pods
from tests.unit.controllers.gang_status.test_controller import stage as stage  # noqa: PLC0414 - a fixture


async def other_leads(stage: Stage) -> None:
    stage.pause()
    stage.gang_status.job_changed(KEY)


async def group_of_nobody_in_lead(stage: Stage) -> None:
    stage.pause()
    stage.gang_status.pod_group_changed(("default", group().name))


async def not_synced(stage: Stage) -> None:
    stage.cache.mark_synced(False)
    await stage.consider()


async def of_somebody(stage: Stage) -> None:
    stage.gang_status.rules = replace(stage.gang_status.rules, adopt_existing_only=True)
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
    "nothing is watched": (not_synced, SilenceReason.CACHE_NOT_SYNCED),
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


def test_a_pod_group_that_is_gone_wakes_no_job(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "muster"):
        stage.gang_status.pod_group_changed(("default", "lost"))
    assert f"default/lost: no event: {SilenceReason.POD_GROUP_GONE}" in caplog.text


async def test_at_level_info_a_silence_is_not_logged(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "muster"):
        await stage.consider(times=3)
    assert "no event" not in caplog.text


async def test_an_event_that_the_rate_limit_held_back_is_posted_later(stage: Stage) -> None:
    """Also where the scheduler has spoken, so that nothing new would make Muster look again."""
    stage.shows(group=group().scheduled("False", "no placement"))
    await storm(stage)
    await stage.posted()
    assert await asyncio.wait_for(stage.gang_status.queue.get(), 2) == KEY
    await stage.consider()
    assert sum(event.startswith("GangWaiting") for event in await stage.posted()) == 1


async def test_an_event_on_a_job_that_is_gone_does_not_count_as_posted(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """Otherwise a Job of the same name and UID in the cache would wait for the rate limit, and for another reason."""
    status = stage.gang_status
    gang = status._gang(KEY)
    assert isinstance(gang, Gang)
    wait = status._wait(KEY, gang)
    stage.cache.drop_job(KEY, job().view().uid)
    with caplog.at_level(logging.DEBUG, "muster"):
        status._conclude(KEY, gang, wait, MemberSummary(4, 0, FULL, "p"))
    assert f"no event: {Reason.JOB_GONE}" in caplog.text
    assert (wait.posted, status.posted.recall(gang.job.uid)) == (None, None)
    assert await stage.posted() == []


async def test_a_repeated_event_has_one_reason_also_while_the_queue_is_full(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    stage.gang_status.recorder._queue = asyncio.Queue(1)
    await stage.consider()
    stage.gang_status.forget()
    stage.gang_status.posted = TtlCache(0.0)
    caplog.clear()
    with caplog.at_level(logging.DEBUG, "muster"):
        await stage.consider()
    assert f"no event: {SilenceReason.ALREADY_POSTED}" in caplog.text
    assert f"no event: {SilenceReason.EVENT_QUEUE_FULL}" not in caplog.text
