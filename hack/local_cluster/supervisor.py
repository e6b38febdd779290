"""The parent process of a cluster's components: it starts, watches and stops them.

Run as `python -m local_cluster.supervisor <cluster directory>`. SIGTERM ends the cluster and removes its directory;
SIGHUP reads the plan again and restarts everything except etcd.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from local_cluster.api import answers
from local_cluster.components import APISERVER, ETCD, Component
from local_cluster.layout import ClusterLayout
from local_cluster.locking import remove_if_free
from local_cluster.owners import all_owners_gone
from local_cluster.plan import ComponentStatus, Phase, Plan, Status
from local_cluster.processes import ProcessIdentity, identity_of, is_alive

_TICK = 0.1
# The API server drains its watches for up to a minute. A restart waits this long; etcd has all acknowledged writes.
_GRACE = 3.0
_PR_SET_PDEATHSIG = 1
_KEEP_LOGS = "keep-logs"
_NEEDED_BY_THE_NEXT = (ETCD, APISERVER)


class _EndOfClusterError(Exception):
    """The cluster must end."""


def ask_to_keep_logs(layout: ClusterLayout) -> None:
    (layout.directory / _KEEP_LOGS).touch()


class Supervisor:
    """Runs the components of one cluster until it must end.

    Owns their processes and the status file. It reads the plan, the files of the owners, and signals.
    """

    def __init__(self, layout: ClusterLayout) -> None:
        self._layout = layout
        self._plan = Plan.read(layout)
        self._itself = _itself()
        self._phase: Phase = "starting"
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._processes: dict[str, ProcessIdentity] = {}
        self._reported_exits: dict[str, int] = {}
        self._end_requested = False
        self._restart_requested = False

    def run(self) -> None:
        signal.signal(signal.SIGTERM, self._on_end)
        signal.signal(signal.SIGINT, self._on_end)
        signal.signal(signal.SIGHUP, self._on_restart)
        try:
            self._start_all()
            while True:
                self._tick()
                if self._restart_requested:
                    self._restart()
        except _EndOfClusterError:
            pass
        finally:
            self._end()

    def _on_end(self, *_: object) -> None:
        self._end_requested = True

    def _on_restart(self, *_: object) -> None:
        self._restart_requested = True

    def _tick(self) -> None:
        time.sleep(_TICK)
        if self._exited() != self._reported_exits:
            self._tell()
        if self._end_requested or not self._layout.plan_file.exists():
            raise _EndOfClusterError
        if all_owners_gone(self._layout):
            raise _EndOfClusterError
        if self._plan.starter and not is_alive(self._plan.starter):
            self._plan = Plan.read(self._layout)  # `up` removes itself from the plan when it is done
            if self._plan.starter:
                raise _EndOfClusterError

    def _tell(self) -> None:
        self._reported_exits = self._exited()
        components = {
            name: ComponentStatus(self._processes[name], self._reported_exits.get(name)) for name in self._children
        }
        Status(self._itself, self._plan.generation, self._phase, components).write(self._layout)

    def _exited(self) -> dict[str, int]:
        codes = {name: child.poll() for name, child in self._children.items()}
        return {name: code for name, code in codes.items() if code is not None}

    def _start_all(self) -> None:
        self._phase = "starting"
        for component in self._plan.components:
            if component.name in self._children:
                continue
            self._start(component)
            self._tell()
            if component.name in _NEEDED_BY_THE_NEXT and not self._wait_until_ready(component):
                break
        all_ready = all(self._wait_until_ready(component) for component in self._plan.components)
        self._phase = "running" if all_ready else "failed"
        self._tell()

    def _start(self, component: Component) -> None:
        with self._layout.log_of(component.name).open("ab") as log:
            child = subprocess.Popen(
                component.argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._layout.directory,
                env={**os.environ, "KWOK_WORKDIR": str(self._layout.config)},
                preexec_fn=_die_with_parent(),  # noqa: PLW1509 - this process has no threads
            )
        self._children[component.name] = child
        self._processes[component.name] = identity_of(child.pid) or ProcessIdentity(child.pid, "")

    def _wait_until_ready(self, component: Component) -> bool:
        """False if the component has ended, or was never started."""
        while True:
            child = self._children.get(component.name)
            if child is None or child.poll() is not None:
                return False
            if answers(self._layout, component.ready_url):
                return True
            self._tick()

    def _restart(self) -> None:
        self._restart_requested = False
        self._plan = Plan.read(self._layout)
        for component in reversed(self._plan.components):  # the API server's clients first
            if component.name != ETCD:
                self._stop(component.name)
        self._start_all()

    def _stop(self, name: str) -> None:
        child = self._children.pop(name, None)
        if child is None:
            return
        child.terminate()
        try:
            child.wait(_GRACE)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()

    def _end(self) -> None:
        self._phase = "stopping"
        if self._layout.directory.exists():
            self._tell()
        for component in reversed(self._plan.components):
            child = self._children.get(component.name)
            if child is not None:
                child.kill()
                child.wait()
        remove_directory(self._layout, keep_logs=(self._layout.directory / _KEEP_LOGS).exists())
        remove_if_free(self._layout.lock_file)


def remove_directory(layout: ClusterLayout, *, keep_logs: bool) -> None:
    if not keep_logs:
        shutil.rmtree(layout.directory, ignore_errors=True)
        return
    for path in layout.directory.iterdir():
        if path not in (layout.logs, layout.audit_log):
            _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _die_with_parent() -> Callable[[], None]:
    """For the child, between fork and exec: the kernel kills it when the supervisor ends (Linux)."""
    if not sys.platform.startswith("linux"):
        return lambda: None
    prctl = ctypes.CDLL(None).prctl  # looked up before the fork: it is not safe after it
    supervisor = os.getpid()

    def in_child() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != supervisor:  # the supervisor died before the line above
            os._exit(1)

    return in_child


def _itself() -> ProcessIdentity:
    return identity_of(os.getpid()) or ProcessIdentity(os.getpid(), "")


if __name__ == "__main__":
    Supervisor(ClusterLayout(Path(sys.argv[1]))).run()
