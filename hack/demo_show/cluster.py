"""The demo's own local cluster with Muster. Nothing is left when the demo is over."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from demo_show.errors import DemoError

REPOSITORY = Path(__file__).parents[2]
ACCOUNT = "muster-system/muster"
OWN_MUSTER = Path(sys.executable).with_name("muster")
NODES = 4
NODE_CPUS = 4
_CLUSTER_COMMAND = str(REPOSITORY / "hack" / "cluster")
_SHAPE = ("--nodes", str(NODES), "--node-cpu", str(NODE_CPUS))
_MUSTER_GRACE = 6.0


@dataclass(slots=True)
class DemoCluster:
    """Owns the local cluster and the process of Muster, from `start_cluster` to `end`. Runs `hack/cluster` for both."""

    name: str
    muster: Path
    """The `muster` command that the demo runs."""
    kept: bool = False
    """Whether the cluster and Muster stay up after the demo."""
    _muster: subprocess.Popen[bytes] | None = None

    @property
    def kubeconfig(self) -> Path:
        return Path(self._ask("kubeconfig"))

    @property
    def muster_log(self) -> Path:
        return Path(self._ask("path")) / "logs" / "muster.log"

    @property
    def muster_ended(self) -> bool:
        return self._muster is not None and self._muster.poll() is not None

    def refuse_if_taken(self) -> None:
        status = self._run("status", "--json", check=False)
        state = json.loads(status)["state"] if status else "absent"
        if state not in ("absent", "broken"):
            raise DemoError(
                f"A demo is already running in the local cluster {self.name!r}: "
                f"`hack/cluster down --name {self.name}` ends it."
            )

    def start_cluster(self) -> None:
        # Its output goes to the terminal: the first build of the control plane takes minutes.
        command = [_CLUSTER_COMMAND, "up", "--name", self.name, *_SHAPE, "--owner-pid", str(os.getpid())]
        if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode != 0:
            raise DemoError("The local cluster did not start.")

    def start_muster(self) -> None:
        rights = [REPOSITORY / "manifests" / name for name in ("namespace.yaml", "rbac.yaml", "dev-rbac.yaml")]
        self._run("kubectl", "apply", *(f"--filename={path}" for path in rights))
        account = self._ask("kubeconfig", "--service-account", ACCOUNT)
        command = [str(self.muster), "run", "--dev", "--kubeconfig", account]
        with self.muster_log.open("ab") as log:
            self._muster = subprocess.Popen(
                [sys.executable, "-m", "demo_show.sidecar", self.name, *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C goes to the demo only, which then stops Muster
            )

    def keep(self) -> None:
        """Make the cluster and Muster independent of this process."""
        self._run("up", *_SHAPE)
        self.kept = True

    def end(self) -> None:
        if self._muster is not None and self._muster.poll() is None:
            self._muster.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._muster.wait(_MUSTER_GRACE)
        self._run("down", check=False)

    def _ask(self, *arguments: str) -> str:
        return self._run(*arguments).strip()

    def _run(self, verb: str, *arguments: str, check: bool = True) -> str:
        command = [_CLUSTER_COMMAND, verb, "--name", self.name, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, start_new_session=True)
        if check and done.returncode != 0:
            raise DemoError(done.stderr.strip() or f"`{' '.join(command)}` failed.")
        return done.stdout


@contextlib.contextmanager
def opened(name: str, muster: Path, say: Callable[[str], None]) -> Iterator[DemoCluster]:
    """The cluster. It is taken down at the end, unless `keep` was called."""
    cluster = DemoCluster(name, muster)
    cluster.refuse_if_taken()
    try:
        say(f"Starting a local control plane (etcd, kube-apiserver, controller-manager, scheduler) and {NODES} nodes.")
        cluster.start_cluster()
        say("Starting Muster.")
        cluster.start_muster()
        yield cluster
    finally:
        if not cluster.kept:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)  # a second Ctrl-C must not leave half of it behind
            say("Removing the cluster and Muster.")
            cluster.end()
