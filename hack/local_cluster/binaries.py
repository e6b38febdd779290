"""Binaries that are built from Go modules, once per version and machine, including the control plane."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import platform
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from local_cluster.components import APISERVER, CONTROLLER_MANAGER, ETCD, KWOK, SCHEDULER
from local_cluster.errors import ClusterError
from local_cluster.layout import cache_root
from local_cluster.locking import exclusive
from local_cluster.progress import Heartbeat, say
from local_cluster.toolchain import go_command

KUBECTL = "kubectl"
OWN_BINARIES = "MUSTER_CONTROL_PLANE_BIN"
_UNFINISHED = ".building-"
_SOURCES = Path(__file__).parent.parent / "control-plane"


@dataclasses.dataclass(frozen=True)
class Module:
    """A directory with go.mod and go.sum, and the binaries to build from it."""

    directory: Path
    path: str
    packages: dict[str, str]
    """Binary to package."""
    tags: str = ""
    """Go build tags."""
    stamps: tuple[str, ...] = ()
    """Variables that the linker sets, as `package.name=value`."""

    @property
    def version(self) -> str:
        required = re.search(
            rf"^\s*(?:require )?{re.escape(self.path)} (v\S+)", (self.directory / "go.mod").read_text(), re.MULTILINE
        )
        if required is None:
            raise ClusterError(f"{self.directory / 'go.mod'} does not require {self.path}.")
        return required[1]

    @property
    def key(self) -> str:
        """The name of the cache directory. It depends on the pinned versions and the machine type."""
        pins = hashlib.sha256()
        for name in ("go.mod", "go.sum"):
            pins.update((self.directory / name).read_bytes())
        for source in sorted(self.directory.glob("*.go")):
            pins.update(source.read_bytes())
        pins.update("".join((self.tags, *self.stamps)).encode())
        machine = f"{platform.system()}-{platform.machine()}".lower()
        return f"{self.directory.name}-{self.version}-{machine}-{pins.hexdigest()[:12]}"

    @property
    def linker_flags(self) -> str:
        """Kubernetes binaries get the version of a release: clients and `kubectl version` read it."""
        major, minor, _ = self.version.removeprefix("v").split(".", 2)
        stamp = {"gitVersion": self.version, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
        places = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
        release = [f"{place}.{name}={value}" for place in places for name, value in stamp.items()]
        stamps = (*(release if self.path == "k8s.io/kubernetes" else []), *self.stamps)
        return " ".join(["-s", "-w", *(f"-X {stamp}" for stamp in stamps)])


MODULES = (
    Module(_SOURCES / "etcd", "go.etcd.io/etcd/server/v3", {ETCD: "go.etcd.io/etcd/server/v3"}),
    Module(_SOURCES / "kwok", "sigs.k8s.io/kwok", {KWOK: "sigs.k8s.io/kwok/cmd/kwok"}),
    Module(
        _SOURCES / "kubernetes",
        "k8s.io/kubernetes",
        {name: f"k8s.io/kubernetes/cmd/{name}" for name in (APISERVER, CONTROLLER_MANAGER, SCHEDULER, KUBECTL)},
    ),
)


def ensure_binaries() -> dict[str, Path]:
    """Binary to path, from the user's own directory, the cache, or a build that takes minutes."""
    own = os.environ.get(OWN_BINARIES)
    if own:
        return _own_binaries(Path(own).expanduser().absolute())
    found: dict[str, Path] = {}
    for module in MODULES:
        found.update(built(module))
    return found


def built(module: Module) -> dict[str, Path]:
    """Binary to path, from the cache or a build."""
    home = cache_root() / module.key
    if not home.exists():
        _build(module, home)
    return {name: home / name for name in module.packages}


def _own_binaries(directory: Path) -> dict[str, Path]:
    paths = {name: directory / name for module in MODULES for name in module.packages}
    missing = sorted(name for name, path in paths.items() if not os.access(path, os.X_OK))
    if missing:
        raise ClusterError(f"{OWN_BINARIES} is set, but {directory} has no executable {', '.join(missing)}.")
    return paths


def _build(module: Module, home: Path) -> None:
    go = go_command()
    waiting = Heartbeat(lambda: f"waiting for another build of {module.directory.name}")
    with exclusive(home.with_name(f"{home.name}.lock"), lambda _: waiting.beat()):
        if home.exists():
            return
        _remove_stale_builds()
        with tempfile.TemporaryDirectory(prefix=_UNFINISHED, dir=home.parent) as unfinished:
            say(
                f"Building {module.directory.name} {module.version} ({', '.join(module.packages)}); only the first time"
            )
            for binary, package in module.packages.items():
                _build_binary(go, module, package, Path(unfinished) / "bin" / binary)
            (Path(unfinished) / "bin").rename(home)


def _build_binary(go: Path, module: Module, package: str, target: Path) -> None:
    log = target.parent.parent / f"{target.name}.log"
    flags = ["-v", "-mod=readonly", "-trimpath", f"-tags={module.tags}", f"-ldflags={module.linker_flags}"]
    command = [str(go), "build", *flags, "-o", str(target), package]
    environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}
    with log.open("wb") as output:
        build = subprocess.Popen(
            command, cwd=module.directory, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    heart = Heartbeat(lambda: f"{target.name}: {_lines(log)} packages downloaded or compiled")
    try:
        while build.poll() is None:
            time.sleep(0.2)
            heart.beat()
    finally:
        build.kill()
        build.wait()
    if build.returncode != 0:
        reason = " / ".join(log.read_text(errors="replace").strip().splitlines()[-3:])
        raise ClusterError(f"Building {target.name} {module.version} failed: {reason}")
    say(f"  {target.name} built ({heart.elapsed})")


def _lines(log: Path) -> int:
    return log.read_bytes().count(b"\n")


def _remove_stale_builds() -> None:
    """Remove leftovers of killed builds. No build takes a day."""
    for path in cache_root().glob(f"{_UNFINISHED}*"):
        if time.time() - path.stat().st_mtime > 86400:
            shutil.rmtree(path, ignore_errors=True)
