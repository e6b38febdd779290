"""Writes the version of pyproject.toml to all files that contain it. `manifests/` gets it from the chart."""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
_NUMBER = r"[0-9]+\.[0-9]+\.[0-9]+(?:-(?:dev|alpha|beta|rc)\.[0-9]+)?"
PLACES: dict[str, tuple[str, ...]] = {
    "src/muster/__init__.py": (rf'(?<=^__version__ = "){_NUMBER}',),
    "charts/muster/Chart.yaml": (rf"(?<=^version: ){_NUMBER}", rf"(?<=^appVersion: ){_NUMBER}"),
    "README.md": (rf"(?<=muster[-:]){_NUMBER}",),
    "docs/install.md": (rf"(?<=muster[-:]){_NUMBER}",),
}
"""File to patterns of the version; each must match at least once. In pages, the version follows `muster-` or `muster:`,
as in the names of release files."""


class VersionMissing(Exception):
    """A file does not contain the version."""


def project_version(root: Path = ROOT) -> str:
    version: str = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    return version


def with_version(text: str, patterns: tuple[str, ...], version: str) -> str:
    for pattern in patterns:
        text, count = re.subn(pattern, version, text, flags=re.MULTILINE)
        if count == 0:
            raise VersionMissing(f"nothing in it matches {pattern}")
    return text


def files(root: Path, version: str) -> dict[Path, str]:
    found = {}
    for name, patterns in PLACES.items():
        try:
            found[root / name] = with_version((root / name).read_text(), patterns, version)
        except VersionMissing as problem:
            raise VersionMissing(f"{name} does not name the version: {problem}") from None
    return found


def write(root: Path, version: str) -> None:
    for path, text in files(root, version).items():
        path.write_text(text)


def main() -> None:
    version = project_version()
    try:
        wanted = files(ROOT, version)
    except VersionMissing as problem:
        sys.exit(str(problem))
    if "--check" not in sys.argv:
        write(ROOT, version)
    elif stale := [str(path.relative_to(ROOT)) for path, text in wanted.items() if path.read_text() != text]:
        sys.exit(f"the version is {version}, but not in {', '.join(stale)}: run `make generate`")


if __name__ == "__main__":
    main()
