"""The lists of indexes in a Job's status: `1,3-5,7`.

A Job of 200,000 indexes, of which every other one has ended, has a list of 100,000 numbers, and Muster reads it again
with every change of the Job's status. For speed, this module parses, sorts and compares whole lists instead of single
numbers.
"""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import chain, compress, islice
from operator import le, lt

import orjson

LONGEST_NUMBER = 10
"""Digits. An index is a 32-bit number; a longer number is not an index, and parsing it costs time."""
LONGEST_LIST = 768 * 1024
"""Maximum length that is read: 100,000 numbers of six digits, and some more."""
LONGEST_ODD_LIST = 64 * 1024
"""Maximum length that is read of a malformed list, which the Job controller does not write."""
_LARGEST = 10**LONGEST_NUMBER - 1
_CHARACTERS = b"0123456789,-"


def count_indexes(*lists: str, below: int) -> int:
    """The number of different indexes below `below` in all lists together. It does not expand the ranges.

    It skips parts that are not an index or a range, and everything after `LONGEST_LIST`. A count that is too low is
    safe; one that is too high is not, because Muster does not wait for pods that it counts as ended.
    """
    read = [_bounds(_cut(text, LONGEST_LIST)) for text in lists if text]
    firsts = sorted(chain.from_iterable(each for each, _ in read))
    lasts = sorted(chain.from_iterable(each for _, each in read))
    begun = bisect_left(firsts, below)  # a range that begins later also ends later
    ended = bisect_left(lasts, below)
    return _covered(firsts[:begun], lasts[:ended] + [below - 1] * (begun - ended))


def _covered(firsts: list[int], lasts: list[int]) -> int:
    """The number of indexes that the ranges cover together. The arguments are the sorted starts and the sorted ends.

    If the n-th end is smaller than the start number n+1, all ranges so far have ended: there is a gap between the two.
    """
    if not firsts:
        return 0
    gaps = [*map(lt, lasts, islice(firsts, 1, None))]
    begins = [firsts[0], *compress(islice(firsts, 1, None), gaps)]
    ends = [*compress(lasts, gaps), lasts[-1]]
    return sum(ends) - sum(begins) + len(ends)


def _bounds(text: str) -> tuple[list[int], list[int]]:
    """The first and the last index of each single index and range."""
    if not text.isascii() or text.encode().translate(None, _CHARACTERS):
        return _odd_bounds(text)
    parts = text.split(",") if "-" in text else []
    ranges = [part for part in parts if "-" in part]
    try:
        singles = _numbers(",".join(part for part in parts if "-" not in part) if ranges else text)
        pairs = _numbers(",".join(ranges).replace("-", ","))
    except orjson.JSONDecodeError:  # a part is empty
        return _odd_bounds(text)
    if len(pairs) != 2 * len(ranges):  # a range has three numbers
        return _odd_bounds(text)
    return _sound([*singles, *pairs[::2]], [*singles, *pairs[1::2]])


def _numbers(text: str) -> list[int]:
    """Parsed as JSON, which is fastest. A number that does not fit 64 bits becomes a float, and is too large."""
    numbers: list[int] = orjson.loads(f"[{text}]")
    return numbers


def _sound(firsts: list[int], lasts: list[int]) -> tuple[list[int], list[int]]:
    if all(map(le, firsts, lasts)) and max(lasts, default=0) <= _LARGEST:
        return firsts, lasts
    sound = [(first, last) for first, last in zip(firsts, lasts, strict=True) if first <= last <= _LARGEST]
    return [first for first, _ in sound], [last for _, last in sound]


def _odd_bounds(text: str) -> tuple[list[int], list[int]]:
    """The bounds of all readable parts of a malformed list."""
    readable = [*_readable(_cut(text, LONGEST_ODD_LIST))]
    return _sound([first for first, _ in readable], [last for _, last in readable])


def _readable(text: str) -> Iterator[tuple[int, int]]:
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if _is_number(first) and (_is_number(last) or not dash):
            yield int(first), int(last or first)


def _cut(text: str, most: int) -> str:
    """The text up to its last comma within `most` characters."""
    return text if len(text) <= most else text[:most].rpartition(",")[0]


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= LONGEST_NUMBER
