"""A machine of any sort: a folder for the path, with ordinary programs and made-up ones."""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
ORDINARY = ("awk", "basename", "bash", "cat", "dirname", "env", "grep", "sed", "seq", "sleep", "tail")
ANSWERS, SILENT = "exit 0", "exit 1"
ROOT_USER, ANYBODY = "echo 0", '[ "$1" = -un ] && echo ann || echo 1000'


def install(machine: Path, name: str, script: str) -> None:
    program = machine / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def install_real(machine: Path, *names: str) -> None:
    for name in names:
        found = shutil.which(name)
        assert found, name
        (machine / name).symlink_to(found)


def run(machine: Path, script: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(machine), "HOME": str(machine / "home"), **variables}
    return subprocess.run(
        [ROOT / script, *arguments], env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def sourced(machine: Path, file: str, script: str) -> subprocess.CompletedProcess[str]:
    """The script calls functions of a file that other scripts source."""
    command = ["bash", "-euo", "pipefail", "-c", f'fail() {{ echo "$1" >&2; exit 1; }}\nsource {file}\n{script}']
    environment = {"PATH": str(machine), "HOME": str(machine / "home")}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)
