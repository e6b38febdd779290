"""Owners: processes with which a cluster ends, such as a test run."""

from __future__ import annotations

import shutil

from local_cluster.errors import ClusterError
from local_cluster.layout import ClusterLayout, write_atomically
from local_cluster.processes import ProcessIdentity, identity_of, is_alive


def owner_of(pid: int) -> ProcessIdentity:
    owner = identity_of(pid)
    if owner is None:
        raise ClusterError(f"--owner-pid {pid}: there is no such process.")
    return owner


def add_owner(layout: ClusterLayout, owner: ProcessIdentity) -> None:
    layout.owners.mkdir(exist_ok=True)
    write_atomically(layout.owners / str(owner.pid), owner.started)


def share_with(layout: ClusterLayout, owner: ProcessIdentity | None) -> None:
    """Join a running cluster. It ends with its last owner, or only on `down` if any user joined without an owner."""
    if owner is None:
        shutil.rmtree(layout.owners, ignore_errors=True)
    elif layout.owners.exists():
        add_owner(layout, owner)


def all_owners_gone(layout: ClusterLayout) -> bool:
    try:
        files = [path for path in layout.owners.iterdir() if path.name.isdigit()]
        owners = [ProcessIdentity(int(path.name), path.read_text()) for path in files]
    except OSError:
        return False
    return bool(owners) and not any(is_alive(owner) for owner in owners)
