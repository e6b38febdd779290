"""Starts, changes and stops clusters."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from local_cluster.api import AdminClient
from local_cluster.binaries import ensure_binaries
from local_cluster.components import components_in_start_order, server_url
from local_cluster.configuration import write_configuration
from local_cluster.errors import ClusterError, OtherVersionError
from local_cluster.layout import ClusterLayout, write_atomically
from local_cluster.locking import exclusive
from local_cluster.owners import add_owner, share_with
from local_cluster.plan import Plan, Status
from local_cluster.ports import free_ports
from local_cluster.processes import ProcessIdentity, identity_of, is_alive, kill, wait_until_gone
from local_cluster.readiness import Patience, make_usable, wait_for_processes, wait_until_usable
from local_cluster.settings import ClusterSettings
from local_cluster.supervisor import ask_to_keep_logs, remove_directory

_START_TIMEOUT = 180.0
_END_TIMEOUT = 5.0


def up(layout: ClusterLayout, settings: ClusterSettings, owner: ProcessIdentity | None) -> bool:
    """True if it started a cluster, False if one with the same settings was running."""
    binaries = ensure_binaries()
    with exclusive(layout.lock_file, lambda _: None):
        if _is_shared(layout, settings, owner):
            return False
        _remove(layout)
        with _removed_on_failure(layout):
            _start(layout, settings, owner, binaries)
    return True


def restart(layout: ClusterLayout, settings: ClusterSettings) -> None:
    """Restart with the same data, ports and nodes but other flags. A cluster that fails is kept for inspection."""
    binaries = ensure_binaries()
    with exclusive(layout.lock_file, lambda _: None):
        status = running_status(layout)
        old = Plan.read(layout)
        components = components_in_start_order(layout, settings, old.ports, binaries)
        plan = dataclasses.replace(old, generation=old.generation + 1, components=components)
        plan.write(layout)
        write_atomically(layout.settings_file, settings.to_json())
        kill(status.supervisor, signal.SIGHUP)
        patience = Patience(_START_TIMEOUT)
        wait_for_processes(layout, plan.generation, status.supervisor, patience)
        wait_until_usable(layout, AdminClient(layout, plan.ports.apiserver), settings.nodes, patience)


def down(layout: ClusterLayout, *, keep_logs: bool = False) -> bool:
    """Stop the cluster. False if there was none. A running `up` of the same name is interrupted."""
    with exclusive(layout.lock_file, _interrupt):
        if not layout.directory.exists():
            return False
        if keep_logs:
            ask_to_keep_logs(layout)
        _remove(layout, keep_logs=keep_logs)
        return True


def running_status(layout: ClusterLayout) -> Status:
    status = Status.read(layout)
    if status is None or not is_alive(status.supervisor):
        raise ClusterError(f"Cluster {layout.name} is not running: `hack/cluster up --name {layout.name}` starts it.")
    return status


def settings_of(layout: ClusterLayout) -> ClusterSettings:
    running_status(layout)
    try:
        return ClusterSettings.from_json(layout.settings_file.read_text())
    except TypeError:
        raise OtherVersionError(layout.name) from None


def _is_shared(layout: ClusterLayout, settings: ClusterSettings, owner: ProcessIdentity | None) -> bool:
    status = Status.read(layout)
    if status is None or not is_alive(status.supervisor):
        return False
    if status.phase == "stopping" or Plan.read(layout).starter is not None:
        return False  # it is ending: its owner or its `up` is gone
    different = settings.differences(settings_of(layout))
    if different:
        raise ClusterError(
            f"Cluster {layout.name} runs already with other settings: {', '.join(different)}; "
            f"choose another --name, or run `hack/cluster down --name {layout.name}` first."
        )
    if status.exited:
        ended = ", ".join(status.exited)
        raise ClusterError(
            f"Cluster {layout.name} is broken, {ended} ended: look into {layout.logs}, "
            f"then run `hack/cluster down --name {layout.name}`."
        )
    share_with(layout, owner)
    return True


def _start(
    layout: ClusterLayout, settings: ClusterSettings, owner: ProcessIdentity | None, binaries: dict[str, Path]
) -> None:
    patience = Patience(_START_TIMEOUT)
    ports = free_ports()
    write_configuration(layout, server_url(ports))
    components = components_in_start_order(layout, settings, ports, binaries)
    plan = Plan(generation=1, starter=identity_of(os.getpid()), ports=ports, components=components)
    plan.write(layout)
    layout.settings_file.write_text(settings.to_json())
    if owner:
        add_owner(layout, owner)
    supervisor = _spawn_supervisor(layout)
    wait_for_processes(layout, plan.generation, supervisor, patience)
    make_usable(layout, plan, settings, patience)
    dataclasses.replace(plan, starter=None).write(layout)


def _spawn_supervisor(layout: ClusterLayout) -> ProcessIdentity:
    with layout.log_of("supervisor").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "local_cluster.supervisor", str(layout.directory)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C goes to `up` only, which then stops the cluster
        )
    return identity_of(process.pid) or ProcessIdentity(process.pid, "")


@contextlib.contextmanager
def _removed_on_failure(layout: ClusterLayout) -> Iterator[None]:
    try:
        yield
    except BaseException:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # a second Ctrl-C must not leave half of it behind
        _remove(layout)
        raise


def _remove(layout: ClusterLayout, *, keep_logs: bool = False) -> None:
    status = _status_of_spawned(layout)
    if status is not None:
        kill(status.supervisor, signal.SIGTERM)
        if not wait_until_gone(status.supervisor, _END_TIMEOUT):
            kill(status.supervisor)
        for component in reversed(status.components.values()):
            kill(component.process)  # the components of a killed supervisor may still run
            wait_until_gone(component.process, _END_TIMEOUT)
    if layout.directory.exists():
        remove_directory(layout, keep_logs=keep_logs)


def _status_of_spawned(layout: ClusterLayout) -> Status | None:
    """The status; waits for that of a supervisor that was just started."""
    deadline = time.monotonic() + 2
    while layout.log_of("supervisor").exists() and time.monotonic() < deadline:
        status = Status.read(layout)
        if status is not None:
            return status
        time.sleep(0.05)
    return Status.read(layout)


def _interrupt(holder: int | None) -> None:
    """Interrupt the process that holds the lock. Doing this twice is harmless."""
    process = identity_of(holder) if holder else None
    if process and process.pid != os.getpid():
        kill(process, signal.SIGTERM)
