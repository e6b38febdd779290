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
    return parts.intake()


async def test_a_change_queues_the_job_and_drops_its_cached_decision(intake: Intake, parts: Parts) -> None:
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


async def test_what_a_list_shows_or_lacks_drops_the_cached_decision_and_queues_nothing(parts: Parts) -> None:
    forgotten: list[str] = []
    intake = parts.intake()
    intake.forget = forgotten.append
    workload = a_workload("w").describing(JOB).read()
    group = a_pod_group("g").naming_workload("w").read()
    for item in (JOB.view(), workload, group):
        assert intake.seen(item) == {KEY}
        assert intake.seen(item) == set(), "nothing has changed"
    for gone in (group, workload, JOB.view()):
        assert intake.deleted(gone) == {KEY}
        assert intake.deleted(gone) == set()
    assert forgotten == ["now"] * 6
    assert len(parts.queue) == 0
    assert intake.seen(JOB.view()) == {KEY}, "what a list lacks may appear again"


async def test_an_object_that_a_stream_showed_as_deleted_never_comes_back(intake: Intake, parts: Parts) -> None:
    intake.job(JOB.view(), deleted=False)
    intake.job(JOB.view(), deleted=True)
    assert intake.seen(JOB.view()) == set()
    assert KEY not in parts.cache.jobs


async def test_objects_of_unknown_jobs_queue_no_job(intake: Intake, parts: Parts) -> None:
    intake.workload(a_workload("w").describing(JOB).read(), deleted=False)
    intake.pod_group(a_pod_group("g").naming_workload("w").read(), deleted=False)
    assert len(parts.queue) == 0


async def test_on_crd_profiles_each_pod_group_change_is_passed_on(parts: Parts) -> None:
    notified: list[tuple[str, str]] = []
    intake = parts.intake(notified.append)
    group = a_pod_group("g")
    intake.pod_group(group.read(), deleted=False)
    intake.pod_group(group.version(2).reporting().read(), deleted=False)
    assert notified == [("default", "g")] * 2, "also of what changes nothing for the Job"
    assert parts.cache.pod_group("default", "g") is not None
