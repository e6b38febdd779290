"""The packages in an image, read from its archive: Python packages in /opt/muster, Debian packages of the base."""

import re
import tarfile
from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from pathlib import Path

from release_build.image import layers_of
from release_build.sbom import DebianPackage, normalised

_METADATA = re.compile(r"(?:\./)?opt/muster/[^/]+\.dist-info/METADATA")
# A distroless base has one file per package, other bases have one file for all.
_DPKG = re.compile(r"(?:\./)?var/lib/dpkg/(?:status|status\.d/[^/]+)")


def python_packages(archive: Path) -> dict[str, str]:
    found = (message_from_bytes(data) for name, data in _files(archive, _METADATA))
    return dict(normalised(metadata["Name"], metadata["Version"]) for metadata in found)


def debian_packages(archive: Path) -> set[DebianPackage]:
    paragraphs = (
        message_from_bytes(paragraph)
        for name, data in _files(archive, _DPKG)
        if not name.endswith(".md5sums")
        for paragraph in data.split(b"\n\n")
    )
    return {_debian(paragraph) for paragraph in paragraphs if _is_installed(paragraph)}


def _is_installed(paragraph: Message) -> bool:
    """A package without a status (distroless) is installed."""
    return bool(paragraph["Package"]) and paragraph.get("Status", "ok installed").endswith(" installed")


def _debian(paragraph: Message) -> DebianPackage:
    return DebianPackage(paragraph["Package"], paragraph["Version"], paragraph["Architecture"])


def _files(archive: Path, wanted: re.Pattern[str]) -> Iterator[tuple[str, bytes]]:
    """The files of all layers; a later layer overrides. It ignores removals: Muster's layer has none."""
    found: dict[str, bytes] = {}
    for layer in layers_of(archive):
        with tarfile.open(fileobj=layer) as files:
            for member in files:
                file = files.extractfile(member) if wanted.fullmatch(member.name) and member.isfile() else None
                if file:
                    found[member.name] = file.read()
    yield from found.items()
