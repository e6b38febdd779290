"""The lists of indexes in a Job's status: `1,3-5,7`."""

from collections.abc import Iterator

LONGEST_NUMBER = 10
"""Digits. An index is a 32-bit number; what is longer is none, and costs time to read."""


def count_indexes(*lists: str, below: int) -> int:
    """How many different indexes below the bound are in any of the lists, never laid out one by one.

    What is not an index or a range of them is passed over: too few are better than too many, since whoever counts as
    ended is not waited for.
    """
    ranges = sorted(found for text in lists for found in _ranges(text, below))
    counted, upto = 0, 0
    for first, end in ranges:
        counted += max(0, end - max(first, upto))
        upto = max(upto, end)
    return counted


def _ranges(text: str, below: int) -> Iterator[tuple[int, int]]:
    """Each part that can be read, as its first index and the one after its last."""
    for part in text.split(",") if text else ():
        first, dash, last = part.partition("-")
        if _is_number(first) and (_is_number(last) or not dash):
            begin, end = int(first), int(last or first) + 1
            if begin < min(end, below):
                yield begin, min(end, below)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= LONGEST_NUMBER
