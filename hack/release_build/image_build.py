"""Builds the image of the commit and takes it out of the container engine."""

import subprocess
import sys
from pathlib import Path

from release_build.errors import ReleaseRefused
from release_build.image import normalised
from release_build.source import ROOT

_ENGINE = "hack/kind/engine"
_BUILD_AND_SAVE = 'hack/image-build "$1" >&2 && exec docker save --output "$2" "$1"'


def built(source: Path, name: str, epoch: int, scratch: Path) -> bytes:
    """The archive of the image. Its layers carry no time after `epoch`."""
    environment = source / ".venv"
    if not environment.exists():
        environment.symlink_to(ROOT / ".venv")
    saved = scratch / "saved.tar"
    command = [str(source / _ENGINE), "with", "bash", "-c", _BUILD_AND_SAVE, "image-build", name, str(saved)]
    # The words of the build go to the terminal: it takes minutes.
    if subprocess.run(command, cwd=source, stdout=sys.stderr, check=False).returncode != 0:
        raise ReleaseRefused(
            "The image was not built, for the reason above; `make release SKIP_IMAGE=1` builds the rest."
        )
    data = normalised(saved, name, epoch)
    saved.unlink()
    return data
