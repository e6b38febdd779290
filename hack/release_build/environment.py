"""The build environment of a release: what the group `release` of uv.lock pins, in the user's cache."""

import hashlib
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from local_cluster.layout import cache_root
from local_cluster.locking import exclusive
from release_build.errors import ReleaseRefused

_UV = Path(__file__).parents[1] / "uv"


@cache
def uv() -> str:
    """The uv that hack/uv pins: another version can build other files."""
    return run([str(_UV)], _UV.parent).strip()


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
