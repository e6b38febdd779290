"""The scenarios. The sweeps repeat each of them with other faults."""

from dataclasses import replace
from typing import Any

import pytest

from muster.api.job import QUEUE_NAME, SCHEDULING_ANNOTATION
from muster.api.keys import Uid
from muster.api.profile import CRD_IN_OWN_GROUP
from muster.core.naming import pod_group_name, template_name, workload_name
from muster.core.policy import Policy, ReleaseOnSuspend
from tests.builders import JobBuilder, Object, a_gang, a_job, a_pod, a_pod_group, a_workload
from tests.fake_cluster import USER
from tests.faults.world import Process, Scenario, World

FIRST, SECOND = "uid-first", "uid-second"


def gang(uid: str = FIRST) -> JobBuilder:
    return a_gang("train", pods=3).uid(uid)


def delete_job(world: World) -> None:
    if ("jobs", "default", "train") in world.cluster.objects:
        world.cluster.remove("jobs", "default", "train", USER)


def recreate_job(world: World) -> None:
    """Never with a UID that was there before."""
    delete_job(world)
    before = sum(change.plural == "jobs" and change.verb == "ADDED" for change in world.cluster.history)
    world.cluster.apply(gang(SECOND if before == 1 else f"{SECOND}-{before}"))


def _resume(world: World) -> None:
    if ("jobs", "default", "train") in world.cluster.objects:
        world.cluster.update("jobs", "default", "train", lambda job: job["spec"].update(suspend=False), USER)


def _wish_something_else(world: World) -> None:
    def change(job: Object) -> None:
        job["metadata"]["annotations"] = {SCHEDULING_ANNOTATION: "policy: {basic: {}}"}

    if ("jobs", "default", "train") in world.cluster.objects:
        world.cluster.update("jobs", "default", "train", change, USER)


def _suspend(world: World) -> None:
    if ("jobs", "default", "train") in world.cluster.objects:
        world.cluster.update("jobs", "default", "train", lambda job: job["spec"].update(suspend=True), USER)


def _admit_two(world: World) -> None:
    """As a queue does it: only a Job with its label, while it is suspended. Any other one is just resumed."""
    job = world.cluster.objects.get(("jobs", "default", "train"))
    if job and job["spec"].get("suspend") and QUEUE_NAME in (job["metadata"].get("labels") or {}):
        _resize(world, 2)
    _resume(world)


def _resize(world: World, pods: int) -> None:
    if ("jobs", "default", "train") in world.cluster.objects:
        counts = {"parallelism": pods, "completions": pods}
        world.cluster.update("jobs", "default", "train", lambda job: job["spec"].update(counts), USER)


def _restart(world: World) -> None:
    for process in world.processes:
        process.end()
    world.processes = [type(process)(world, process.number) for process in world.processes]


def _restart_one(world: World) -> None:
    world.processes[0].end()
    world.processes[0] = Process(world)


_NAME = workload_name("train", Uid(FIRST))
_NEXT_NAME = workload_name("train", Uid(FIRST), collision=1)
_GROUP_OF_NEXT = pod_group_name(_NEXT_NAME, template_name("train"))
_EARLIER = gang("uid-earlier")
_LEFTOVER = a_workload("leftover").uid("l").ours().describing(_EARLIER).controlled_by(_EARLIER)
_OWN = a_workload("own").uid("own-uid").describing(gang()).gang(3)

CONTROLLER_FIRST = Scenario("the controller comes first", (gang(),), pods_from_round=1)
WEBHOOK_ONLY = Scenario("the webhook is on its own", (gang(),), watching=False)
RACE = Scenario("controller and webhook race", (gang(),), racing=True)
REPLICAS = Scenario("two replicas race", (gang(),), racing=True, replicas=2)
ONE_RESTARTS = Scenario(
    "one of two replicas restarts", (gang(),), replicas=2, pods_from_round=1, script={1: _restart_one}
)
DIFFERENT_SETTINGS = replace(
    REPLICAS, name="two replicas with different settings", policies=(Policy(), Policy(scheduler_names=frozenset()))
)
RESTART = Scenario("a restart midway", (gang(),), pods_from_round=2, script={1: _restart})
OWN_WORKLOAD = Scenario("a user's own Workload", (gang(), _OWN), racing=True, creates=1)
OWN_PAIR = Scenario(
    "a user's own pair",
    (gang(), _OWN, a_pod_group("own-group").uid("g").made_from(_OWN)),
    racing=True,
    creates=0,
)
SQUATTED = Scenario(
    "both names are squatted",
    (gang(), a_workload(_NAME).uid("s1"), a_pod_group(_GROUP_OF_NEXT).uid("s2")),
    racing=True,
)
RECREATED = Scenario(
    "the Job is recreated while the collector is paused",
    (gang(),),
    creates=4,
    collector_lag=6,
    script={4: recreate_job},
)
LEFTOVER = Scenario(
    "an earlier Job left its pair behind",
    (
        _LEFTOVER,
        gang(),
        a_pod_group("leftover-group").uid("lg").ours().made_from(_LEFTOVER).controlled_by(_EARLIER),
    ),
    racing=True,
    collector_lag=3,
)
RESUMED = Scenario("a suspended Job is resumed", (gang().suspended(),), script={2: _resume})
PLAIN_PODS = Scenario(
    "the Job had a plain pod when Muster came",
    (gang(), a_pod("old").uid("p").of(gang())),
    racing=True,
    creates=0,
)
NEIGHBOURS = Scenario(
    "a plain Job and another gang beside it",
    (gang(), a_gang("other", pods=2).uid("o"), a_job("plain").uid("q").having(parallelism=2)),
    racing=True,
    creates=4,
)
CHANGED_MIND = Scenario(
    "a Job changes its mind while its gang is formed",
    (gang().asking("policy: {gang: {minCount: 2}}"),),
    racing=True,
    script={1: _wish_something_else},
)

ALL = (
    CONTROLLER_FIRST,
    WEBHOOK_ONLY,
    RACE,
    REPLICAS,
    ONE_RESTARTS,
    RESTART,
    OWN_WORKLOAD,
    OWN_PAIR,
    SQUATTED,
    RECREATED,
    LEFTOVER,
    RESUMED,
    PLAIN_PODS,
    NEIGHBOURS,
)

LOST_AFTER_SUCCESS = Scenario(
    "a pod is lost after another index has succeeded", (gang(),), creates=3, fates={0: "Succeeded", 1: "Failed"}
)
ALL_LOST_AFTER_SUCCESS = Scenario(
    "the rest of the gang is lost after one index has succeeded",
    (gang(),),
    creates=3,
    racing=True,
    fates={0: "Succeeded", 1: "Failed", 2: "Failed"},
)
RESIZING_REPLICAS = replace(LOST_AFTER_SUCCESS, name="two replicas resize", racing=True, replicas=2)
RESIZE_OF_OWN_WORKLOAD = replace(
    LOST_AFTER_SUCCESS, name="a gang of a user's own Workload is resized", start=(gang(), _OWN), creates=2
)
RESUMED_AFTER_SUCCESS = Scenario(
    "a Job is suspended and resumed after one index has succeeded",
    (gang(),),
    creates=3,
    fates={0: "Succeeded"},
    script={4: _suspend, 6: _resume},
)
EVICTED = Scenario(
    "a Job of a queue is evicted and admitted again",
    (gang().labelled(**{QUEUE_NAME: "team"}),),
    creates=3,
    releases=True,
    script={2: _suspend, 4: _resume},
)
EVICTED_REPLICAS = replace(EVICTED, name="two replicas, and a Job of a queue is evicted", racing=True, replicas=2)
ADMITTED_IN_PART = replace(
    EVICTED_REPLICAS, name="a Job of a queue is evicted and comes back smaller", script={2: _suspend, 4: _admit_two}
)
RELEASES: list[Any] = [
    EVICTED,
    EVICTED_REPLICAS,
    *(
        pytest.param(story, id=str(story), marks=pytest.mark.full)
        for story in (
            ADMITTED_IN_PART,
            replace(EVICTED_REPLICAS, name="the same, with CRDs", profile=CRD_IN_OWN_GROUP),
            replace(
                EVICTED_REPLICAS,
                name="two replicas, and every suspended Job loses its PodGroup",
                start=(gang(),),
                policies=(Policy(release_on_suspend=ReleaseOnSuspend.POD_GROUP),),
            ),
            replace(EVICTED, name="evicted, and the streams are down", watching=False, creates=2),
        )
    ),
]
"""Scenarios in which the PodGroup of a suspended Job is released and recreated."""

RESIZES: list[Any] = [
    LOST_AFTER_SUCCESS,
    RESIZING_REPLICAS,
    *(
        pytest.param(story, id=str(story), marks=pytest.mark.full)
        for story in (
            ALL_LOST_AFTER_SUCCESS,
            RESIZE_OF_OWN_WORKLOAD,
            RESUMED_AFTER_SUCCESS,
            replace(RESIZING_REPLICAS, name="two replicas resize, with CRDs", profile=CRD_IN_OWN_GROUP),
        )
    ),
]
"""Scenarios in which a gang is resized. Two of them show most of what can go wrong."""

WITH_CRDS = tuple(
    replace(story, name=f"{story.name}, with CRDs", profile=CRD_IN_OWN_GROUP)
    for story in (WEBHOOK_ONLY, REPLICAS, RECREATED, PLAIN_PODS)
)
"""Scenarios that depend most on the PodGroup that pods name, in the CRD profiles."""
