"""Reads tests/conformance/catalogue: the requirements for Muster, and the tests that prove them.

An entry names a test by its node id. Brackets select the cases whose id contains the text: `test_create[V36-01]`
selects V36-01 on every server.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
CATALOGUE = ROOT / "tests/conformance/catalogue"
NODE_ID = re.compile(r"(?P<path>tests/[\w/]+\.py)::(?P<function>[\w:]+)(?:\[(?P<case>.+)\])?")


class Status(StrEnum):
    TESTED = "tested"
    DEVIATED = "deviated"
    SUPERSEDED = "superseded"
    NOT_APPLICABLE = "not-applicable"
    PLANNED = "planned"


@dataclass(frozen=True)
class Reference:
    path: str
    function: str
    """With the name of the test class in front, if there is one."""
    case: str = ""

    @classmethod
    def parse(cls, node_id: str) -> "Reference":
        found = NODE_ID.fullmatch(node_id)
        if found is None:
            raise ValueError(f"not the id of a test: {node_id}")
        return cls(found["path"], found["function"], found["case"] or "")

    def __str__(self) -> str:
        return f"{self.path}::{self.function}" + (f"[{self.case}]" if self.case else "")


@dataclass(frozen=True)
class Entry:
    id: str
    says: str
    status: Status
    tests: tuple[Reference, ...]
    because: str

    @classmethod
    def read(cls, raw: dict[str, Any]) -> "Entry":
        if unknown := raw.keys() - {"id", "says", "status", "tests", "because"}:
            raise ValueError(f"{raw['id']}: unknown {sorted(unknown)}")
        tests = tuple(Reference.parse(node_id) for node_id in raw.get("tests", ()))
        return cls(raw["id"], raw["says"], Status(raw["status"]), tests, raw.get("because", ""))


@dataclass(frozen=True)
class Source:
    title: str
    entries: tuple[Entry, ...]


FILES = ("in-tree", "workload-api", "podgroup-api", "kep-5547", "kep-5832", "kep-6089")


@cache
def sources() -> tuple[Source, ...]:
    read = [yaml.safe_load((CATALOGUE / f"{name}.yaml").read_text()) for name in FILES]
    return tuple(Source(raw["source"], tuple(map(Entry.read, raw["entries"]))) for raw in read)


def entries() -> Iterator[Entry]:
    for source in sources():
        yield from source.entries


def exists(test: Reference) -> bool:
    """Whether the test files contain the function, and the case in a string that the function can use."""
    path = ROOT / test.path
    if not path.is_file() or test.function not in _functions(path):
        return False
    return not test.case or any(test.case in text for module in _reached(path) for text in _strings(module))


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def _functions(path: Path) -> frozenset[str]:
    return frozenset(_tests_in(_tree(path).body))


def _tests_in(body: list[ast.stmt], within: str = "") -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _tests_in(node.body, f"{node.name}::")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield within + node.name


@cache
def _strings(path: Path) -> frozenset[str]:
    """All strings that are not docstrings."""
    said = {id(node.value) for node in ast.walk(_tree(path)) if isinstance(node, ast.Expr)}
    constants = (node for node in ast.walk(_tree(path)) if isinstance(node, ast.Constant) and id(node) not in said)
    return frozenset(node.value for node in constants if isinstance(node.value, str))


@cache
def _reached(path: Path) -> frozenset[Path]:
    """The module, and the test tables that it imports."""
    found, todo = set[Path](), [path]
    while todo:
        module = todo.pop()
        if module not in found:
            found.add(module)
            todo += _imported(module)
    return frozenset(found)


def _imported(path: Path) -> Iterator[Path]:
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "tests":
            place = ROOT / (node.module or "").replace(".", "/")
            names = [place.with_suffix(".py"), *(place / f"{name.name}.py" for name in node.names)]
            yield from (each for each in names if each.is_file())
