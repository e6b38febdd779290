"""One line per record, whatever is in it."""

import json
import logging

import pytest

from muster.api.keys import JobKey
from muster.cli.logs import TEXT, Json, Text, log_to_stderr
from muster.config.types import Logging

NASTY = {
    "a new line": "a\nINFO muster: forged",
    "a carriage return": "a\rb",
    "an escape": "\x1b[31mred",
    "a quote": 'a", "level": "error',
    "a line separator": "a\u2028b\u2029c\x85d",
    "a lone surrogate": "a\ud800b",
    "a direction": "a\u202eb\u2066c",
    "a control sequence of 8 bits": "a\x9b31mb\x7f",
    "a megabyte": "x" * 1_000_000,
    "no character at all": "",
}


def record(message: str, **extra: object) -> logging.LogRecord:
    made = logging.LogRecord("muster.x", logging.WARNING, "x.py", 1, "said: %s", (message,), None)
    made.__dict__.update(extra)
    return made


@pytest.mark.parametrize("message", NASTY.values(), ids=list(NASTY))
def test_json_is_one_object_in_one_line(message: str) -> None:
    line = Json().format(record(message))
    assert line.isprintable()
    assert len(line) < 4_000
    logged = json.loads(line)
    assert set(logged) == {"time", "level", "logger", "message"}
    assert (logged["level"], logged["logger"]) == ("warning", "muster.x")
    assert logged["message"].startswith("said: ")


@pytest.mark.parametrize("message", NASTY.values(), ids=list(NASTY))
def test_text_is_one_line(message: str) -> None:
    line = Text(TEXT).format(record(message))
    assert line.isprintable()
    assert len(line) < 4_000
    assert "WARNING muster.x: said: " in line


def test_the_job_is_a_key_of_its_own() -> None:
    logged = json.loads(Json().format(record("x", job=JobKey("team-a", "train"))))
    assert logged["job"] == "team-a/train"
    assert logged["time"].endswith("+00:00")


def test_a_trace_is_in_the_same_line() -> None:
    error = ValueError("first\nsecond")
    line = Json().format(record("x", exc_info=(ValueError, error, None)))
    assert "\n" not in line
    assert json.loads(line)["trace"].endswith("ValueError: first\nsecond")


def test_the_settings_choose_the_level_and_the_format(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    try:
        log_to_stderr(Logging(level="warning", format="json"))
        logging.getLogger("muster.x").info("not this")
        logging.getLogger("muster.x").warning("%s: this", "a/b", extra={"job": JobKey("a", "b")})
        (line,) = capsys.readouterr().err.splitlines()
    finally:
        root.handlers[:] = before
        root.setLevel(level)
    assert json.loads(line)["job"] == "a/b"
