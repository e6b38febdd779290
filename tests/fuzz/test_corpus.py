"""Every parser is total: the known hostile bytes, and a short search for more."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.fuzz.fuzz import COMMON, CORPUS, LONGEST_INPUT
from tests.fuzz.targets import PARSERS

ROOT = Path(__file__).parents[2]
SECONDS = 2
"""Of searching, for each parser."""


def corpus_of(parser: str) -> list[Path]:
    return sorted([*(CORPUS / parser).iterdir(), *COMMON.iterdir()])


@pytest.mark.parametrize("parser", PARSERS)
def test_known_bytes_give_a_value_or_an_error_value(parser: str) -> None:
    for file in corpus_of(parser):
        try:
            PARSERS[parser](file.read_bytes())
        except Exception as error:  # noqa: BLE001 - whatever it is, it is named
            pytest.fail(f"{parser} fails on {file.relative_to(ROOT)}: {type(error).__name__}: {error}")


def test_every_parser_has_a_corpus_and_every_corpus_a_parser() -> None:
    assert {each.name for each in CORPUS.iterdir()} == {*PARSERS, COMMON.name}
    assert all(corpus_of(parser) for parser in PARSERS)


def test_the_corpus_is_small() -> None:
    sizes = {file: file.stat().st_size for file in CORPUS.rglob("*") if file.is_file()}
    assert max(sizes.values()) <= 4 * LONGEST_INPUT
    assert sum(sizes.values()) < 512 * 1024


@pytest.mark.skipif(
    find_spec("atheris") is None, reason="atheris is not installed (Linux on x86_64, Python 3.12 or newer)"
)
@pytest.mark.timeout(240)
def test_a_short_search_finds_nothing() -> None:
    command = [sys.executable, "-m", "tests.fuzz.fuzz", "--seconds", str(SECONDS)]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    assert "no findings" in done.stdout
