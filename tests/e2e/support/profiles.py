"""A cluster of one API profile with Muster on it, and how pods of that profile say which group they are in."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.e2e.support.api import Api, Object
from tests.e2e.support.clusters import Cluster, start_cluster
from tests.e2e.support.command import muster as command
from tests.e2e.support.muster import Muster
from tests.e2e.support.objects import GROUPED_LABEL, POD_GROUP_ANNOTATION, gang_job, group_of
from tests.e2e.support.waiting import eventually
from tests.e2e.support.workers import worker

COLLECTOR_SECONDS = 120
"""The garbage collector asks twice a minute which kinds there are."""


@dataclass(frozen=True)
class Profile:
    name: str
    cluster: str
    """The profile of `hack/cluster`."""
    group: str
    flags: tuple[str, ...] = ()
    """More flags of `hack/cluster`."""

    @property
    def native(self) -> bool:
        return self.cluster == "native"

    @property
    def has_priority_classes(self) -> bool:
        return self.cluster != "crd"

    @property
    def built_in_guard(self) -> bool:
        """The server itself refuses to change a gang's parallelism, where it knows of the gang."""
        return self.native and not self.flags


NATIVE = Profile("native", "native", "scheduling.k8s.io")
WITHOUT_JOB_VALIDATION = replace(
    NATIVE,
    name="native-without-JobValidation",
    flags=("--apiserver-flag=--disable-admission-plugins=JobValidation",),
)
PROFILES = (
    NATIVE,
    Profile("crds-in-scheduling.k8s.io", "crd", "scheduling.k8s.io"),
    Profile("crds-in-scheduling.muster.dev", "stock", "scheduling.muster.dev"),
)


@dataclass(frozen=True)
class Site:
    profile: Profile
    cluster: Cluster
    process: Muster | None
    """None where Muster is installed already."""
    sentinel: str
    """A Workload without an owner, which the garbage collector removes as soon as it knows that kind."""

    @property
    def api(self) -> Api:
        return self.cluster.api

    @property
    def muster(self) -> Muster:
        if self.process is None:
            pytest.skip("needs Muster as a process of ours")
        return self.process

    def group_of(self, pod: Object) -> str | None:
        """The pod's group, in the only way that this profile has."""
        by_annotation = POD_GROUP_ANNOTATION in pod["metadata"].get("annotations", {})
        assert not (by_annotation and self.profile.native), "the built-in API needs no mark"
        assert self.profile.native or "schedulingGroup" not in pod["spec"], "this server has no such field"
        return group_of(pod)

    def member(self, name: str, group: str) -> Object:
        """A pod that joins by itself, without any Job."""
        pod: Object = {"metadata": {"name": name}, "spec": {"restartPolicy": "Never", "containers": [worker()]}}
        if self.profile.native:
            pod["spec"]["schedulingGroup"] = {"podGroupName": group}
        else:
            pod["metadata"] |= {"annotations": {POD_GROUP_ANNOTATION: group}, "labels": {GROUPED_LABEL: "true"}}
        return pod

    def preset_job(self, name: str, group: str, size: int = 4) -> Object:
        """A gang-shaped Job whose template names a group already."""
        if self.profile.native:
            return gang_job(name, size, pod={"schedulingGroup": {"podGroupName": group}})
        job = gang_job(name, size)
        job["spec"]["template"]["metadata"] = {
            "annotations": {POD_GROUP_ANNOTATION: group},
            "labels": {GROUPED_LABEL: "true"},
        }
        return job

    def wait_for_the_garbage_collector(self) -> None:
        """A kind that was installed a moment ago is not collected at first."""
        gone = f"the garbage collector knows {self.profile.group}"
        eventually(lambda: self.api.find("workloads", self.sentinel, "default") is None, gone, COLLECTOR_SECONDS)


@contextmanager
def begun(profile: Profile, folder: Path) -> Iterator[Site]:
    size = ("--nodes", "8", "--node-cpu", "64", "--kcm-qps", "500")
    purpose = "guard" if profile.flags else f"profile-{profile.cluster}"
    cluster = start_cluster(purpose, "--profile", profile.cluster, *size, *profile.flags)
    try:
        cluster = replace(cluster, scheduling_group=profile.group)
        if not profile.native:
            install_crds(cluster)
        sentinel = _without_owner(cluster.api)
        log = folder / "muster.log"
        with Muster(cluster.muster_kubeconfig(), cluster.api, log) as muster:
            yield Site(profile, cluster, muster, sentinel)
        assert "Traceback" not in log.read_text(), f"Muster logged a traceback: {log}"
    finally:
        cluster.down()


def somebody_elses(kubeconfig: str) -> Site:
    """A cluster on which Muster is installed already, and the profile that it is found to have."""
    cluster = Cluster(Path(kubeconfig))
    profile = next(each for each in PROFILES if _has(cluster.api, each))
    cluster = replace(cluster, scheduling_group=profile.group)
    return Site(profile, cluster, None, _without_owner(cluster.api))


def _has(api: Api, profile: Profile) -> bool:
    status, _ = api.raw(f"/apis/{profile.group}/v1alpha2/podgroups")
    by_crd = api.find("customresourcedefinitions", f"podgroups.{profile.group}") is not None
    return status == 200 and by_crd != profile.native


def install_crds(cluster: Cluster) -> None:
    answer = command("crds", "install", kubeconfig=cluster.kubeconfig)
    assert answer.code == 0, answer.err


def _without_owner(api: Api) -> str:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "00000000-0000-0000-0000-000000000000"}
    template = {"name": "workers", "schedulingPolicy": {"basic": {}}}
    body = {
        "metadata": {"generateName": "sentinel-", "ownerReferences": [owner]},
        "spec": {"podGroupTemplates": [template]},
    }
    return str(api.create("workloads", body, "default")["metadata"]["name"])
