"""`muster` as a person runs it on a shell."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


def muster(*arguments: str, kubeconfig: Path | None = None) -> Answer:
    flags = ["--kubeconfig", str(kubeconfig)] if kubeconfig else []
    command = [str(Path(sys.executable).parent / "muster"), *arguments, *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert "Traceback" not in done.stderr, done.stderr
    return Answer(done.returncode, done.stdout, done.stderr)
