"""The pinned requirements of uv.lock: for all platforms, and for the image."""

import json
import re
from pathlib import Path

from packaging.requirements import Requirement

from release_build.environment import run, uv
from release_build.errors import ReleaseRefused

_EXPORT = re.compile(r'^RUN (\["uv", "export", .*\])$', re.MULTILINE)
_PYTHON = re.compile(r'^ENTRYPOINT \["/usr/bin/python(3\.\d+)"', re.MULTILINE)


def locked(source: Path) -> str:
    """All requirements of the wheel, with markers and hashes."""
    return run([uv(), "export", "--frozen", "--no-dev", "--no-emit-project", "--no-header", "--quiet"], source)


def machine(architecture: str) -> str:
    """What Linux calls the architecture that an image or another system names."""
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(architecture, architecture)


def in_image(source: Path, machine: str) -> list[str]:
    """`name==version` of each package in the image: the Dockerfile's own export, for the image's Python."""
    dockerfile = (source / "Dockerfile").read_text()
    export, python = _EXPORT.search(dockerfile), _PYTHON.search(dockerfile)
    if not export or not python:
        raise ReleaseRefused("The Dockerfile has no `uv export` or no Python as its entrypoint: the SBOM needs both.")
    arguments = json.loads(export[1])[1:]
    cut = arguments.index("--output-file")
    text = run([uv(), *arguments[:cut], *arguments[cut + 2 :], "--no-hashes", "--no-header", "--no-annotate"], source)
    return applicable(text, python[1], machine)


def applicable(requirements: str, python: str, machine: str) -> list[str]:
    """The requirements whose markers match the image: Linux on that machine, CPython of that version."""
    environment = {
        "implementation_name": "cpython",
        "os_name": "posix",
        "platform_machine": machine,
        "platform_python_implementation": "CPython",
        "platform_system": "Linux",
        "python_full_version": f"{python}.0",
        "python_version": python,
        "sys_platform": "linux",
    }
    found = [
        Requirement(line) for line in requirements.splitlines() if line.strip() and not line.startswith((" ", "#"))
    ]
    return [
        f"{requirement.name}{requirement.specifier}"
        for requirement in found
        if requirement.marker is None or requirement.marker.evaluate(environment)
    ]
