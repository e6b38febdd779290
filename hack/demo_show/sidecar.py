"""Runs Muster as long as a local cluster runs: `python -m demo_show.sidecar CLUSTER COMMAND...`.

So `hack/cluster down` ends both, and nothing is left when the demo is killed.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

from local_cluster.layout import ClusterLayout
from local_cluster.plan import Status
from local_cluster.processes import is_alive

_TICK = 0.25
_GRACE = 3.0


def cluster_lives(layout: ClusterLayout) -> bool:
    status = Status.read(layout)
    return status is not None and status.phase != "stopping" and is_alive(status.supervisor)


def accompany(cluster: str, command: list[str]) -> int:
    layout = ClusterLayout.of(cluster)
    end_requested = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: end_requested.set())
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    while child.poll() is None and cluster_lives(layout):
        if end_requested.wait(_TICK):
            break
    return _end(child)


def _end(child: subprocess.Popen[bytes]) -> int:
    child.terminate()
    try:
        return child.wait(_GRACE)
    except subprocess.TimeoutExpired:
        child.kill()
        return child.wait()


if __name__ == "__main__":
    sys.exit(accompany(sys.argv[1], sys.argv[2:]))
