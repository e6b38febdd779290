"""Muster with a probe on its event loop: `python probed.py FILE run …` is `muster run …`.

Each line of FILE is a tenth of a second: when it began on the monotonic clock, and for how long the loop was blocked at
most in it, in seconds of processor time: what other processes take does not count. Large bodies are read without a
pause between them: ten thousand would take half an hour, and that pause bounds no memory.

To be run with `python -P`: beside this file there is another `muster.py`.
"""

import asyncio
import sys
import time
from pathlib import Path

import muster.cli.run
from muster.admission import request_bodies
from muster.app.process import serve
from muster.cli.main import main

GIBIBYTE = 1024**3
PROBE_SECONDS = 0.005
WINDOW_SECONDS = 0.1


async def probe(file: Path) -> None:
    with file.open("w", buffering=1) as lines:
        while True:
            began, longest = time.monotonic(), 0.0
            while time.monotonic() < began + WINDOW_SECONDS:
                longest = max(longest, await blocked())
            lines.write(f"{began} {longest}\n")


async def blocked() -> float:
    began = time.thread_time()
    await asyncio.sleep(PROBE_SECONDS)
    return time.thread_time() - began


def next_window(file: Path) -> float:
    """When the first one began that began after this call; it has ended by then."""
    now = time.monotonic()
    while True:
        after = [began for began, _ in windows(file) if began >= now]
        if after:
            return after[0]
        time.sleep(WINDOW_SECONDS)


def windows(file: Path) -> list[tuple[float, float]]:
    whole = [line.split() for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")]
    return [(float(began), float(longest)) for began, longest in whole]


def serve_probed(file: Path) -> None:
    async def probed(*args: object) -> None:
        probing = asyncio.create_task(probe(file))
        try:
            await serve(*args)  # type: ignore[arg-type]
        finally:
            probing.cancel()

    setattr(muster.cli.run, "serve", probed)  # noqa: B010


if __name__ == "__main__":
    request_bodies.BYTES_PER_SECOND = GIBIBYTE
    serve_probed(Path(sys.argv[1]))
    sys.argv = ["muster", *sys.argv[2:]]
    main()
