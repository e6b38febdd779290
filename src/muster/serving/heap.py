"""Returns memory to the system after a flood of connections.

By default, glibc raises the size from which it returns a block at once, as soon as one such block was freed. The
buffers of TLS connections then stay in the process forever and count against the pod's memory limit.
"""

import ctypes
from typing import Any

M_MMAP_THRESHOLD = -3
RETURNED_AT_ONCE_BYTES = 64 * 1024


def return_large_blocks() -> None:
    """Call this once, before there are connections."""
    if (mallopt := _function("mallopt")) is not None:
        mallopt(M_MMAP_THRESHOLD, RETURNED_AT_ONCE_BYTES)


def trim() -> None:
    """Return free memory to the system. Takes some milliseconds."""
    if (malloc_trim := _function("malloc_trim")) is not None:
        malloc_trim(0)


def _function(name: str) -> Any:
    """The C function; None with another C library than glibc."""
    try:
        return getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError, TypeError):
        return None
