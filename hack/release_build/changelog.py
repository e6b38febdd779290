"""Extracts the release notes from CHANGELOG.md."""

import re

UNRELEASED = "Unreleased"
_HEADING = re.compile(r"^## (\S+)(?: - \d{4}-\d\d-\d\d)?$", re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?://|#)([^)]+)\)")


def sections(changelog: str) -> dict[str, str]:
    """Version, or `Unreleased`, to the text below its heading (`## 0.1.0 - 2026-12-01`)."""
    headings = list(_HEADING.finditer(changelog))
    ends = [heading.start() for heading in headings[1:]] + [len(changelog)]
    return {
        heading[1]: changelog[heading.end() : end].strip() + "\n" for heading, end in zip(headings, ends, strict=True)
    }


def notes(section: str, version: str, source: str) -> str:
    """The section as a page of its own. Its relative links become links to the source."""
    return f"# Muster {version}\n\n{_LINK.sub(lambda link: f']({source}/{link[1]})', section)}"
