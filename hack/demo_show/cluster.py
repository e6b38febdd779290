"""Where the demo takes place: a local cluster of its own with Muster in it, and nothing left when it is over."""

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
    name: str
    muster: Path
    """The command that is shown."""
    kept: bool = False
    """Set once the cluster and Muster shall stay."""
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
        told = self._run("status", "--json", check=False)
        state = json.loads(told)["state"] if told else "absent"
        if state not in ("absent", "broken"):
            raise DemoError(
                f"A demo is up already, in the local cluster {self.name!r}: "
                f"`hack/cluster down --name {self.name}` ends it."
            )

    def start_cluster(self) -> None:
        # Its own words go to the terminal: the first time, it builds the control plane for minutes.
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
                start_new_session=True,  # the terminal's Ctrl-C is for the demo, which then ends Muster in order
            )

    def keep(self) -> None:
        """From now on the cluster does not depend on this process, nor does Muster."""
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
    """The cluster, which is left up only if somebody called `keep`."""
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
            say("Taking everything down.")
            cluster.end()
