"""Waiting for the cluster, with a sentence for when it never comes."""

import os
import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")

PATIENCE = float(os.environ.get("MUSTER_E2E_PATIENCE", "1"))
"""How much longer than on the local control plane to wait for something: real nodes start and end real processes."""


def eventually(check: Callable[[], Value | None], what: str, seconds: float = 30, every: float = 0.1) -> Value:
    """The first true answer. An AssertionError inside the check means not yet, and is shown at the end."""
    seconds *= PATIENCE
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
        time.sleep(every)


def always(check: Callable[[], bool], what: str, seconds: float, every: float = 0.1) -> None:
    """The check holds all the time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert check(), f"{what} did not hold"
        time.sleep(every)
