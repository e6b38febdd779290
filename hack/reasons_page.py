"""Writes docs/reasons.md from core/reasons.py, so that the page cannot say anything else than Muster does."""

import sys
from pathlib import Path

from muster.core.reasons import EventReason, Reason

PAGE = Path(__file__).parents[1] / "docs/reasons.md"

HEAD = """# Why Muster did what it did

Generated from `src/muster/core/reasons.py` by `make generate`. These words stand in events, refusals and logs.

## When Muster stands aside

The pods pass untouched and are scheduled one by one; one `StandingAside` event on the Job says why.

| reason | because |
|---|---|
"""

REFUSALS = """
## When Muster refuses a change of parallelism

The API server answers with the sentence, and one `ParallelismRefused` event on the Job repeats it.

| reason | because |
|---|---|
"""

REST = """
## All other reasons

No event: either the Job is none of Muster's business, or its gang is on its way.

| reason | because |
|---|---|
"""

EVENTS = """
## Events

| event | says |
|---|---|
"""


def page() -> str:
    told = [_row(reason, reason.sentence) for reason in Reason if reason.event is EventReason.STANDING_ASIDE]
    refused = [_row(reason, reason.sentence) for reason in Reason if reason.event is EventReason.PARALLELISM_REFUSED]
    rest = [_row(reason, reason.sentence) for reason in Reason if reason.event is None]
    events = [_row(event, event.sentence) for event in EventReason]
    return HEAD + "".join(told) + REFUSALS + "".join(refused) + REST + "".join(rest) + EVENTS + "".join(events)


def _row(word: str, sentence: str) -> str:
    return f"| `{word}` | {sentence} |\n"


def main() -> None:
    if "--check" not in sys.argv:
        PAGE.write_text(page())
    elif PAGE.read_text() != page():
        sys.exit("docs/reasons.md is stale: run `make generate`")


if __name__ == "__main__":
    main()
