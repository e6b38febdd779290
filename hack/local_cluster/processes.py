"""Identifies processes, also if a process id is reused."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import sys
import time
from pathlib import Path

_ON_LINUX = sys.platform.startswith("linux")


@dataclasses.dataclass(frozen=True)
class ProcessIdentity:
    pid: int
    started: str
    """Clock ticks from boot to the start of the process; empty if the system does not report it."""


def identity_of(pid: int) -> ProcessIdentity | None:
    """None if there is no such process, or only a zombie."""
    if not _ON_LINUX:
        return ProcessIdentity(pid, "") if _answers_signal(pid) else None
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # the command, in parentheses, may contain any character
    state, started = fields[0], fields[19]
    return None if state in "ZX" else ProcessIdentity(pid, started)


def is_alive(process: ProcessIdentity) -> bool:
    return identity_of(process.pid) == process


def kill(process: ProcessIdentity, signal_number: int = signal.SIGKILL) -> None:
    if is_alive(process):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal_number)


def wait_until_gone(process: ProcessIdentity, timeout: float) -> bool:
    deadline = time.monotonic() + timeout
    while is_alive(process):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _answers_signal(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
