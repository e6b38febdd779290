"""Finds words that make Muster's English hard to read, and suggests what to write instead."""

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SUFFIXES = {".json", ".md", ".py", ".toml", ".tpl", ".txt", ".yaml", ".yml"}
NAMES = {"Makefile", "Dockerfile", ".ci/run"}
OWN = {"hack/plain_english.py", "tests/unit/hack/test_plain_english.py"}
"""These files quote the words."""

INSTEAD = {
    "told": "reported, or name who learns it: 'the event says'",
    "mend|mends|mended|mending": "fix",
    "heed|heeds|heeded|heeding": "read, apply, have an effect",
    "whoever": "anyone who, or name the component",
    "for ever": "forever",
    "cannot be had|to be had": "is not supported, is not available",
    "stand in the way|stands in the way": "prevents it",
    "put right|puts right": "fix, restore, update",
    "being left": "being uninstalled",
    "is at work": "runs",
    "nobody asks|nobody can tell|who asked": "name who asks, or say that it is unknown",
    "of its own accord": "by itself",
    "errand|errands": "background task",
    "whosoever|whatsoever": "anyone who, any",
    "must needs|ought to": "must, should",
    "lest": "so that ... not",
    "whilst|amongst|upon|unto|albeit": "while, among, on, to, although",
    "thereby|thereof|therein|thereupon|wherein|whereby|whence|herein": "name the thing",
    "henceforth|hitherto|heretofore|forthwith": "from now on, until now, at once",
    "the very": "the same, or leave it out",
    "says so|said so": "name what it reports",
    "whom": "rewrite with a named subject",
    "shall": "must, or the present tense",
    r"it takes(?! (?:\d|a |about|effect|minutes|seconds|some|the Lease|up to))": "requires",
    "goes on|go on|going on|went on": "continues",
    "living (?:pods?|ones?)": "running or pending pods",
    "living gangs?": "existing gangs",
    "pod[-_]gates?|pod gates?": "pod webhook",
    "(?:is|are) made again|created anew|made anew|make it again": "recreates",
    "for good": "permanently",
    "(?:does not|it) speaks?": "supports, uses",
    "passed over": "skipped",
    "came and went": "name who created and deleted it",
    "all the same": "nevertheless, or leave it out",
    "tells? of": "reports",
    "trips? over": "breaks, fails on",
    "half characters?": "unpaired surrogates",
    "awake|asleep": "suspended, resumed; a test 'finds' or 'detects'",
}
INSTEAD_FOR_USERS = {
    "nobody|somebody|anybody|everybody": "name who: a user, another client, no replica",
    "beside": "next to, in addition to, with",
    "comes back": "is recreated, is restored, returns",
    "meanwhile": "in the meantime, or name the time",
}
"""Only in what users and operators read."""
FOR_USERS = ("src/", "docs/", "charts/", "README.md", "SECURITY.md", "CHANGELOG.md", "hack/demo_show/")
QUOTES_TESTS = "docs/conformance.md"
NAMES_WHAT_WAS_RENAMED = "CHANGELOG.md"
"""Its tables quote old names."""


def _pattern(advice: Mapping[str, str]) -> re.Pattern[str]:
    """A phrase can continue on the next line, also behind an indentation or the # of a comment."""
    phrases = (words.replace(" ", r"[\s#]+") for words in advice)
    return re.compile("|".join(rf"(?P<w{n}>\b(?:{words})\b)" for n, words in enumerate(phrases)), re.IGNORECASE)


_ANYWHERE = (INSTEAD, _pattern(INSTEAD))
_FOR_USERS = (INSTEAD_FOR_USERS, _pattern(INSTEAD_FOR_USERS))


_ROW = re.compile(r"^\|.*$", re.MULTILINE)


class Found(NamedTuple):
    line: int
    word: str
    instead: str


def found_in(text: str, for_users: bool = False) -> Iterator[Found]:
    """Also finds a phrase that is split over two lines."""
    for advice, words in (_ANYWHERE, _FOR_USERS) if for_users else (_ANYWHERE,):
        sentences = list(advice.values())
        for match in words.finditer(text):
            number = int((match.lastgroup or "w0").removeprefix("w"))
            phrase = " ".join(match[0].replace("#", " ").split())
            yield Found(text.count("\n", 0, match.start()) + 1, phrase, sentences[number])


def is_checked(path: str) -> bool:
    name = Path(path)
    script = path.startswith("hack/") and not name.suffix
    return path not in OWN and (name.suffix in SUFFIXES or script or path in NAMES)


def is_for_users(path: str) -> bool:
    return path.startswith(FOR_USERS) and path != QUOTES_TESTS


def tracked(root: Path) -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True).stdout
    return [path for path in listed.split("\0") if path and is_checked(path) and (root / path).is_file()]


def problems(root: Path, paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        text = (root / path).read_text()
        if path == NAMES_WHAT_WAS_RENAMED:
            text = _ROW.sub("", text)
        for line, word, instead in found_in(text, is_for_users(path)):
            yield f"{path}:{line}: {word}: {instead}"


def main() -> None:
    found = list(problems(ROOT, tracked(ROOT)))
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
