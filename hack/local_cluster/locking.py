"""One command at a time per cluster or build. No lock files are left behind."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path


@contextlib.contextmanager
def exclusive(path: Path, while_waiting: Callable[[int | None], None]) -> Iterator[None]:
    """Hold the lock file. `while_waiting` is called repeatedly with the holder's process id, if it is known."""
    path.parent.mkdir(parents=True, exist_ok=True)
    while (descriptor := _try_to_lock(path)) is None:
        while_waiting(_holder(path))
        time.sleep(0.1)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def remove_if_free(path: Path) -> None:
    """Remove the file that a killed holder left behind."""
    descriptor = _try_to_lock(path)
    if descriptor is not None:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _try_to_lock(path: Path) -> int | None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The holder unlinks the file before it releases the lock: the locked file may be gone and replaced by another
        # one.
        if path.stat().st_ino != os.fstat(descriptor).st_ino:
            raise FileNotFoundError
    except OSError:
        os.close(descriptor)
        return None
    os.ftruncate(descriptor, 0)
    os.write(descriptor, str(os.getpid()).encode())
    return descriptor


def _holder(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
