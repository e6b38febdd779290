"""docs/architecture.md: every file and function that it names exists, and the two walks are short."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text()
REFERENCES = sorted(set(re.findall(r"`([\w./-]+\.py):([\w.]+)`", PAGE)))
PATHS = sorted(set(re.findall(r"`((?:src|tests|hack|docs|charts)/[\w./-]+|[\w-]+\.(?:md|toml))`", PAGE)))
WALKS = ("A Job event", "A pod review")
MOST_HOPS = 8
MOST_FUNCTIONS = 3
"""The function of the hop, and what it calls."""


def names_in(body: list[ast.stmt]) -> dict[str, list[ast.stmt]]:
    """Name to what is inside of it, for what these statements define."""
    found: dict[str, list[ast.stmt]] = {}
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found[node.name] = node.body if isinstance(node, ast.ClassDef) else []
        elif isinstance(node, ast.Assign):
            found |= {target.id: [] for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = []
    return found


def is_defined(source: str, dotted: str) -> bool:
    body = ast.parse(source).body
    for name in dotted.split("."):
        known = names_in(body)
        if name not in known:
            return False
        body = known[name]
    return True


def hops(walk: str) -> list[str]:
    section = PAGE.partition(f"\n## {walk}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\d+\. .*(?:\n   .*)*", section, re.MULTILINE)


@pytest.mark.parametrize(("file", "name"), REFERENCES, ids=[":".join(reference) for reference in REFERENCES])
def test_every_named_function_exists(file: str, name: str) -> None:
    assert is_defined((ROOT / file).read_text(), name), f"{file} defines no {name}"


@pytest.mark.parametrize("path", PATHS)
def test_each_path_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_has_few_hops_and_each_begins_with_its_function(walk: str) -> None:
    found = hops(walk)
    assert 1 < len(found) <= MOST_HOPS
    assert [hop for hop in found if not re.match(r"\d+\. `[\w./-]+\.py:[\w.]+` ", hop)] == []
    assert [hop for hop in found if len(re.findall(r"\.py:", hop)) > MOST_FUNCTIONS] == [], "that is more than one hop"


@pytest.mark.parametrize("package", sorted(path.parent.name for path in (ROOT / "src/muster").glob("*/__init__.py")))
def test_the_picture_has_every_package(package: str) -> None:
    assert re.search(rf"^ .*\b{package}\b", PAGE.partition("```mermaid")[2].partition("```")[0], re.MULTILINE)


@pytest.mark.parametrize(
    ("dotted", "expected"),
    [("f", True), ("C.m", True), ("C.x", True), ("K", True), ("g", False), ("C.g", False), ("f.m", False)],
)
def test_the_check_finds_definitions(dotted: str, expected: bool) -> None:
    source = "K = 1\nasync def f(): pass\nclass C:\n    x: int\n    def m(self):\n        def g(): pass\n"
    assert is_defined(source, dotted) is expected
