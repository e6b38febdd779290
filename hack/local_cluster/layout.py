"""The files of a cluster: one private directory per cluster, outside the clone."""

from __future__ import annotations

import dataclasses
import os
import re
from pathlib import Path

from local_cluster.errors import ClusterError


def _xdg(variable: str, default: str) -> Path:
    configured = os.environ.get(variable, "")
    return Path(configured) if Path(configured).is_absolute() else Path.home() / default


def cache_root() -> Path:
    return _xdg("XDG_CACHE_HOME", ".cache") / "muster" / "control-plane"


def clusters_root() -> Path:
    return _xdg("XDG_STATE_HOME", ".local/state") / "muster" / "clusters"


@dataclasses.dataclass(frozen=True)
class ClusterLayout:
    """The paths of one cluster's files. A value: it reads and writes no file."""

    directory: Path

    @classmethod
    def of(cls, name: str) -> ClusterLayout:
        if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,48}[a-z0-9])?", name):
            raise ClusterError(f"The cluster name {name!r} must be at most 50 lower-case letters, digits and dashes.")
        return cls(clusters_root() / name)

    @property
    def name(self) -> str:
        return self.directory.name

    @property
    def lock_file(self) -> Path:
        return self.directory.with_name(f"{self.name}.lock")

    @property
    def settings_file(self) -> Path:
        return self.directory / "settings.json"

    @property
    def plan_file(self) -> Path:
        return self.directory / "plan.json"

    @property
    def status_file(self) -> Path:
        return self.directory / "status.json"

    @property
    def owners(self) -> Path:
        """One file per owner process: the cluster ends with its last owner. No directory: it stays until `down`."""
        return self.directory / "owners"

    @property
    def logs(self) -> Path:
        return self.directory / "logs"

    @property
    def audit_log(self) -> Path:
        return self.directory / "audit.log"

    @property
    def pki(self) -> Path:
        return self.directory / "pki"

    @property
    def config(self) -> Path:
        return self.directory / "config"

    @property
    def etcd_data(self) -> Path:
        return self.directory / "etcd"

    def log_of(self, component: str) -> Path:
        return self.logs / f"{component}.log"

    def kubeconfig_of(self, user: str) -> Path:
        return self.directory / "kubeconfigs" / f"{user}.kubeconfig"

    @property
    def admin_kubeconfig(self) -> Path:
        return self.kubeconfig_of("admin")


def write_atomically(path: Path, text: str) -> None:
    """Readers see the old or the new text, never a part of it."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.write_text(text)
    unfinished.replace(path)
