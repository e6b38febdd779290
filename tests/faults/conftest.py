"""What all sweeps need."""

import logging
from collections.abc import Iterator

import pytest

from muster.runtime import ttl_cache


@pytest.fixture(autouse=True)
def _quiet_and_clean() -> Iterator[None]:
    """Thousands of runs warn of thousands of faults; and the runs borrow the clock of Muster's memory."""
    clock = vars(ttl_cache)["time"]
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)
    vars(ttl_cache)["time"] = clock
