"""Extracts the shell commands of a page for tests, and files. A comment above each shell block names its test:

<!-- test: helm install -->            all blocks with the same name form one script, in the order of the page
<!-- not tested: there is no … -->     with the reason

Above a YAML block, the comment names the file.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_BLOCK = re.compile(r"(?:^<!-- (?P<mark>[^\n]*?) -->\n)?^```sh\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"^<!-- test: (?P<name>[^\n]*?) -->\n^```yaml\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"(?P<kind>test|not tested): (?P<words>\S.*)")


@dataclass(frozen=True)
class Block:
    text: str
    test: str | None
    """Name of the script that contains the block."""
    reason: str | None
    """Why no test runs the block."""


def blocks(page: str) -> list[Block]:
    return [_block(found["text"], found["mark"] or "") for found in _BLOCK.finditer(page)]


def _block(text: str, mark: str) -> Block:
    marked = _MARK.fullmatch(mark)
    if not marked:
        return Block(text, None, None)
    words = marked["words"]
    return Block(text, words, None) if marked["kind"] == "test" else Block(text, None, words)


def file(page: str, name: str) -> str:
    """The YAML block of that name."""
    (text,) = [found["text"] for found in _FILE.finditer(page) if found["name"] == name]
    return text


def script(page: str, test: str, placeholders: Mapping[str, str]) -> str:
    """The commands of a reader, with the placeholders replaced."""
    text = "".join(block.text for block in blocks(page) if block.test == test)
    if not text:
        raise KeyError(f"no block is marked `test: {test}`")
    for placeholder, value in placeholders.items():
        text = text.replace(placeholder, value)
    return text
