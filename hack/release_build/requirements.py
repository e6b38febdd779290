"""What uv.lock pins: for every platform, and for the image alone."""

import json
import re
from pathlib import Path

from packaging.requirements import Requirement

from release_build.environment import run, uv
from release_build.errors import ReleaseRefused

_EXPORT = re.compile(r'^RUN (\["uv", "export", .*\])$', re.MULTILINE)
_PYTHON = re.compile(r'^ENTRYPOINT \["/usr/bin/python(3\.\d+)"', re.MULTILINE)


def locked(source: Path) -> str:
    """Everything that the wheel needs, with markers and hashes."""
    return run([uv(), "export", "--frozen", "--no-dev", "--no-emit-project", "--no-header", "--quiet"], source)


def in_image(source: Path) -> list[str]:
    """`name==version` of each package in the image: the Dockerfile's own export, on the image's Python."""
    dockerfile = (source / "Dockerfile").read_text()
    export, python = _EXPORT.search(dockerfile), _PYTHON.search(dockerfile)
    if not export or not python:
        raise ReleaseRefused(
            "The Dockerfile has no `uv export` or no Python as its entrypoint: the SBOM rests on both."
        )
    arguments = json.loads(export[1])[1:]
    cut = arguments.index("--output-file")
    text = run([uv(), *arguments[:cut], *arguments[cut + 2 :], "--no-hashes", "--no-header", "--no-annotate"], source)
    return applicable(text, python[1])


def applicable(requirements: str, python: str) -> list[str]:
    """Those whose markers fit the image: Linux, CPython of that version."""
    environment = {
        "implementation_name": "cpython",
        "os_name": "posix",
        "platform_machine": "x86_64",
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
