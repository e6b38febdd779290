"""The commands of a page, as a test runs them: each block of shell has a comment above it that says which test.

<!-- test: helm install -->            the blocks of one name are one script, in the order of the page
<!-- not tested: there is no … -->     with the reason
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_BLOCK = re.compile(r"(?:^<!-- (?P<mark>.*?) -->\n)?^```sh\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"(?P<kind>test|not tested): (?P<words>\S.*)")


@dataclass(frozen=True)
class Block:
    text: str
    test: str | None
    """Name of the script that it is a part of."""
    reason: str | None
    """Why no test runs it."""


def blocks(page: str) -> list[Block]:
    return [_block(found["text"], found["mark"] or "") for found in _BLOCK.finditer(page)]


def _block(text: str, mark: str) -> Block:
    marked = _MARK.fullmatch(mark)
    if not marked:
        return Block(text, None, None)
    words = marked["words"]
    return Block(text, words, None) if marked["kind"] == "test" else Block(text, None, words)


def script(page: str, test: str, placeholders: Mapping[str, str]) -> str:
    """What a reader types, with their own names in the place of the placeholders."""
    text = "".join(block.text for block in blocks(page) if block.test == test)
    if not text:
        raise KeyError(f"no block is marked `test: {test}`")
    for placeholder, value in placeholders.items():
        text = text.replace(placeholder, value)
    return text
