"""Which Jobs still need the pod webhook."""

from collections.abc import Sequence

import pytest

from muster.core.drain import JobPod, unfinished
from tests.builders import JobBuilder, a_gang


def gang() -> JobBuilder:
    return a_gang("train", pods=4).uid("uid")


def member(lives: bool = True, succeeded: bool = False, bound: bool = False) -> JobPod:
    return JobPod("group", lives, succeeded, bound)


WAITS, RUNS = member(), member(bound=True)
DONE, FAILED, GOING = member(lives=False, succeeded=True), member(lives=False), member(lives=False, bound=True)
PLAIN = JobPod("", lives=True, succeeded=False, bound=True)
COUNTED = gang().with_status(failed=1)

LACKING = {
    "no pod yet": (gang(), True, [], "default/train (0 of 4 pods)"),
    "the first": (gang(), True, [WAITS], "default/train (1 of 4 pods)"),
    "its PodGroup is somebody else's": (gang(), False, [WAITS, WAITS], "default/train (2 of 4 pods)"),
    "bound one by one, where nobody holds them together": (gang(), True, [RUNS], "default/train (1 of 4 pods)"),
    "pods that are being deleted do not count": (gang(), True, [GOING] * 4, "default/train (0 of 4 pods)"),
    "it starts again as a whole": (COUNTED, True, [FAILED] * 4 + [WAITS], "default/train (1 of 4 pods)"),
    "all failed, and none is back": (COUNTED, True, [FAILED] * 4, "default/train (0 of 4 pods)"),
}


@pytest.mark.parametrize("case", LACKING)
def test_the_drain_waits_for_an_unfinished_gang(case: str) -> None:
    job, formed, pods, description = LACKING[case]
    found = unfinished(job.view(), formed, pods)
    assert found is not None
    assert str(found) == description
    assert found.begun == any(pod.lives for pod in pods)


CONTENT: dict[str, tuple[JobBuilder, bool, Sequence[JobPod]]] = {
    "it has all its pods": (gang(), True, [WAITS] * 4),
    "some have done their part": (gang(), True, [DONE, DONE, RUNS, RUNS]),
    "it never became a gang": (gang(), False, []),
    "its pods are plain": (gang(), False, [PLAIN]),
    "its pods are plain, and its PodGroup came too late": (gang(), True, [PLAIN]),
    "it has finished": (gang().with_status(conditions=[{"type": "Complete", "status": "True"}]), True, [DONE]),
    "it is suspended": (gang().suspended(), True, []),
    "it is being deleted": (gang().being_deleted(), True, [WAITS]),
    "one has failed, and the others run": (COUNTED, True, [FAILED, RUNS, RUNS, RUNS]),
    "its template names the group": (gang().with_pods(schedulingGroup={"podGroupName": "own"}), False, [WAITS]),
}


@pytest.mark.parametrize("case", CONTENT)
def test_the_drain_does_not_wait_for_other_jobs(case: str) -> None:
    job, formed, pods = CONTENT[case]
    assert unfinished(job.view(), formed, pods) is None
