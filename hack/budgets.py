"""Checks the size budgets: modules of at most 300 lines, functions of at most 40, and no module named "utils"."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "hack", "tests")
MAX_MODULE_LINES = 300
MAX_FUNCTION_LINES = 40
DRAWERS = {"utils", "util", "helpers", "helper", "common", "misc", "base", "manager"}


def problems(path: Path) -> Iterator[str]:
    source = path.read_text()
    lines = source.count("\n")
    if path.stem in DRAWERS:
        yield f"{path}: name the module after its content, not {path.stem!r}"
    if lines > MAX_MODULE_LINES:
        yield f"{path}: {lines} lines, the budget is {MAX_MODULE_LINES}"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > MAX_FUNCTION_LINES:
                yield f"{path}:{node.lineno}: {node.name} has {length} lines, the budget is {MAX_FUNCTION_LINES}"


def main() -> None:
    modules = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    found = [problem for path in modules for problem in problems(path)]
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
