"""CRDs as YAML for people and for kubectl."""

from typing import Any

import yaml

from muster.crds.definitions import definitions

WIDTH = 120


def as_yaml(manifest: dict[str, Any]) -> str:
    return yaml.safe_dump(manifest, sort_keys=False, width=WIDTH, allow_unicode=True)


def print_group(group: str) -> str:
    return "".join(f"---\n{as_yaml(manifest)}" for manifest in definitions(group))
