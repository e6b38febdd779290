"""The command as a user meets it: every error is one sentence, never a traceback."""

import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from muster import __version__
from muster.api.profile import KUBERNETES_GROUP, OWN_GROUP, ApiGroupSetting
from muster.cli.crds import Choice, Group


def muster(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "KUBECONFIG": "/nonexistent", "HOME": "/nonexistent", "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-m", "muster", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["run", "--nonsense"], "--nonsense", id="a flag that there is not"),
        pytest.param(["nonsense"], "nonsense", id="a command that there is not"),
        pytest.param(["run", "--dev", "--port", "99999"], "--port", id="a port that there is not"),
        pytest.param(["run", "--dev", "--log-level", "loud"], "'loud'", id="a log level that there is not"),
        pytest.param(["run", "--dev", "--kubeconfig", "/nonexistent/x"], "no such file", id="no kubeconfig there"),
    ],
)
def test_an_error_is_one_sentence(arguments: list[str], says: str) -> None:
    result = muster(*arguments)
    assert result.returncode != 0
    assert result.stderr.startswith("muster: ")
    assert says in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert "Traceback" not in result.stderr + result.stdout


@pytest.mark.parametrize(
    "content", [pytest.param("", id="empty"), pytest.param("{[", id="broken"), pytest.param("a: 1", id="another file")]
)
def test_an_invalid_kubeconfig_is_one_sentence_with_its_path(tmp_path: Path, content: str) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(content)
    result = muster("run", "--dev", "--kubeconfig", str(path))
    assert result.returncode != 0
    assert str(path) in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert "Traceback" not in result.stderr


def test_the_version_command_prints_the_version() -> None:
    assert muster("version").stdout == f"muster {__version__}\n"


def test_the_groups_of_the_command_line_are_those_of_the_profiles() -> None:
    assert {each.value for each in Group} == {KUBERNETES_GROUP, OWN_GROUP}
    assert {each.value for each in Choice} == set(get_args(ApiGroupSetting)) == {"auto", KUBERNETES_GROUP, OWN_GROUP}
