"""Builds the image of the commit and exports it from the container engine."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from release_build.errors import ReleaseRefused
from release_build.identity import Identity
from release_build.image import normalised
from release_build.source import ROOT

_COMMAND = ("hack/kind/engine", "with", "hack/release_build/image-archive")
_STAND_IN = "muster.local/"


@dataclass(frozen=True)
class Base:
    name: str
    digest: str

    @property
    def stands_in(self) -> bool:
        """hack/kind/image-bases has made it from Debian's packages."""
        return self.name.startswith(_STAND_IN)

    def __str__(self) -> str:
        return f"{self.name} ({self.digest})"


def built(source: Path, release: Identity, scratch: Path) -> tuple[bytes, list[Base]]:
    """The archive of the image, and its bases. No timestamp in its own layer is later than the commit."""
    environment = source / ".venv"
    if not environment.exists():
        environment.symlink_to(ROOT / ".venv")
    name, saved, bases = f"muster:{release.version}", scratch / "saved.tar", scratch / "bases"
    command = [str(source / _COMMAND[0]), *_COMMAND[1:], name, str(saved), str(bases)]
    own_bases = {} if release.is_snapshot else {"MUSTER_OWN_BASES": "yes"}
    # The output of the build goes to the terminal: it takes minutes.
    done = subprocess.run(command, cwd=source, env={**os.environ, **own_bases}, stdout=sys.stderr, check=False)
    if done.returncode != 0:
        raise ReleaseRefused(
            "The image was not built, for the reason above; `make release SKIP_IMAGE=1` builds the rest."
        )
    data = normalised(saved, name, release.epoch)
    saved.unlink()
    return data, read_bases(bases.read_text())


def read_bases(lines: str) -> list[Base]:
    return [Base(*line.split()) for line in lines.splitlines()]


def notes(bases: list[Base]) -> str:
    """What RELEASE_NOTES.md says about them."""
    listed = "".join(f"- `{base.name}`, `{base.digest}`\n" for base in bases)
    made = (
        "The bases marked `muster.local/` are stand-ins from Debian's packages: this image is not for production.\n\n"
    )
    return f"\n## Bases of the image\n\n{made if any(base.stands_in for base in bases) else ''}{listed}"
