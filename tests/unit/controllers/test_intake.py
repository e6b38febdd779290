"""What was seen goes to the cache, and wakes the Jobs that it concerns, and no others."""

import pytest

from muster.api.keys import JobKey
from muster.controllers.intake import Intake
from tests.builders import a_gang, a_pod_group, a_workload
from tests.fake_cluster import FakeClient, FakeCluster
from tests.unit.controllers.parts import Parts, build

JOB = a_gang("train").uid("now")
KEY = JobKey("default", "train")


@pytest.fixture
async def parts() -> Parts:
    return build(FakeClient(FakeCluster()))


@pytest.fixture
async def intake(parts: Parts) -> Intake:
    return Intake(parts.cache, parts.queue, parts.gang_former)


async def test_news_wakes_the_job_and_makes_its_verdict_void(intake: Intake, parts: Parts) -> None:
    intake.job(JOB.view(), deleted=False)
    assert await parts.queue.get() == KEY
    parts.queue.done(KEY)
    intake.job(JOB.version(2).view(), deleted=False)
    assert len(parts.queue) == 0, "a change that no decision looks at"
    workload = a_workload("w").describing(JOB).read()
    intake.workload(workload, deleted=False)
    assert len(parts.queue) == 1
    assert await parts.queue.get() == KEY
    parts.queue.done(KEY)
    intake.workload(workload, deleted=True)
    assert len(parts.queue) == 1


async def test_objects_of_unknown_jobs_wake_nobody(intake: Intake, parts: Parts) -> None:
    intake.workload(a_workload("w").describing(JOB).read(), deleted=False)
    intake.pod_group(a_pod_group("g").naming_workload("w").read(), deleted=False)
    assert len(parts.queue) == 0


async def test_where_muster_keeps_pod_groups_itself_it_is_told_of_each(parts: Parts) -> None:
    told: list[tuple[str, str]] = []
    intake = Intake(parts.cache, parts.queue, parts.gang_former, told.append)
    group = a_pod_group("g")
    intake.pod_group(group.read(), deleted=False)
    intake.pod_group(group.version(2).reporting().read(), deleted=False)
    assert told == [("default", "g")] * 2, "also of what changes nothing for the Job"
    assert parts.cache.pod_group("default", "g") is not None
