"""What the image holds: the Dockerfile's own commands fill a folder, and only that folder is on Python's path.

The packages come from PyPI; uv's cache usually has them. The folders of the build stage are folders of the test, and uv
keeps its cache, as nothing else differs.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.dockerfile import BUILD, MAX_BYTES, ROOT, rest_of, runs

SECONDS = 240


def uv() -> str:
    """As hack/setup finds it."""
    done = subprocess.run([ROOT / "hack/uv"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def copy_source(source: Path) -> None:
    """What COPY puts there, without what .dockerignore keeps away."""
    for copied in rest_of(BUILD, "COPY"):
        *names, _ = copied.split()
        for name in names:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
            else:
                shutil.copy(ROOT / name, source / name)


def here(command: list[str], root: Path) -> list[str]:
    """The same command, with this interpreter, uv's cache, and folders below `root`."""
    assert command[0] in {"uv", "python"}, command
    program = [uv()] if command[0] == "uv" else [sys.executable]
    interpreter = ["--python", sys.executable] if command[:2] in (["uv", "pip"], ["uv", "build"]) else []
    arguments = [f"{root}{part}" if part.startswith("/") else part for part in command[1:] if part != "--no-cache"]
    return [*program, *arguments, *interpreter]


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """/opt/muster."""
    root = tmp_path_factory.mktemp("image")
    (source := root / "source").mkdir()
    copy_source(source)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("VIRTUAL_ENV", "PYTHON"))}
    for command in runs(BUILD):
        if command[0] == "pip":  # it installs uv, which the test has
            continue
        done = subprocess.run(
            here(command, root),
            cwd=source,
            env=environment | {"UV_PYTHON_DOWNLOADS": "never", "UV_LINK_MODE": "copy"},
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
    return root / "packages"


def python(packages: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """As in the image: no other packages (-S), nothing of the user's, and no file is written."""
    return subprocess.run(
        [sys.executable, "-S", "-P", *arguments],
        cwd=packages.parent,
        env={"PYTHONPATH": str(packages), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(packages.parent)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_image_has_at_most_110_mb_unpacked(packages: Path) -> None:
    weights = {each.name: sum(file.lstat().st_size for file in [each, *each.rglob("*")]) for each in packages.iterdir()}
    heaviest = sorted(weights.items(), key=lambda item: -item[1])[:10]
    assert sum(weights.values()) <= MAX_BYTES, heaviest
    assert {"muster", "kopf", "aiohttp"} <= weights.keys()


def test_the_image_lacks_the_kubernetes_package_and_its_dependencies(packages: Path) -> None:
    names = {each.name.partition("-")[0].lower() for each in packages.iterdir()}
    assert names.isdisjoint({"kubernetes", "requests", "urllib3", "oauthlib", "websocket_client", "websocket"})


def test_every_module_has_bytecode_that_does_not_expire(packages: Path) -> None:
    """Where the root is read-only, a start would otherwise compile everything anew."""
    modules = list((packages / "muster").rglob("*.py"))
    assert modules
    for module in modules:
        (compiled,) = (module.parent / "__pycache__").glob(f"{module.stem}.cpython-*.pyc")
        assert int.from_bytes(compiled.read_bytes()[4:8], "little") == 0b01, "hash-based, and not checked"


def test_the_command_of_the_image_answers(packages: Path) -> None:
    done = python(packages, "-m", "muster", "version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip()


def test_the_image_has_all_that_muster_run_imports(packages: Path) -> None:
    script = """
import importlib, pkgutil, sys
import muster
from muster.cli import run
run._import_all()
found = {module.name for module in pkgutil.walk_packages(muster.__path__, "muster.")} - {"muster.__main__"}
for name in found:
    importlib.import_module(name)
strangers = [name for name, module in sys.modules.items()
             if "site-packages" in (getattr(module, "__file__", None) or "")]
print(len(found), strangers, "kubernetes" in sys.modules)
"""
    done = python(packages, "-c", script)
    assert done.returncode == 0, done.stderr
    count, rest = done.stdout.split(maxsplit=1)
    assert int(count) > 50
    assert rest == "[] False\n"


def test_outside_a_pod_the_error_is_one_line(packages: Path) -> None:
    done = python(packages, "-m", "muster", "run", "--kubeconfig", "/etc/hostname")
    assert done.returncode == 1
    assert done.stderr.startswith(
        "muster: cannot log in with /etc/hostname: reading a kubeconfig needs the Python package"
    )
    assert len(done.stderr.splitlines()) == 1
