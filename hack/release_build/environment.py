"""The environment that the release is built with: what the group `release` of uv.lock pins, in the user's cache."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from local_cluster.layout import cache_root
from local_cluster.locking import exclusive
from release_build.errors import ReleaseRefused

_UV = "uv-0.13.7/bin/uv"


def uv() -> str:
    """As hack/setup finds or installs it."""
    found = shutil.which("uv") or str(cache_root().parent / _UV)
    if not Path(found).exists():
        raise ReleaseRefused("uv is missing: run `make setup` first.")
    return found


def build_environment(root: Path) -> Path:
    lock = (root / "uv.lock").read_bytes() + sys.version.encode()
    home = cache_root().parent / f"release-tools-{hashlib.sha256(lock).hexdigest()[:12]}"
    with exclusive(home.with_suffix(".lock"), lambda _: None):
        if not (home / "bin" / "hatchling").exists():
            command = [uv(), "sync", "--frozen", "--quiet", "--only-group", "release", "--no-install-project"]
            run([*command, "--python", sys.executable], root, {"UV_PROJECT_ENVIRONMENT": str(home)})
    return home


def run(command: list[str], folder: Path, added: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **(added or {})}, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise ReleaseRefused(f"`{' '.join(command[:4])} …` failed: {(done.stderr or done.stdout).strip()}")
    return done.stdout
