"""Whose an object is: by reference and UID, never by name alone."""

import pytest

from muster.core.ownership import controls, is_leftover, pod_groups_of, serves, workloads_of
from tests.builders import PodGroupBuilder, WorkloadBuilder, a_gang, a_pod_group, a_workload

JOB = a_gang("train").uid("now")
EARLIER = a_gang("train").uid("before")


@pytest.mark.parametrize(
    ("workload", "counts"),
    [
        pytest.param(a_workload().describing(JOB).controlled_by(JOB), True, id="ours"),
        pytest.param(a_workload().describing(JOB), True, id="a user's own, without an owner"),
        pytest.param(
            a_workload().describing(JOB).owned_by("apps/v1", "Deployment", "x", "x-uid"),
            True,
            id="controlled by something that is not a Job",
        ),
        pytest.param(a_workload().describing(JOB).controlled_by(EARLIER), False, id="an earlier Job's leftover"),
        pytest.param(
            a_workload().describing(JOB).owned_by("batch/v1", "Job", "train", "before", controller=False),
            True,
            id="an earlier Job as a plain owner proves nothing",
        ),
        pytest.param(
            a_workload().describing(JOB).owned_by("other.dev/v1", "Job", "train", "x"),
            True,
            id="a Job of another API group is no Job",
        ),
        pytest.param(a_workload("train-7699b9c659"), False, id="a name alone"),
        pytest.param(a_workload().controlled_by(JOB), False, id="ours by owner, but it describes nobody"),
        pytest.param(a_workload().describing(a_gang("other")), False, id="another Job's"),
        pytest.param(a_workload().describing(JOB).in_namespace("elsewhere"), False, id="in another namespace"),
        pytest.param(a_workload().referring_to("batch", "job", "train"), False, id="kind in lower case"),
        pytest.param(a_workload().referring_to("", "Job", "train"), False, id="no API group"),
        pytest.param(a_workload().referring_to("batch", "CronJob", "train"), False, id="a CronJob of that name"),
    ],
)
def test_a_workload_belongs_to_a_job_by_reference(workload: WorkloadBuilder, counts: bool) -> None:
    assert bool(workloads_of(JOB.view(), [workload.read()])) is counts


@pytest.mark.parametrize(
    ("group", "counts"),
    [
        pytest.param(a_pod_group().naming_workload("wl").controlled_by(JOB), True, id="ours"),
        pytest.param(a_pod_group().naming_workload("wl"), True, id="a user's own"),
        pytest.param(a_pod_group().naming_workload("wl").controlled_by(EARLIER), False, id="an earlier Job's leftover"),
        pytest.param(a_pod_group().naming_workload("other"), False, id="made from another Workload"),
        pytest.param(a_pod_group("wl"), False, id="made from none, however it is named"),
    ],
)
def test_a_pod_group_belongs_to_a_workload_by_reference(group: PodGroupBuilder, counts: bool) -> None:
    assert bool(pod_groups_of(JOB.view(), a_workload("wl").read(), [group.read()])) is counts


def test_a_workload_that_is_being_deleted_counts_only_if_there_is_no_other() -> None:
    going = a_workload("going").describing(JOB).being_deleted().read()
    staying = a_workload("staying").describing(JOB).read()
    assert workloads_of(JOB.view(), [going, staying]) == [staying]
    assert workloads_of(JOB.view(), [going]) == [going]


def test_control_is_by_uid() -> None:
    assert controls(JOB.view(), a_pod_group().controlled_by(JOB).read().metadata)
    assert not controls(JOB.view(), a_pod_group().controlled_by(EARLIER).read().metadata)
    assert not controls(JOB.view(), a_pod_group().read().metadata)
    assert not is_leftover(a_pod_group().read().metadata, JOB.view())


WANTED_WORKLOAD = a_workload("wl").describing(JOB).controlled_by(JOB)
WANTED_GROUP = a_pod_group("g").naming_workload("wl").controlled_by(JOB)
NAME_TAKEN: dict[str, tuple[WorkloadBuilder | PodGroupBuilder, bool]] = {
    "a Workload that another replica made": (WANTED_WORKLOAD, True),
    "a Workload that a user made for the Job": (a_workload("wl").describing(JOB), True),
    "a Workload of an earlier Job": (a_workload("wl").describing(JOB).controlled_by(EARLIER), False),
    "a Workload that describes no Job": (a_workload("wl"), False),
    "a PodGroup that another replica made": (WANTED_GROUP, True),
    "a PodGroup that a user made from the Workload": (a_pod_group("g").naming_workload("wl"), True),
    "a PodGroup of an earlier Job": (a_pod_group("g").naming_workload("wl").controlled_by(EARLIER), False),
    "a PodGroup that was made from another Workload": (a_pod_group("g").naming_workload("other"), False),
}


@pytest.mark.parametrize(("found", "expected"), NAME_TAKEN.values(), ids=NAME_TAKEN)
def test_what_has_the_name_already_serves_if_it_is_there_for_the_same_job(
    found: WorkloadBuilder | PodGroupBuilder, expected: bool
) -> None:
    wanted = WANTED_WORKLOAD if isinstance(found, WorkloadBuilder) else WANTED_GROUP
    assert serves(found.read(), wanted.read(), JOB.view()) is expected
    assert not serves(found.read(), wanted.read(), None)
