"""A cluster of one API profile with Muster on it, and how pods of that profile say which group they are in."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tests.e2e.support.api import Api, Object
from tests.e2e.support.clusters import Cluster, start_cluster
from tests.e2e.support.command import muster as command
from tests.e2e.support.muster import Muster
from tests.e2e.support.objects import gang_job, group_of
from tests.e2e.support.waiting import eventually

ANNOTATION, LABEL = "muster.dev/pod-group", "muster.dev/grouped"
COLLECTOR_SECONDS = 120
"""The garbage collector asks twice a minute which kinds there are."""


@dataclass(frozen=True)
class Profile:
    name: str
    cluster: str
    """The profile of `hack/cluster`."""
    group: str

    @property
    def native(self) -> bool:
        return self.cluster == "native"

    @property
    def has_priority_classes(self) -> bool:
        return self.cluster != "crd"


PROFILES = (
    Profile("native", "native", "scheduling.k8s.io"),
    Profile("crds-in-scheduling.k8s.io", "crd", "scheduling.k8s.io"),
    Profile("crds-in-scheduling.muster.dev", "stock", "scheduling.muster.dev"),
)


@dataclass(frozen=True)
class Site:
    profile: Profile
    api: Api
    muster: Muster
    sentinel: str
    """A Workload without an owner, which the garbage collector removes as soon as it knows that kind."""

    def group_of(self, pod: Object) -> str | None:
        """The pod's group, in the only way that this profile has."""
        metadata = pod["metadata"]
        noted = metadata.get("annotations", {}).get(ANNOTATION)
        label = metadata.get("labels", {}).get(LABEL)
        if self.profile.native:
            assert (noted, label) == (None, None), "the built-in API needs no mark"
            return group_of(pod)
        assert label == ("true" if noted else None), "the annotation and the label go together"
        assert "schedulingGroup" not in pod["spec"], "this server has no such field"
        return str(noted) if noted else None

    def member(self, name: str, group: str) -> Object:
        """A pod that joins by itself, without any Job."""
        pod: Object = {"metadata": {"name": name}, "spec": {"containers": [{"name": "worker", "image": "worker"}]}}
        if self.profile.native:
            pod["spec"]["schedulingGroup"] = {"podGroupName": group}
        else:
            pod["metadata"] |= {"annotations": {ANNOTATION: group}, "labels": {LABEL: "true"}}
        return pod

    def preset_job(self, name: str, group: str) -> Object:
        """A gang-shaped Job whose template names a group already."""
        if self.profile.native:
            return gang_job(name, pod={"schedulingGroup": {"podGroupName": group}})
        job = gang_job(name)
        job["spec"]["template"]["metadata"] = {"annotations": {ANNOTATION: group}, "labels": {LABEL: "true"}}
        return job

    def wait_for_the_garbage_collector(self) -> None:
        """A kind that was installed a moment ago is not collected at first."""
        gone = f"the garbage collector knows {self.profile.group}"
        eventually(lambda: self.api.find("workloads", self.sentinel, "default") is None, gone, COLLECTOR_SECONDS)


@contextmanager
def begun(profile: Profile, folder: Path) -> Iterator[Site]:
    cluster = start_cluster(
        f"profile-{profile.cluster}", "--profile", profile.cluster, "--nodes", "4", "--node-cpu", "64"
    )
    try:
        cluster = replace(cluster, scheduling_group=profile.group)
        if not profile.native:
            install_crds(cluster)
        sentinel = _without_owner(cluster.api)
        log = folder / "muster.log"
        with Muster(cluster.muster_kubeconfig(), cluster.api, log) as muster:
            yield Site(profile, cluster.api, muster, sentinel)
        assert "Traceback" not in log.read_text(), f"Muster logged a traceback: {log}"
    finally:
        cluster.down()


def install_crds(cluster: Cluster) -> None:
    answer = command("crds", "install", kubeconfig=cluster.kubeconfig)
    assert answer.code == 0, answer.err


def _without_owner(api: Api) -> str:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "00000000-0000-0000-0000-000000000000"}
    template = {"name": "workers", "schedulingPolicy": {"basic": {}}}
    body = {"metadata": {"name": "sentinel", "ownerReferences": [owner]}, "spec": {"podGroupTemplates": [template]}}
    return str(api.create("workloads", body, "default")["metadata"]["name"])
