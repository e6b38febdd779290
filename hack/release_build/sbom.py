"""The software bill of materials of the image (CycloneDX): Muster, its Python packages, the base's Debian packages."""

import json
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from packaging.utils import canonicalize_name
from packaging.version import Version

from release_build.environment import run
from release_build.identity import Identity

_NAMESPACE = uuid.UUID("6f1a3ad5-5a0c-5c0e-8a0e-3c6f0a5c7b11")


@dataclass(frozen=True, order=True)
class DebianPackage:
    name: str
    version: str
    architecture: str

    @property
    def url(self) -> str:
        return f"pkg:deb/debian/{quote(self.name)}@{quote(self.version, safe='')}?arch={self.architecture}"


def bill(
    environment: Path, source: Path, requirements: list[str], base: Iterable[DebianPackage], release: Identity
) -> str:
    listed = environment / "bin/cyclonedx-py"
    given = source / ".sbom-requirements.txt"
    given.write_text("\n".join(requirements) + "\n")
    flags = ["--pyproject", "pyproject.toml", "--output-reproducible", "--spec-version", "1.6", str(given)]
    body = json.loads(run([str(listed), "requirements", *flags], source, {"SOURCE_DATE_EPOCH": str(release.epoch)}))
    given.unlink()
    return json.dumps(completed(body, base, release), indent=2, sort_keys=True) + "\n"


def completed(body: dict[str, Any], base: Iterable[DebianPackage], release: Identity) -> dict[str, Any]:
    """Adds the packages of the image's base, and a serial number that depends on the commit only."""
    debian = [
        {
            "type": "library",
            "bom-ref": package.url,
            "name": package.name,
            "version": package.version,
            "purl": package.url,
        }
        for package in sorted(base)
    ]
    serial = uuid.uuid5(_NAMESPACE, f"{release.version} {release.commit}")
    known = "listed" if debian else "unknown: no image, or a base without a dpkg database"
    return {
        **body,
        "serialNumber": f"urn:uuid:{serial}",
        "components": [*body.get("components", []), *debian],
        "properties": [*body.get("properties", []), {"name": "muster:base-packages", "value": known}],
    }


def python_packages(bill_of_materials: dict[str, Any]) -> dict[str, str]:
    """Normalised name to version, including Muster."""
    every = [bill_of_materials["metadata"]["component"], *bill_of_materials["components"]]
    of_python = [part for part in every if not part.get("purl", "").startswith("pkg:deb/")]
    return dict(normalised(part["name"], part["version"]) for part in of_python)


def normalised(name: str, version: str) -> tuple[str, str]:
    """As a wheel has it: pyproject.toml says `0.1.0-rc.1` where METADATA says `0.1.0rc1`."""
    return canonicalize_name(name), str(Version(version))
