"""What a command does not import, since imports take most of its start-up time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ONLY_FOR_A_CLUSTER = {"aiohttp", "asyncio", "cryptography", "kopf", "kubernetes", "prometheus_client", "uvloop"}
ONLY_FOR_OBJECTS = {"muster.api", "muster.config", "yaml"}
ONLY_FOR_HELP = {"rich"}
ONLY_FOR_WATCHING = {"kopf", "kubernetes", "requests", "muster.watching"}

COMMAND = "from muster.cli.main import main; sys.argv[0] = 'muster'; main()"
ADMISSION = "import muster.cli.run"
ALL_OF_RUN = "import muster.cli.run, muster.watching.thread, kubernetes.config"


def imported(code: str, *arguments: str) -> set[str]:
    """The modules that a process has when it has run the code, which may exit."""
    ending = "try:\n {}\nexcept SystemExit: pass\nprint('\\n', *sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", f"import sys\n{ending.format(code)}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=_environment())
    return set(done.stderr.rsplit("\n", 2)[1].split())


def _environment() -> dict[str, str]:
    """Nothing that a test runner puts into the processes below it, such as coverage."""
    return {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "PYTHONPATH"}}


@pytest.mark.parametrize(
    ("arguments", "without"),
    [
        pytest.param(["version"], ONLY_FOR_A_CLUSTER | ONLY_FOR_OBJECTS | ONLY_FOR_HELP, id="version"),
        pytest.param(["--help"], ONLY_FOR_A_CLUSTER | ONLY_FOR_OBJECTS, id="help"),
        pytest.param(["run", "--help"], ONLY_FOR_A_CLUSTER | ONLY_FOR_OBJECTS, id="help of run"),
        pytest.param(["config", "check", "settings.yaml"], ONLY_FOR_A_CLUSTER | ONLY_FOR_HELP, id="config check"),
        pytest.param(["config", "print"], ONLY_FOR_A_CLUSTER | ONLY_FOR_HELP, id="config print"),
        pytest.param(["crds", "print"], ONLY_FOR_A_CLUSTER | ONLY_FOR_HELP, id="crds print"),
    ],
)
def test_a_command_without_a_cluster_imports_little(
    arguments: list[str], without: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("settings.yaml").write_text("probeSeconds: 3\n")
    found = imported(COMMAND, *arguments)
    assert "muster.cli.main" in found
    assert found & without == set()


def test_admission_does_not_import_what_only_watching_needs() -> None:
    found = imported(ADMISSION)
    assert {"aiohttp", "muster.admission.server"} <= found
    assert found & (ONLY_FOR_WATCHING | ONLY_FOR_HELP) == set()


def test_run_does_not_import_the_models_of_every_kubernetes_api() -> None:
    """kopf takes three of its models. All of them, and the calls of all APIs, are thousands of modules."""
    found = imported(ALL_OF_RUN)
    assert "kopf" in found
    assert found & ONLY_FOR_HELP == set()
    assert not [name for name in found if name.startswith("kubernetes.client.api.")]
    assert len([name for name in found if name.startswith("kubernetes.client.models.")]) <= 5
