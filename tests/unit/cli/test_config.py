"""`muster config`: all errors at once, in lines for people, and never a traceback."""

from pathlib import Path

import pytest

from muster.config.loading import parse
from muster.config.types import Settings
from tests.unit.cli.test_command import muster

BAD = "workers: 0\nservice: {port: 0}\nworker: 1\n"


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    file = tmp_path / "muster.yaml"
    file.write_text(BAD)
    return file


def test_every_error_is_told_and_the_exit_code_is_1(bad: Path) -> None:
    result = muster("config", "check", str(bad))
    assert (result.returncode, result.stdout) == (1, "")
    first, *lines = result.stderr.splitlines()
    assert first == f"muster: 3 things are wrong with {bad}"
    assert [line.split(":")[0] for line in lines] == ["workers", "service.port", "worker"]


def test_run_tells_the_same(bad: Path) -> None:
    assert muster("run", "--config", str(bad)).stderr == muster("config", "check", str(bad)).stderr


@pytest.mark.parametrize("content", ["a: [", "\x00", "- 1"], ids=["no YAML", "no text", "no mapping"])
def test_what_is_no_settings_file_is_told_in_two_lines(tmp_path: Path, content: str) -> None:
    file = tmp_path / "muster.yaml"
    file.write_text(content)
    result = muster("config", "check", str(file))
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 2
    assert "Traceback" not in result.stderr


def test_a_good_file(tmp_path: Path) -> None:
    file = tmp_path / "muster.yaml"
    file.write_text("workers: 3")
    result = muster("config", "check", str(file))
    assert (result.returncode, result.stdout) == (0, f"{file}: everything is as it should be\n")
    printed = muster("config", "print", str(file)).stdout
    assert parse(printed.encode()).workers == 3


def test_the_defaults_are_printed() -> None:
    printed = parse(muster("config", "print").stdout.encode())
    defaults = Settings()
    assert printed.service.namespace == "muster-system"
    assert printed.model_copy(update={"service": defaults.service}) == defaults
