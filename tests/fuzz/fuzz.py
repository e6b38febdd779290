"""`make fuzz`: searches for bytes that break a parser, guided by what code they reach (atheris).

    python -m tests.fuzz.fuzz [--seconds N] [PARSER …]

It writes bytes that break a parser to a directory, and names it. Add them to `tests/fuzz/corpus/PARSER/`, under a
name that says what they are, and fix the parser: `make test` replays the corpus.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
COMMON = CORPUS / "any"
"""For every parser."""
LONGEST_INPUT = 4096
LONGEST_SECONDS = 20
"""That one input may take, on a machine that does much else."""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=int, default=60, help="for each parser")
    options.add_argument("parsers", nargs="*")
    given = options.parse_args()

    import atheris

    with atheris.instrument_imports(include=["muster"]):
        from tests.fuzz.targets import PARSERS

    names = given.parsers or list(PARSERS)
    if unknown := set(names) - set(PARSERS):
        options.error(f"no such parser: {', '.join(sorted(unknown))}; there are: {', '.join(PARSERS)}")
    findings = Path(tempfile.mkdtemp(prefix="muster-fuzz-"))
    failed = [name for name in names if not _fuzz(name, given.seconds, findings)]
    print(f"{', '.join(failed)}: findings in {findings}" if failed else f"no findings in {', '.join(names)}")
    return 1 if failed else 0


def _fuzz(name: str, seconds: int, findings: Path) -> bool:
    """In a process of its own: the fuzzer ends the one that it runs in."""
    print(f"--- {name}", flush=True)
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    import atheris

    from tests.fuzz.targets import PARSERS

    reached = findings / f"{name}-reached"
    reached.mkdir()
    atheris.Setup(
        [
            sys.argv[0],
            f"-max_total_time={seconds}",
            f"-max_len={LONGEST_INPUT}",
            f"-timeout={LONGEST_SECONDS}",
            f"-artifact_prefix={findings / name}-",
            "-print_final_stats=1",
            "-verbosity=1",
            str(reached),
            *(str(each) for each in (CORPUS / name, COMMON) if each.is_dir()),
        ],
        PARSERS[name],
    )
    atheris.Fuzz()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
