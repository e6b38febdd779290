"""Muster with a probe on its event loop: `python probed.py FILE run …` is `muster run …`.

FILE says for how long the loop was blocked at most since somebody last removed it, in seconds of processor time: what
other processes take does not count. Large bodies are read without a pause between them: ten thousand would take half
an hour, and that pause bounds no memory.

To be run with `python -P`: beside this file there is another `muster.py`.
"""

import asyncio
import sys
import time
from pathlib import Path

import muster.cli.run
from muster.admission import intake
from muster.cli.main import main
from muster.cli.run import _serve

GIBIBYTE = 1024**3
PROBE_SECONDS = 0.005
WRITE_SECONDS = 0.1


async def probe(file: Path) -> None:
    longest, written_at = 0.0, 0.0
    while True:
        began = time.thread_time()
        await asyncio.sleep(PROBE_SECONDS)
        longest = max(longest, time.thread_time() - began)
        if time.monotonic() - written_at > WRITE_SECONDS:
            longest, written_at = write(file, longest), time.monotonic()


def write(file: Path, longest: float) -> float:
    """Whole, or not yet. Where the file is gone, the time counts from now."""
    longest = longest if file.exists() else 0.0
    fresh = file.with_suffix(".new")
    fresh.write_text(str(longest))
    fresh.replace(file)
    return longest


def serve_probed(file: Path) -> None:
    async def probed(*args: object) -> None:
        probing = asyncio.create_task(probe(file))
        try:
            await _serve(*args)  # type: ignore[arg-type]
        finally:
            probing.cancel()

    setattr(muster.cli.run, "_serve", probed)  # noqa: B010


if __name__ == "__main__":
    intake.BYTES_PER_SECOND = GIBIBYTE
    serve_probed(Path(sys.argv[1]))
    sys.argv = ["muster", *sys.argv[2:]]
    main()
