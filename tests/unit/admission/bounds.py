"""Measures what much and large input does to a process: its memory, and for how long its loop blocks."""

import asyncio
import gc
import resource
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

PROBE_SECONDS = 0.005
MIB = 1024 * 1024


@dataclass
class Measured:
    grown: float = 0.0
    """MiB of resident memory."""
    longest_block: float = 0.0
    """Seconds of processor time between two turns of the loop; other processes on the machine do not count."""


@asynccontextmanager
async def measured() -> AsyncIterator[Measured]:
    found = Measured()
    before = resident()
    probe = asyncio.create_task(_probe(found))
    await asyncio.sleep(0)
    try:
        yield found
    finally:
        probe.cancel()
        found.grown = (resident() - before) / MIB


async def _probe(found: Measured) -> None:
    while True:
        began = time.thread_time()
        await asyncio.sleep(PROBE_SECONDS)
        found.longest_block = max(found.longest_block, time.thread_time() - began)


def resident() -> int:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()
