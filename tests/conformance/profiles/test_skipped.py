"""Jobs that Muster skips cost no write, and neither the Jobs nor their pods get a mark of Muster."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from tests.clusters.api import Api, Object
from tests.clusters.audit import is_about, touches_jobs_or_pods
from tests.clusters.cluster import Cluster
from tests.clusters.muster import Muster
from tests.clusters.namespaces import own_namespace
from tests.clusters.objects import (
    all_pods,
    controlled_by,
    events_on,
    gang_job,
    group_of,
    is_bound,
    is_complete,
    is_running,
    job,
    pods_of,
)
from tests.clusters.pairs import assert_one_pair, pair_of
from tests.clusters.profiles import BUILT_IN_GROUP, NATIVE, OWN_GROUP
from tests.clusters.site import Site
from tests.clusters.waiting import eventually

pytestmark = pytest.mark.profiles(NATIVE, OWN_GROUP, full=[BUILT_IN_GROUP])

SIZE = 3
THEIR_GROUP = "theirs"
QUIET_SECONDS = 7
"""Longer than the list of everything that follows a start of Muster by five seconds."""


@dataclass(frozen=True)
class Bystander:
    """A Job that Muster must not touch, and what its pods are without Muster."""

    job: Object
    """What the user writes; each profile has its own way to name a group."""
    pods: int
    group: str | None = None
    in_kube_system: bool = False

    @property
    def name(self) -> str:
        return str(self.job["metadata"]["name"])


def indexed(name: str, parallelism: int, completions: int, **rest: Any) -> Object:
    return job(name, completionMode="Indexed", parallelism=parallelism, completions=completions, **rest)


FINISHED = Bystander(gang_job("finished", SIZE, run_seconds=0), SIZE)
BYSTANDERS = {
    "a Job that is not Indexed": Bystander(job("not-indexed", parallelism=SIZE, completions=SIZE), SIZE),
    "an Indexed Job of a single pod": Bystander(indexed("single", 1, 1), 1),
    "an Indexed Job with more completions than parallelism": Bystander(indexed("two-of-five", 2, 5), 2),
    "a Job that a controller owns": Bystander(gang_job("owned", SIZE), SIZE),
    "a Job that another controller manages": Bystander(
        gang_job("managed-by", SIZE, managedBy="example.com/another"), pods=0
    ),
    "a Job whose template names a group": Bystander(gang_job("preset", SIZE), SIZE, THEIR_GROUP),
    "a Job in kube-system": Bystander(gang_job("muster-e2e-system", SIZE), SIZE, in_kube_system=True),
    "a Job that finished before Muster came": FINISHED,
}
STANDS_ASIDE = {
    "a template that sets nodeName": (gang_job("pinned", SIZE, pod={"nodeName": "node-0"}), "NodeNamePreset"),
    "a template that asks for another scheduler": (
        gang_job("other-scheduler", SIZE, pod={"schedulerName": "volcano"}),
        "OtherScheduler",
    ),
}
CRON_JOBS = ("nightly", "weekly")
WRITERS = {"kube-controller-manager", "kube-scheduler", "kwok", "python-urllib3"}
"""Who may have written to a Job or a pod: the cluster itself, and this test."""


@dataclass(frozen=True)
class Scene:
    """All the Jobs of this file, side by side, after Muster has seen every one of them."""

    site: Site
    namespace: str
    began: int

    @property
    def api(self) -> Api:
        return self.site.api

    def namespace_of(self, bystander: Bystander) -> str:
        return "kube-system" if bystander.in_kube_system else self.namespace

    def writes(self) -> list[Object]:
        return self.site.cluster.writes_by_muster(self.began)

    def jobs(self) -> list[Object]:
        return self.api.list("jobs", self.namespace) + self.api.list("jobs", "kube-system")

    def events_of_muster(self, name: str, namespace: str) -> list[Object]:
        return [e for e in events_on(self.api, namespace, name) if e["source"].get("component") == "muster"]


@pytest.fixture(scope="module")
def scene(site: Site, local: Cluster) -> Iterator[Scene]:
    for namespace in own_namespace(site.api):
        scene = Scene(site, namespace, local.audit_position())
        stand_aside_before_and_after_a_restart(scene, site.muster)
        for name in CRON_JOBS:
            start_cron_job(scene, name)
        create_bystanders(scene)
        yield from after_a_fence(scene)


def stand_aside_before_and_after_a_restart(scene: Scene, muster: Muster) -> None:
    """So that "once" means once, and not once per life. The Job that finishes unseen does so in between."""
    for manifest, _reason in STANDS_ASIDE.values():
        scene.api.create("jobs", manifest, scene.namespace)
        name = manifest["metadata"]["name"]
        eventually(partial(scene.events_of_muster, name, scene.namespace), f"the event on {name} is posted")
    with muster.away():
        scene.api.create("jobs", FINISHED.job, scene.namespace)
        eventually(lambda: is_complete(scene.api, scene.namespace, FINISHED.name), "the Job finishes without Muster")


def start_cron_job(scene: Scene, name: str) -> None:
    """A CronJob whose last run, once a year, was missed: the CronJob controller makes that Job at once."""
    template = {"spec": gang_job(name, SIZE)["spec"]}
    scene.api.create(
        "cronjobs",
        {"metadata": {"name": name}, "spec": {"schedule": "0 0 1 1 *", "jobTemplate": template}},
        scene.namespace,
    )
    long_ago = {"status": {"lastScheduleTime": "2020-06-01T00:00:00Z"}}
    scene.api.patch("cronjobs", name, long_ago, scene.namespace, part="/status")


def create_bystanders(scene: Scene) -> None:
    api, namespace = scene.api, scene.namespace
    owner = api.create("configmaps", {"metadata": {"name": "owner"}}, namespace)
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "controller": True}
    group = {"metadata": {"name": THEIR_GROUP}, "spec": {"schedulingPolicy": {"basic": {}}}}
    api.create("podgroups", group, namespace)
    for bystander in BYSTANDERS.values():
        if bystander is FINISHED:
            continue
        wanted: Object = bystander.job
        metadata: Object = {"name": bystander.name}
        if bystander.group:
            wanted = scene.site.preset_job(bystander.name, bystander.group, bystander.pods)
        if bystander.name == "owned":
            metadata["ownerReferences"] = [{**reference, "uid": owner["metadata"]["uid"]}]
        api.create("jobs", {**wanted, "metadata": metadata}, scene.namespace_of(bystander))


def after_a_fence(scene: Scene) -> Iterator[Scene]:
    """A gang that comes last: once Muster is done with it, it has been through all the others."""
    scene.api.create("jobs", gang_job("fence", SIZE), scene.namespace)
    eventually(
        lambda: len(scene.events_of_muster("fence", scene.namespace)) == 3, "the gang that came last has its events"
    )
    for bystander in BYSTANDERS.values():
        eventually(partial(pods_are_there, scene, bystander), f"the pods of {bystander.name} run")
    time.sleep(QUIET_SECONDS)
    try:
        yield scene
    finally:
        for bystander in BYSTANDERS.values():
            if bystander.in_kube_system:
                scene.api.delete("jobs", bystander.name, "kube-system")


def pods_are_there(scene: Scene, bystander: Bystander) -> bool:
    pods = pods_of(scene.api, scene.namespace_of(bystander), bystander.name)
    return len(pods) == bystander.pods and all(is_running(p) or p["status"]["phase"] == "Succeeded" for p in pods)


@pytest.mark.parametrize("which", BYSTANDERS)
def test_a_job_that_muster_skips_runs_as_without_muster_and_costs_no_write(scene: Scene, which: str) -> None:
    bystander = BYSTANDERS[which]
    namespace, name = scene.namespace_of(bystander), bystander.name
    made = scene.api.get("jobs", name, namespace)
    assert pods_are_there(scene, bystander)
    assert {group_of(pod) for pod in pods_of(scene.api, namespace, name)} <= {bystander.group}
    assert pair_of(scene.api, namespace, made) == ([], [])
    assert not scene.events_of_muster(name, namespace)
    assert not [write for write in scene.writes() if is_about(write, namespace, name)]


@pytest.mark.parametrize("why", STANDS_ASIDE)
def test_muster_stands_aside_with_one_warning(scene: Scene, why: str) -> None:
    manifest, reason = STANDS_ASIDE[why]
    name = manifest["metadata"]["name"]
    made = scene.api.get("jobs", name, scene.namespace)
    pods = pods_of(scene.api, scene.namespace, name)
    assert [group_of(pod) for pod in pods] == [None] * SIZE
    (event,) = scene.events_of_muster(name, scene.namespace)
    assert (event["type"], event["reason"], event["count"]) == ("Warning", "StandingAside", 1)
    assert reason in event["message"]
    assert pair_of(scene.api, scene.namespace, made) == ([], [])


@pytest.mark.parametrize("cron_job", CRON_JOBS)
def test_a_job_that_a_cron_job_made_gets_one_pair(scene: Scene, cron_job: str) -> None:
    owner = scene.api.get("cronjobs", cron_job, scene.namespace)["metadata"]["uid"]
    (made,) = controlled_by(scene.api.list("jobs", scene.namespace), owner)
    name = made["metadata"]["name"]
    eventually(lambda: all_pods(scene.api, scene.namespace, name, SIZE, is_bound), "all its pods are bound")
    assert_one_pair(scene.api, scene.namespace, made, SIZE)


def test_no_job_and_no_pod_was_ever_written_by_muster(scene: Scene) -> None:
    assert scene.writes(), "the log knows Muster's account"
    assert not [write for write in scene.writes() if touches_jobs_or_pods(write)]
    pods = scene.api.list("pods", scene.namespace) + scene.api.list("pods", "kube-system")
    managers = {field["manager"] for thing in (*scene.jobs(), *pods) for field in thing["metadata"]["managedFields"]}
    assert managers <= WRITERS


def test_no_job_bears_a_finalizer_an_annotation_or_a_label_of_muster(scene: Scene) -> None:
    """The server itself copies the labels of the template to a Job that has none: there they are the user's."""
    marks = [
        mark
        for found in scene.jobs()
        if found["metadata"]["name"] != "preset"
        for namespace in ("finalizers", "annotations", "labels")
        for mark in found["metadata"].get(namespace, ())
    ]
    assert marks, "Jobs bear labels of the Job controller, at least"
    assert not [mark for mark in marks if "muster" in mark or "kopf" in mark]
