"""Other people's controllers import this: a change of it is a change for them, and is seen here."""

import ast
import inspect
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import muster.workloadbuilder as library

PINNED = Path(__file__).with_name("public_surface.txt")


def surface() -> str:
    """Every public name as its source declares it: fields, members, signatures. Bodies are nobody's business."""
    return "".join(f"{line}\n" for name in library.__all__ for line in described(name, getattr(library, name)))


def described(name: str, thing: object) -> Iterator[str]:
    if not inspect.isclass(thing) and not inspect.isfunction(thing):
        yield re.sub(r"\b[a-z][\w.]*\.(?=[A-Z])", "", f"{name} = {thing!r}")
        return
    (declared,) = ast.parse(textwrap.dedent(inspect.getsource(thing))).body
    if isinstance(declared, ast.FunctionDef):
        yield signature(declared)
    elif isinstance(declared, ast.ClassDef):
        yield f"class {name}({', '.join(map(ast.unparse, declared.bases))})"
        yield from (f"    {line}" for node in declared.body for line in member(node))


def member(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.AnnAssign):
        yield f"{ast.unparse(node.target)}: {ast.unparse(node.annotation)}{' = ...' if node.value else ''}"
    elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) != "model_config":
        yield ast.unparse(node)
    elif isinstance(node, ast.FunctionDef) and (not node.name.startswith("_") or node.name == "__init__"):
        yield from (f"@{ast.unparse(decorator)}" for decorator in node.decorator_list)
        yield signature(node)


def signature(node: ast.FunctionDef) -> str:
    return f"def {node.name}({ast.unparse(node.args)}) -> {ast.unparse(node.returns) if node.returns else ''}"


def test_the_public_surface_is_the_one_that_was_promised() -> None:
    """If the change is intended, regenerate the snapshot: `python -m tests.unit.workloadbuilder.test_public_surface`"""
    assert surface() == PINNED.read_text()


def test_every_public_name_has_a_docstring() -> None:
    quiet = [name for name in library.__all__ if inspect.isclass(getattr(library, name))]
    assert [name for name in quiet if not (getattr(library, name).__doc__ or "").strip()] == []
    assert sorted(library.__all__, key=lambda name: (not name.isupper(), name[0].islower(), name)) == library.__all__


STRANGERS = {
    "kopf",
    "aiohttp",
    "kubernetes",
    "muster.core",
    "muster.kube",
    "muster.config",
    "muster.runtime",
    "muster.controllers",
}


def test_importing_the_library_brings_nothing_of_the_operator() -> None:
    code = "import sys, muster.workloadbuilder; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert "muster.workloadbuilder.builder" in loaded
    assert STRANGERS.isdisjoint(loaded)


def test_the_library_is_typed() -> None:
    assert (Path(library.__file__).parents[1] / "py.typed").exists()


if __name__ == "__main__":
    PINNED.write_text(surface())
