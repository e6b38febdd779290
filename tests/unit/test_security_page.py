"""SECURITY.md explains every right that the chart grants, and no other."""

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text()
TEMPLATES = [ROOT / "charts/muster/templates" / name for name in ("rbac.yaml", "leave.yaml")]
HEADER = "| role | resource | verbs | for |"

Right = tuple[str, str, str]
"""Role, resource as on the page, verb."""


def documents() -> Iterator[dict[str, Any]]:
    """What the chart can render at most: with every condition met."""
    for template in TEMPLATES:
        text = re.sub(
            r'^  \{\{- include "muster.metadata" \(list \$ ("[^"]*").*$',
            r"  name: \1",
            template.read_text(),
            flags=re.MULTILINE,
        )
        lines = [line for line in text.splitlines() if not line.strip().startswith(("{{", "[]"))]
        plain = re.sub(r"\{\{.*?\}\}", "muster-system", "\n".join(lines))
        yield from (each for each in yaml.safe_load_all(plain) if each)


def granted() -> set[Right]:
    found: set[Right] = set()
    for document in documents():
        if document["kind"] not in {"Role", "ClusterRole"}:
            continue
        for rule in document["rules"]:
            for group, resource, verb in product(rule["apiGroups"], rule["resources"], rule["verbs"]):
                names = f" {', '.join(rule['resourceNames'])}" if "resourceNames" in rule else ""
                found.add((document["metadata"]["name"], f"{resource}{'.' + group if group else ''}{names}", verb))
    return found


def explained() -> set[Right]:
    rows = PAGE.partition(HEADER)[2].partition("\n\n")[0].splitlines()[2:]
    found: set[Right] = set()
    for row in rows:
        role, resources, verbs, reason = (cell.strip() for cell in row.strip("| ").split(" | "))
        assert reason, f"{row} gives no reason"
        whats, whiches = re.findall(r"`([^`]+)`", resources), verbs.split(", ")
        found |= {(role.strip("`"), what, verb) for what, verb in product(whats, whiches)}
    return found


def test_every_right_is_explained() -> None:
    assert granted() - explained() == set()


def test_no_right_is_explained_that_is_not_granted() -> None:
    assert explained() - granted() == set()


def test_the_page_names_values_that_the_chart_has() -> None:
    values = yaml.safe_load((ROOT / "charts/muster/values.yaml").read_text())
    hardening = PAGE.partition("## Hardening")[2]
    for cell in re.findall(r"^\| (`.*?) \|", hardening, flags=re.MULTILINE):
        for path in re.findall(r"`([\w.]+)", cell):
            found: Any = values
            for key in path.split("."):
                assert key in found, f"the chart has no value {path}"
                found = found[key]
