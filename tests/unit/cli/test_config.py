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


def test_check_reports_every_error_and_exits_with_1(bad: Path) -> None:
    result = muster("config", "check", str(bad))
    assert (result.returncode, result.stdout) == (1, "")
    first, *lines = result.stderr.splitlines()
    assert first == f"muster: 3 errors in {bad}"
    assert [line.split(":")[0] for line in lines] == ["workers", "service.port", "worker"]


def test_run_reports_the_same_errors(bad: Path) -> None:
    assert muster("run", "--config", str(bad)).stderr == muster("config", "check", str(bad)).stderr


@pytest.mark.parametrize("content", ["a: [", "\x00", "- 1"], ids=["no YAML", "no text", "no mapping"])
def test_check_reports_an_invalid_file_in_two_lines(tmp_path: Path, content: str) -> None:
    file = tmp_path / "muster.yaml"
    file.write_text(content)
    result = muster("config", "check", str(file))
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 2
    assert "Traceback" not in result.stderr


def test_a_correct_file_passes_check_and_is_printed(tmp_path: Path) -> None:
    file = tmp_path / "muster.yaml"
    file.write_text("workers: 3")
    result = muster("config", "check", str(file))
    assert (result.returncode, result.stdout) == (0, f"{file}: the settings are valid\n")
    printed = muster("config", "print", str(file)).stdout
    assert parse(printed.encode()).workers == 3


def test_print_shows_the_defaults() -> None:
    printed = parse(muster("config", "print").stdout.encode())
    defaults = Settings()
    assert printed.service.namespace == "muster-system"
    assert printed.model_copy(update={"service": defaults.service}) == defaults
