"""The two sides: identical control planes, one with the in-tree controller, one with Muster."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bench_run.cpu import cpu_seconds
from local_cluster import lifecycle
from local_cluster.binaries import KUBECTL, ensure_binaries
from local_cluster.errors import ClusterError
from local_cluster.layout import ClusterLayout
from local_cluster.owners import owner_of
from local_cluster.plan import Plan
from local_cluster.service_accounts import service_account_kubeconfig
from local_cluster.settings import ClusterSettings

REPOSITORY = Path(__file__).parents[2]
OWN_MUSTER = Path(sys.executable).with_name("muster")
RIGHTS = ("namespace.yaml", "rbac.yaml", "dev-rbac.yaml")
ACCOUNT = "muster-system/muster"
IN_TREE, MUSTER = "in tree", "Muster"
READY_SECONDS = 60
_SHAPE = ClusterSettings(nodes=20, node_cpu="64", node_memory="256Gi", kcm_qps=1000, kcm_burst=2000)


class BenchError(Exception):
    """A sentence for the person who runs the benchmark."""


@dataclass(slots=True)
class Side:
    """One control plane and, on one of them, Muster. Owns Muster's process; reads the plan and /proc."""

    name: str
    layout: ClusterLayout
    settings: ClusterSettings
    program: Path
    """The `muster` command that runs on the side with Muster."""
    muster: subprocess.Popen[bytes] | None = None

    @property
    def port(self) -> int:
        return Plan.read(self.layout).ports.apiserver

    def cpu(self) -> dict[str, float]:
        """CPU seconds that each process has used."""
        status = lifecycle.running_status(self.layout)
        used = {name: cpu_seconds(state.process.pid) for name, state in status.components.items()}
        if self.muster is not None:
            used["muster"] = cpu_seconds(self.muster.pid)
        return used

    def set_request_rate(self, qps: int, burst: int) -> None:
        """Restart the control plane if its controller manager has another rate."""
        wanted = replace(self.settings, kcm_qps=qps, kcm_burst=burst)
        if wanted == self.settings:
            return
        self._stop_muster()
        lifecycle.restart(self.layout, wanted)
        self.settings = wanted
        if self.name == MUSTER:
            self.start_muster()

    def start_muster(self) -> None:
        self._kubectl("apply", *(f"--filename={REPOSITORY / 'manifests' / name}" for name in RIGHTS))
        kubeconfig = service_account_kubeconfig(self.layout, ACCOUNT)
        command = [str(self.program), "run", "--dev", "--kubeconfig", str(kubeconfig)]
        log = self.layout.logs / "muster.log"
        log.unlink(missing_ok=True)
        with log.open("ab") as output:
            self.muster = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        self._wait_for_muster(log)

    def _wait_for_muster(self, log: Path) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while "health: ready" not in log.read_text():
            if self.muster is None or self.muster.poll() is not None:
                raise BenchError(f"Muster ended before it was ready:\n{log.read_text()[-2000:]}")
            if time.monotonic() > deadline:
                raise BenchError(f"Muster was not ready within {READY_SECONDS} s.")
            time.sleep(0.1)

    def _stop_muster(self) -> None:
        if self.muster is not None:
            self.muster.terminate()
            self.muster.wait(20)
            self.muster = None

    def _kubectl(self, *arguments: str) -> None:
        command = [str(ensure_binaries()[KUBECTL]), f"--kubeconfig={self.layout.admin_kubeconfig}", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BenchError(done.stderr.strip())

    def end(self) -> None:
        try:
            self._stop_muster()
        finally:
            lifecycle.down(self.layout)


@contextmanager
def both_sides(program: Path) -> Iterator[tuple[Side, Side]]:
    """Up inside the block; nothing is left after it."""
    with ExitStack() as stack:
        sides = []
        for name, in_tree in ((IN_TREE, True), (MUSTER, False)):
            layout = ClusterLayout.of(f"bench-{'in-tree' if in_tree else 'muster'}-{os.getpid()}")
            side = Side(name, layout, replace(_SHAPE, in_tree=in_tree), program)
            try:
                lifecycle.up(layout, side.settings, owner_of(os.getpid()))
            except ClusterError as error:
                raise BenchError(str(error)) from error
            stack.callback(side.end)
            sides.append(side)
        sides[1].start_muster()
        yield sides[0], sides[1]
