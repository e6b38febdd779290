"""The servers that the table runs on: the built-in API, and our CRDs in either group."""

import itertools
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.conformance.validation.rows import PRIORITIES, TEMPLATE, WORKLOAD, Kind, Object, template, workload
from tests.e2e.conftest import own_namespace
from tests.e2e.support.api import Api, ApiError
from tests.e2e.support.clusters import Cluster, start_cluster
from tests.e2e.support.profiles import somebody_elses

NATIVE, BUILT_IN_GROUP, OWN_GROUP = "native", "crds in scheduling.k8s.io", "crds in scheduling.muster.dev"
PROFILES = {BUILT_IN_GROUP: "crd", OWN_GROUP: "stock"}
GROUPS = {NATIVE: "scheduling.k8s.io", BUILT_IN_GROUP: "scheduling.k8s.io", OWN_GROUP: "scheduling.muster.dev"}


@dataclass
class Site:
    name: str
    cluster: Cluster
    namespace: str = ""
    reviewed: bool = False
    """Muster runs, and reviews PodGroups before the schema does. It names what is wrong in its own words."""
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def api(self) -> Api:
        return self.cluster.api

    @property
    def native(self) -> bool:
        return self.name == NATIVE

    @property
    def api_version(self) -> str:
        return f"{GROUPS[self.name]}/v1alpha2"

    def fresh_name(self) -> str:
        return f"row-{next(self._numbers)}"

    def path(self, kind: Kind, name: str = "", namespace: str | None = None) -> str:
        within = self.namespace if namespace is None else namespace
        place = f"/namespaces/{within}" if within else ""
        return f"/apis/{self.api_version}{place}/{kind}{'/' + name if name else ''}"

    def create(self, kind: Kind, spec: Object, namespace: str | None = None, **changes: Object | str) -> Object:
        body: Object = {
            "apiVersion": self.api_version,
            "kind": {"workloads": "Workload", "podgroups": "PodGroup"}[kind],
            "metadata": {"name": self.fresh_name()},
            "spec": spec,
            **changes,
        }
        return self.api._call("POST", self.path(kind, namespace=namespace), body=body)

    def get(self, kind: Kind, name: str) -> Object:
        return self.api._call("GET", self.path(kind, name))

    def update(self, kind: Kind, made: Object, part: str = "") -> Object:
        """Whoever else writes the object (a controller that makes claims, say) only costs another attempt."""
        name = made["metadata"]["name"]
        while True:
            try:
                return self.api._call("PUT", self.path(kind, name) + part, body=made)
            except ApiError as error:
                if error.status != 409:
                    raise
                made["metadata"]["resourceVersion"] = self.get(kind, name)["metadata"]["resourceVersion"]


@contextmanager
def prepared(name: str, cluster: Cluster) -> Iterator[Site]:
    """With a namespace, the Workload that the rows refer to, and the PriorityClasses where there can be any."""
    site = Site(name, cluster)
    if name != BUILT_IN_GROUP:
        for priority, value in PRIORITIES.items():
            if not cluster.api.find("priorityclasses", priority):
                cluster.api.create("priorityclasses", {"metadata": {"name": priority}, "value": value})
    for site.namespace in own_namespace(cluster.api):
        site.create("workloads", workload(template(TEMPLATE)), metadata={"name": WORKLOAD})
        yield site


@contextmanager
def somebody_elses_site(kubeconfig: str, name: str) -> Iterator[Site]:
    """A cluster on which Muster is installed: it has one of the APIs."""
    found = somebody_elses(kubeconfig)
    if (found.profile.native, found.profile.group) != (name == NATIVE, GROUPS[name]):
        pytest.skip(f"that cluster has another profile: {found.profile.name}")
    with prepared(name, found.cluster) as site:
        site.reviewed = not site.native
        yield site


@contextmanager
def crd_site(name: str) -> Iterator[Site]:
    """A cluster of the profile, with the CRDs that `muster crds install` chooses for it."""
    profile = PROFILES[name]
    cluster = start_cluster(f"rows-{profile}", "--profile", profile, "--nodes", "1")
    try:
        command = [
            str(Path(sys.executable).parent / "muster"),
            "crds",
            "install",
            "--kubeconfig",
            str(cluster.kubeconfig),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        assert GROUPS[name] in done.stdout
        with prepared(name, cluster) as site:
            yield site
    finally:
        cluster.down()
