"""The kubectl plugin: an archive that runs with any Python, and its krew manifest."""

from pathlib import Path
from typing import Any

import yaml

from release_build.archives import Entry, tar_gz

_LAUNCHER = Path(__file__).parent / "kubectl-muster"
_PLATFORMS = [("linux", "amd64"), ("linux", "arm64"), ("darwin", "amd64"), ("darwin", "arm64")]
_DESCRIPTION = """\
Prints, installs and removes Muster's CRDs, checks its settings, and prepares the removal of Muster from a cluster
(`kubectl muster leave`). Muster starts the pods of a parallel Job together, or none of them.
"""
_CAVEATS = """\
Muster is a Python program. It needs Python 3.11 or newer with its venv module, and the first call installs Muster's
dependencies (with pinned hashes) from a package index into your cache directory.
"""


def plugin_archive(wheel: Path, requirements: str, license_text: bytes, epoch: int) -> bytes:
    entries = {
        "kubectl-muster": Entry(_LAUNCHER.read_bytes(), executable=True),
        wheel.name: Entry(wheel.read_bytes()),
        "requirements.txt": Entry(requirements.encode()),
        "LICENSE": Entry(license_text),
    }
    return tar_gz(entries, epoch)


def plugin_manifest(version: str, project: str, archive: str, digest: str) -> str:
    platforms = [
        {
            "selector": {"matchLabels": {"os": system, "arch": machine}},
            "uri": f"{project}/releases/download/v{version}/{archive}",
            "sha256": digest,
            "bin": "kubectl-muster",
        }
        for system, machine in _PLATFORMS
    ]
    body: dict[str, Any] = {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "muster"},
        "spec": {
            "version": f"v{version}",
            "homepage": project,
            "shortDescription": "Gang scheduling for Kubernetes Jobs",
            "description": _DESCRIPTION,
            "caveats": _CAVEATS,
            "platforms": platforms,
        },
    }
    return yaml.dump(body, Dumper=_Readable, sort_keys=False)


class _Readable(yaml.SafeDumper):
    """Writes multi-line text in block style."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Readable.add_representer(str, _text)
