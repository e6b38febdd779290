"""What the kind scripts say on machines of every sort, with made-up programs on the path."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ORDINARY = ("awk", "basename", "bash", "cat", "dirname", "env", "grep", "sed", "seq", "sleep", "tail")
ANSWERS, SILENT = "exit 0", "exit 1"
ROOT_USER, ANYBODY = "echo 0", '[ "$1" = -un ] && echo ann || echo 1000'


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder for a path, with a machine's ordinary programs."""
    for name in ORDINARY:
        found = shutil.which(name)
        assert found, name
        (tmp_path / name).symlink_to(found)
    install(tmp_path, "uname", "echo Linux")
    install(tmp_path, "id", ROOT_USER)
    return tmp_path


def install(machine: Path, name: str, script: str) -> None:
    program = machine / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def run(machine: Path, script: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(machine), "HOME": str(machine / "home"), **variables}
    return subprocess.run(
        [ROOT / script, *arguments], env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_where_a_daemon_answers_the_command_runs_and_its_exit_code_is_the_answer(machine: Path) -> None:
    install(machine, "docker", ANSWERS)
    install(machine, "seven", "echo ran; exit 7")
    for word in ("with", "try"):
        done = run(machine, "hack/kind/engine", word, "seven")
        assert (done.returncode, done.stdout) == (7, "ran\n")


OBSTACLES = {
    "podman is not Docker": (
        {"podman": ANSWERS},
        "podman is not supported: kind loads images and stops nodes through Docker. Install Docker.",
    ),
    "a Mac has no dockerd": ({"uname": "echo Darwin"}, "no Docker daemon answers: install Docker and start it."),
    "only root starts a daemon": (
        {"docker": SILENT, "id": ANYBODY},
        "only root can start one: install Docker, start it, and let ann use it.",
    ),
    "without apt-get nothing is installed": (
        {"docker": SILENT},
        "this machine is not Debian, where it could be installed: install Docker and start it.",
    ),
}


@pytest.mark.parametrize("case", OBSTACLES)
def test_where_none_can_be_started_it_says_why_in_one_line(machine: Path, case: str) -> None:
    programs, sentence = OBSTACLES[case]
    for name, script in programs.items():
        install(machine, name, script)
    refused = run(machine, "hack/kind/engine", "with", "false")
    assert refused.returncode == 1
    assert refused.stderr.startswith("hack/kind/engine: no Docker daemon answers")
    assert refused.stderr.endswith(f"{sentence}\n")
    skipped = run(machine, "hack/kind/engine", "try", "false")
    assert skipped.returncode == 0, "CI goes on"
    assert skipped.stdout.startswith("Skipping `false`: ")
    assert skipped.stdout.endswith(f"{sentence}\n")
    assert skipped.stdout.count("\n") == 1


def test_a_daemon_that_does_not_start_is_an_obstacle_with_its_last_words(machine: Path) -> None:
    for name, script in {"docker": SILENT, "ip": "exit 0", "iptables": "exit 0", "setsid": '"$@"'}.items():
        install(machine, name, script)
    install(machine, "dockerd", "echo starting; echo no cgroups here")
    for name in ("mkdir", "rm"):
        (machine / name).symlink_to(str(shutil.which(name)))
    skipped = run(machine, "hack/kind/engine", "try", "false")
    assert (skipped.returncode, skipped.stderr) == (0, "")
    assert skipped.stdout.endswith("dockerd did not start: no cgroups here\n")


SETTINGS = {
    "podman as the engine": (
        {"CONTAINER_ENGINE": "podman"},
        "CONTAINER_ENGINE=podman is not supported, only Docker is",
    ),
    "an unknown profile": ({"PROFILE": "cdr"}, "PROFILE is native, crd or stock, not 'cdr'"),
}


@pytest.mark.parametrize("case", SETTINGS)
@pytest.mark.parametrize("script", ["hack/kind-up", "hack/kind-load", "hack/kind-down"])
def test_a_setting_that_cannot_be_followed_is_refused(machine: Path, script: str, case: str) -> None:
    install(machine, "docker", ANSWERS)
    variables, sentence = SETTINGS[case]
    done = run(machine, script, **variables)
    assert done.returncode == 1
    assert f"{Path(script).name}: {sentence}" in done.stderr


@pytest.mark.parametrize("script", ["hack/kind-load", "hack/kind-install", "hack/kind-e2e"])
def test_without_a_cluster_it_says_how_to_make_one(machine: Path, script: str) -> None:
    install(machine, "docker", ANSWERS)
    done = run(machine, script, PROFILE="stock")
    assert done.returncode == 1
    assert "there is no cluster: run `make kind-up PROFILE=stock` first" in done.stderr


def test_the_node_image_needs_root(machine: Path) -> None:
    install(machine, "docker", '[ "$1" = version ]')
    install(machine, "id", ANYBODY)
    for name in ("sha256sum", "cut"):
        (machine / name).symlink_to(str(shutil.which(name)))
    if not os.access(ROOT / ".venv/bin/python", os.X_OK):
        pytest.skip("needs the project's virtual environment")
    done = run(machine, "hack/kind/node-image")
    assert done.returncode == 1
    assert done.stderr.endswith("Building the node image needs root, because debootstrap makes a root file system: "
                                "run it as root, or where an image can be pulled.\n")  # fmt: skip
