"""A site: a cluster of one API profile, and Muster on it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.clusters.api import Api, Object
from tests.clusters.cluster import EXTERNAL, Cluster, start_cluster
from tests.clusters.command import muster as command
from tests.clusters.muster import Muster
from tests.clusters.objects import GROUPED_LABEL, POD_GROUP_ANNOTATION, gang_job, group_of
from tests.clusters.profiles import PROFILES, Profile
from tests.clusters.waiting import eventually
from tests.clusters.workers import worker

COLLECTOR_SECONDS = 120
"""The garbage collector asks twice a minute which kinds there are."""


@dataclass(frozen=True)
class Site:
    profile: Profile
    cluster: Cluster
    sentinel: str
    """A Workload without an owner, which the garbage collector removes as soon as it knows that kind."""
    process: Muster | None = None
    """The Muster that all tests on this site share. None where it is installed already, or each module has its own."""

    @property
    def external(self) -> bool:
        """Somebody else's cluster, on which Muster is installed."""
        return not self.cluster.name

    @property
    def api(self) -> Api:
        return self.cluster.api

    @property
    def muster(self) -> Muster:
        if self.external:
            pytest.skip("needs Muster as a process of ours")
        assert self.process is not None, "no Muster is shared here: ask for the fixture `muster`"
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
def site_of(profile: Profile, purpose: str, *size: str) -> Iterator[Site]:
    """A cluster of this profile. With MUSTER_E2E_KUBECONFIG it is that cluster, on which Muster is installed."""
    if EXTERNAL:
        yield _external(EXTERNAL, profile)
        return
    with started_site(profile, purpose, *size) as site:
        yield site


@contextmanager
def started_site(profile: Profile, purpose: str, *size: str) -> Iterator[Site]:
    """A local cluster of our own, on which Muster does not run yet."""
    cluster = start_cluster(purpose, "--profile", profile.cluster, *size, *profile.flags)
    try:
        if not profile.native:
            cluster = replace(cluster, scheduling_group=profile.group)
            assert profile.group in install_crds(cluster)
        yield Site(profile, cluster, _without_owner(cluster.api))
    finally:
        cluster.down()


@contextmanager
def muster_on(site: Site, folder: Path) -> Iterator[Muster | None]:
    """Muster, ready; None where it is installed already."""
    if site.external:
        yield None
        return
    log = folder / "muster.log"
    with Muster(site.cluster.muster_kubeconfig(), site.api, log) as process:
        yield process
    assert "Traceback" not in log.read_text(), f"Muster logged a traceback: {log}"


def install_crds(cluster: Cluster) -> str:
    """What `muster crds install` prints."""
    answer = command("crds", "install", kubeconfig=cluster.kubeconfig)
    assert answer.code == 0, answer.err
    return answer.out


def _external(kubeconfig: str, wanted: Profile) -> Site:
    """Skips the test if the cluster has another profile."""
    cluster = Cluster(Path(kubeconfig))
    found = next(each for each in PROFILES if _has(cluster.api, each))
    if found != wanted:
        pytest.skip(f"that cluster has another profile: {found.name}")
    cluster = replace(cluster, scheduling_group=found.group)
    return Site(found, cluster, _without_owner(cluster.api))


def _has(api: Api, profile: Profile) -> bool:
    status, _ = api.raw(f"/apis/{profile.group}/v1alpha2/podgroups")
    by_crd = api.find("customresourcedefinitions", f"podgroups.{profile.group}") is not None
    return status == 200 and by_crd != profile.native


def _without_owner(api: Api) -> str:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "00000000-0000-0000-0000-000000000000"}
    template = {"name": "workers", "schedulingPolicy": {"basic": {}}}
    body = {
        "metadata": {"generateName": "sentinel-", "ownerReferences": [owner]},
        "spec": {"podGroupTemplates": [template]},
    }
    return str(api.create("workloads", body, "default")["metadata"]["name"])
