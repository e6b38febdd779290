"""Generates crds/ and the chart's copy of it from the models in src/muster/api, so that both always agree with the
code.

The chart needs a copy because Helm cannot read files outside of the chart.
"""

import sys
from pathlib import Path

from muster.crds.definitions import GROUPS, KINDS, definition
from muster.crds.yaml import as_yaml

ROOT = Path(__file__).parents[1]
FOLDERS = (ROOT / "crds", ROOT / "charts/muster/files/crds")
HEAD = "# Generated from src/muster/api by `make generate`. Do not edit.\n"


def files() -> dict[Path, str]:
    return {
        folder / f"{group}_{kind.plural}.yaml": HEAD + as_yaml(definition(kind, group))
        for folder in FOLDERS
        for group in GROUPS
        for kind in KINDS
    }


def stale() -> list[str]:
    """Files that are missing, differ, or are not generated."""
    wanted = files()
    there = {path: path.read_text() for folder in FOLDERS for path in folder.glob("*.yaml")}
    paths = wanted.keys() | there.keys()
    return sorted(str(path.relative_to(ROOT)) for path in paths if wanted.get(path) != there.get(path))


def main() -> None:
    if "--check" not in sys.argv:
        for name in stale():
            (ROOT / name).unlink(missing_ok=True)
        for path, text in files().items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    elif names := stale():
        sys.exit(f"the CRDs are stale ({', '.join(names)}): run `make generate`")


if __name__ == "__main__":
    main()
