"""Clusters: one of the local control plane's, which this process starts and ends, or whatever a kubeconfig names."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.clusters.api import SCHEDULING_GROUP, Api, ApiError
from used_rights import record

ROOT = Path(__file__).parents[2]
SERVICE_ACCOUNT = ("muster-system", "muster")
ACCOUNT = "system:serviceaccount:muster-system:muster"
EXTERNAL = os.environ.get("MUSTER_E2E_KUBECONFIG")
"""Somebody else's cluster, on which Muster is installed: then the tests start none of their own."""


@dataclass
class Cluster:
    kubeconfig: Path
    name: str = ""
    """Name of the local cluster; empty for somebody else's."""
    scheduling_group: str = SCHEDULING_GROUP
    """The API group that Workloads and PodGroups are in."""

    @cached_property
    def api(self) -> Api:
        return Api(self.kubeconfig, self.scheduling_group)

    @cached_property
    def audit_log(self) -> Path:
        return Path(hack_cluster("path", "--name", self.name)) / "audit.log"

    def install_rights(self) -> None:
        """What `kubectl apply -f` does with the part of manifests/ that is about rights, and with those for `--dev`."""
        for document in rights():
            kind = document["kind"].lower() + "s"
            namespace = document["metadata"].get("namespace", "")
            try:
                self.api.create(kind, document, namespace)
            except ApiError as error:
                if error.status != 409:
                    raise

    def muster_kubeconfig(self) -> Path:
        """Logged in as Muster's ServiceAccount, with exactly the rights that it has."""
        if not self.name:
            pytest.skip("needs Muster's own login")
        return Path(hack_cluster("kubeconfig", "--name", self.name, "--service-account", "/".join(SERVICE_ACCOUNT)))

    def audit_position(self) -> int:
        """Where the API server's log ends now: `writes_by_muster` can begin here."""
        return self.audit_log.stat().st_size

    def writes_by_muster(self, since: int = 0) -> list[dict[str, Any]]:
        """Every change that Muster's account asked for, from the API server's own log."""
        writes = {"create", "update", "patch", "delete", "deletecollection"}
        return [call for call in self.calls_by_muster(since) if call["verb"] in writes]

    def calls_by_muster(self, since: int = 0) -> list[dict[str, Any]]:
        """Likewise, with what it only read. A line that was half written at that moment is left out."""
        with self.audit_log.open("rb") as log:
            if since:
                log.seek(since - 1)
                log.readline()
            whole, _, _unfinished = log.read().rpartition(b"\n")
        calls = [json.loads(line) for line in whole.splitlines()]
        return [call for call in calls if call["user"]["username"] == ACCOUNT]

    def restart(self, *flags: str) -> None:
        hack_cluster("restart", "--name", self.name, *flags)

    @contextmanager
    def frozen(self, component: str) -> Iterator[None]:
        """The component does nothing inside the block, and continues after it as if no time had passed."""
        report = json.loads(hack_cluster("status", "--name", self.name, "--json"))
        pid = report["components"][component]["pid"]
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def down(self) -> None:
        """Also if another owner, which shares it, has ended it already."""
        if self.name:
            record(self.audit_log)
            hack_cluster("down", "--name", self.name)


RIGHTS = ("namespace.yaml", "rbac.yaml", "webhooks.yaml", "dev-rbac.yaml")
"""Of manifests/: what Muster needs of a cluster, but for the processes."""


def rights() -> list[dict[str, Any]]:
    texts = [(ROOT / "manifests" / name).read_text() for name in RIGHTS]
    return [document for text in texts for document in yaml.safe_load_all(text)]


def start_cluster(purpose: str, *flags: str) -> Cluster:
    """A local cluster of our own, on which Muster may work."""
    cluster = bare_cluster(purpose, *flags)
    cluster.install_rights()
    return cluster


def bare_cluster(purpose: str, *flags: str) -> Cluster:
    """A local cluster that knows nothing of Muster. It goes when this process does, however that ends.

    Each one is audited: what Muster's account did on all of them is compared with its rights (hack/used_rights.py).
    """
    if EXTERNAL:
        pytest.skip("starts a cluster of its own")
    name = f"e2e-{purpose}-{os.getpid()}"
    hack_cluster("up", "--name", name, "--owner-pid", str(os.getpid()), "--audit", *flags)
    cluster = Cluster(Path(hack_cluster("kubeconfig", "--name", name)), name)
    assert cluster.audit_log  # read it while the cluster runs
    return cluster


def hack_cluster(*arguments: str) -> str:
    done = subprocess.run(
        [ROOT / "hack/cluster", *arguments], capture_output=True, text=True, timeout=3600, check=False
    )
    assert done.returncode == 0, f"hack/cluster {' '.join(arguments)}: {done.stderr}{done.stdout}"
    return done.stdout.strip()
