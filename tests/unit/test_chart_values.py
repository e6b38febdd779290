"""The chart's values: every one documented, known to the schema, and of the version that they are shipped with."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import muster
from chart_readme import CHART, README, Undocumented, page, values

ROOT = Path(__file__).parents[2]
VALUES = (CHART / "values.yaml").read_text()
SCHEMA = json.loads((CHART / "values.schema.json").read_text())


def keys(tree: dict[str, Any], path: str = "") -> Iterator[str]:
    for key, value in tree.items():
        yield f"{path}{key}"
        if isinstance(value, dict):
            yield from keys(value, f"{path}{key}.")


def described(schema: dict[str, Any], path: str = "") -> Iterator[str]:
    for key, value in schema.get("properties", {}).items():
        yield f"{path}{key}"
        yield from described(value, f"{path}{key}.")


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for child in schema.values():
            yield from objects(child)


FREE = ("global", "resources.", "affinity.", "certificates.certManager.issuerRef.", "metrics.dashboard.labels.")
"""Below these the user decides what there is."""


def test_the_schema_and_the_values_have_the_same_keys() -> None:
    def ours(paths: Iterator[str]) -> set[str]:
        return {path for path in paths if not path.startswith(FREE)}

    assert ours(keys(yaml.safe_load(VALUES))) == ours(described(SCHEMA))


def test_the_schema_lets_no_unknown_key_pass() -> None:
    open_ended = [schema for schema in objects(SCHEMA) if "properties" in schema]
    assert len(open_ended) > 20
    assert not [schema for schema in open_ended if schema.get("additionalProperties") is not False]


def test_every_value_says_what_it_does() -> None:
    documented = {value.path: value.text for value in values(VALUES)}
    assert len(documented) > 60
    assert not [path for path, text in documented.items() if len(text) < 15]
    assert README.read_text() == page(VALUES)


def test_a_value_without_a_comment_is_refused() -> None:
    with pytest.raises(Undocumented, match=r"a\.c has no comment"):
        values("a:\n  # Something.\n  b: 1\n\n  c: 2\n")


def test_a_comment_of_several_lines_is_one_text_and_belongs_to_one_value() -> None:
    found = values("# Not about a value.\n\n# One\n# and more.\na: [1, {b: 2}]\n# Two.\nc: {}\n")
    assert [(value.path, value.default, value.text) for value in found] == [
        ("a", [1, {"b": 2}], "One and more."),
        ("c", {}, "Two."),
    ]


def test_chart_and_package_have_one_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    package = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert {chart["version"], chart["appVersion"], muster.__version__} == {package}
