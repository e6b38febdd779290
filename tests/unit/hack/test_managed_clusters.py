"""The page about managed clusters says of each statement whether it was tested or read."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs/managed-clusters.md").read_text()
ROWS = [line for line in TEXT.splitlines() if line.startswith("|") and line not in {"| statement | |", "|---|---|"}]


def test_every_service_has_statements() -> None:
    assert len(re.findall(r"^## ", TEXT, re.MULTILINE)) == TEXT.count("| statement | |")


@pytest.mark.parametrize("row", ROWS)
def test_a_statement_is_marked_tested_or_read(row: str) -> None:
    statement, mark = row.strip("| ").rsplit(" | ", 1)
    assert statement
    assert re.search(r"\*\*(tested|read)\*\*", mark), mark
    assert "**read**" not in mark or re.search(r"\*\*read\*\*[:,] \S", mark), "it names its source"


@pytest.mark.parametrize("row", [row for row in ROWS if "**tested**" in row])
def test_a_tested_statement_names_its_test(row: str) -> None:
    named = re.findall(r"`(tests/\S+)`", row.partition("**tested**")[2])
    assert named
    assert [name for name in named if not (ROOT / name).is_file()] == []
