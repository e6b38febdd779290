"""Writes crds/ from the models in src/muster/api, so that they cannot say anything else than Muster does."""

import sys
from pathlib import Path

from muster.crds.definitions import GROUPS, KINDS, definition
from muster.crds.text import as_yaml

FOLDER = Path(__file__).parents[1] / "crds"
HEAD = "# Generated from src/muster/api by `make generate`. Do not edit.\n"


def files() -> dict[Path, str]:
    return {
        FOLDER / f"{group}_{kind.plural}.yaml": HEAD + as_yaml(definition(kind, group))
        for group in GROUPS
        for kind in KINDS
    }


def stale() -> list[str]:
    """Names of files that are missing, differ, or should not be there."""
    wanted = files()
    there = {path: path.read_text() for path in FOLDER.glob("*.yaml")}
    return sorted(path.name for path in wanted.keys() | there.keys() if wanted.get(path) != there.get(path))


def main() -> None:
    if "--check" not in sys.argv:
        FOLDER.mkdir(exist_ok=True)
        for name in stale():
            (FOLDER / name).unlink(missing_ok=True)
        for path, text in files().items():
            path.write_text(text)
    elif names := stale():
        sys.exit(f"crds/ is stale ({', '.join(names)}): run `make generate`")


if __name__ == "__main__":
    main()
