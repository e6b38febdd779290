"""`make image-pins`, with a `docker` that answers as the test says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import image_pins
from image_pins import PLACES, ROOT, Pin

OLD, NEW = f"sha256:{'0' * 64}", f"sha256:{'a1' * 32}"
DOCKERFILE = """# a comment about ARG BASE=old:tag
ARG BUILD_BASE=python:3.13-slim-trixie
ARG BASE=gcr.io/distroless/python3-debian13:nonroot{pin}

FROM ${{BUILD_BASE}} AS build
FROM ${{BASE}}
ARG BASE
"""
SETTINGS = 'NODE_IMAGE_TAG="kindest/node:v1.36.4{pin}"\nnode_image="${{KIND_NODE_IMAGE:-$NODE_IMAGE_TAG}}"\n'
TAGS = ["python:3.13-slim-trixie", "gcr.io/distroless/python3-debian13:nonroot", "kindest/node:v1.36.4"]

BUILDX = (
    f'[ "$1 $2 $3" = "buildx imagetools inspect" ] && printf "Name: x\\nDigest:    {NEW}\\n\\nManifests:\\n" && exit 0'
)
NO_BUILDX = """[ "$1" = buildx ] && { echo "docker: 'buildx' is not a docker command." >&2; exit 1; }"""
PULL = '[ "$1" = pull ] && exit 0'
NO_REGISTRY = """[ "$1" = pull ] && { printf 'Error response from daemon\\ndial tcp: no such host\\n' >&2; exit 1; }"""
SHORT = f"""[ "$1" = image ] && printf '["other@{OLD}","%s@{NEW}"]' "${{5%:*}}" && exit 0"""
LONG = f"""[ "$1" = image ] && printf '["docker.io/library/%s@{NEW}"]' "${{5%:*}}" && exit 0"""
NONE = """[ "$1" = image ] && echo '[]' && exit 0"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    (tmp_path / "hack").mkdir()
    (tmp_path / "hack/image_pins.py").write_bytes((ROOT / "hack/image_pins.py").read_bytes())
    (tmp_path / "Dockerfile").write_text(DOCKERFILE.format(pin=""))
    (tmp_path / "hack/kind-settings").write_text(SETTINGS.format(pin=""))
    return tmp_path


def texts(clone: Path) -> list[str]:
    return [(clone / name).read_text() for name in ("Dockerfile", "hack/kind-settings")]


def run(clone: Path, *answers: str, engine: str = "docker") -> subprocess.CompletedProcess[str]:
    (programs := clone / "programs").mkdir(exist_ok=True)
    fake = programs / engine
    fake.write_text("\n".join(["#!/bin/bash", f'echo "$*" >> {clone}/asked', *answers, "exit 3"]))
    fake.chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "CONTAINER_ENGINE": engine}
    command = [sys.executable, str(clone / "hack/image_pins.py")]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)


ENGINES: dict[str, tuple[str, ...]] = {
    "buildx asks the registry": (BUILDX,),
    "without buildx the image is pulled": (NO_BUILDX, PULL, SHORT),
    "an engine writes the whole name": (NO_BUILDX, PULL, LONG),
}


@pytest.mark.parametrize("answers", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("old", ["", f"@{OLD}"], ids=["no pin", "an old pin"])
def test_each_tag_gets_the_digest_of_today(clone: Path, answers: tuple[str, ...], old: str) -> None:
    (clone / "Dockerfile").write_text(DOCKERFILE.format(pin=old))
    (clone / "hack/kind-settings").write_text(SETTINGS.format(pin=old))
    done = run(clone, *answers)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split(": ", 1)[1] for line in done.stdout.splitlines()] == [f"{tag}@{NEW}" for tag in TAGS]
    dockerfile, settings = texts(clone)
    wanted = DOCKERFILE.format(pin=f"@{NEW}").replace("slim-trixie\n", f"slim-trixie@{NEW}\n")
    assert (dockerfile, settings) == (wanted, SETTINGS.format(pin=f"@{NEW}"))
    assert OLD not in (clone / "asked").read_text(), "the registry is asked for the tag, not for the old digest"


def test_a_second_time_changes_nothing(clone: Path) -> None:
    run(clone, BUILDX)
    once = texts(clone)
    assert run(clone, BUILDX).returncode == 0
    assert texts(clone) == once


def unreachable(tag: str, why: str) -> str:
    return f"docker cannot get {tag} from its registry ({why}); nothing was changed. {ADVICE}"


ADVICE = "Run `make image-pins` where the registry can be reached."
FAILURES: dict[str, tuple[tuple[str, ...], str]] = {
    "no registry answers": ((NO_BUILDX, NO_REGISTRY), unreachable(TAGS[0], "dial tcp: no such host")),
    "an engine says nothing": ((), unreachable(TAGS[0], "it does not say why")),
    "only the last has no digest": (
        (f'[ "$4" != {TAGS[2]} ] && ' + BUILDX, NO_REGISTRY),
        unreachable(TAGS[2], "dial tcp: no such host"),
    ),
    "the image is one of this machine": (
        (NO_BUILDX, PULL, NONE),
        f"docker has {TAGS[0]} without a registry digest; nothing was changed. Pull the image again.",
    ),
}


@pytest.mark.parametrize(("answers", "sentence"), FAILURES.values(), ids=FAILURES)
def test_a_missing_digest_is_one_sentence(clone: Path, answers: tuple[str, ...], sentence: str) -> None:
    before = texts(clone)
    done = run(clone, *answers)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"image-pins: {sentence}\n")
    assert texts(clone) == before


def test_podman_works_as_the_engine(clone: Path) -> None:
    assert run(clone, NO_BUILDX, PULL, LONG, engine="podman").returncode == 0


def test_an_engine_that_is_not_installed(clone: Path) -> None:
    with pytest.raises(image_pins.Unpinned, match="no-such-engine is needed and not installed; nothing was changed"):
        image_pins.pin(clone, "no-such-engine")


@pytest.mark.parametrize("line", ["", "NODE_IMAGE_TAG=kindest/node\n", SETTINGS.format(pin="") * 2])
def test_a_missing_or_repeated_line_is_an_error(clone: Path, line: str) -> None:
    (clone / "hack/kind-settings").write_text(line)
    done = run(clone, BUILDX)
    assert done.returncode == 1
    assert "must have one line NODE_IMAGE_TAG=NAME:TAG" in done.stderr
    assert texts(clone)[0] == DOCKERFILE.format(pin="")


@pytest.mark.parametrize(("file", "start"), PLACES)
def test_the_clone_has_every_line(file: str, start: str) -> None:
    assert Pin.find(ROOT / file, start).tag
