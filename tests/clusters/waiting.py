"""Waiting for the cluster, with a sentence for when it never comes."""

import os
import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")

PATIENCE = float(os.environ.get("MUSTER_E2E_PATIENCE", "1"))
"""How much longer than on the local control plane to wait for something: real nodes start and end real processes."""

SHORTEST_SECONDS, LONGEST_SECONDS = 0.02, 0.1
"""Between two looks. Most answers come within a second, so the first looks follow each other quickly."""


def eventually(check: Callable[[], Value | None], what: str, seconds: float = 30, every: float | None = None) -> Value:
    """The first true answer. An AssertionError inside the check means not yet, and is shown at the end."""
    seconds *= PATIENCE
    pause = every or SHORTEST_SECONDS
    deadline = time.monotonic() + seconds
    last = ""
    while True:
        try:
            if value := check():
                return value
        except AssertionError as error:
            last = f": {error}"
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not happen within {seconds} s{last}")
        time.sleep(pause)
        pause = every or min(LONGEST_SECONDS, pause * 1.5)


def always(check: Callable[[], bool], what: str, seconds: float, every: float = 0.1) -> None:
    """The check holds all the time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert check(), f"{what} did not hold"
        time.sleep(every)
