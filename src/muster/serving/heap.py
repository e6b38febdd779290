"""The C library's memory: what a flood of connections took goes back to the system afterwards.

By default glibc raises the size from which a block is returned at once, as soon as one such block was freed. Then the
buffers of TLS connections stay in the process for good, and the pod's memory limit counts them.
"""

import ctypes
from typing import Any

M_MMAP_THRESHOLD = -3
RETURNED_AT_ONCE_BYTES = 64 * 1024


def return_large_blocks() -> None:
    """Call once, before there are connections."""
    if (mallopt := _function("mallopt")) is not None:
        mallopt(M_MMAP_THRESHOLD, RETURNED_AT_ONCE_BYTES)


def trim() -> None:
    """Takes some milliseconds."""
    if (malloc_trim := _function("malloc_trim")) is not None:
        malloc_trim(0)


def _function(name: str) -> Any:
    """None where the C library is another one."""
    try:
        return getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError, TypeError):
        return None
