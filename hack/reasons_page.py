"""Writes docs/reasons.md from muster.core.reasons, so that the page cannot say anything else than Muster does."""

import sys
from collections.abc import Iterable
from pathlib import Path

from muster.core.reasons import EventReason, Kind, Reason, SilenceReason
from muster.core.reasons.explained import Explained

PAGE = Path(__file__).parents[1] / "docs/reasons.md"

HEAD = """# Why Muster did what it did

Generated from `src/muster/core/reasons` by `make generate`. These words stand in events, refusals and logs.
"""

SECTIONS = {
    Kind.ASIDE: (
        "When Muster stands aside",
        "The pods pass untouched and are scheduled one by one; one `StandingAside` event on the Job says why.",
    ),
    Kind.CHANGE_REFUSED: (
        "When Muster refuses a change of parallelism",
        "The API server answers with the sentence, and one `ParallelismRefused` event on the Job repeats it.",
    ),
    Kind.REFUSED: (
        "When a webhook refuses a pod or a PodGroup",
        "The API server answers with the sentence; for a pod, the Job controller repeats it in a `FailedCreate` event.",
    ),
    Kind.GROUP_LOST: (
        "When the pods wait for something that Muster may not make",
        "A `GroupLost` event on the Job says so.",
    ),
    Kind.ON_ITS_WAY: (
        "While the gang is formed, and after that",
        "No event. A pod that comes before its PodGroup is refused with the reason; the Job controller tries again.",
    ),
    Kind.LEFT_ALONE: (
        "When the Job is none of Muster's business",
        "No event. The pods pass untouched; a pod whose Job is gone or being deleted is refused.",
    ),
}

SILENCES = (
    "When Muster says nothing about a gang",
    """A Job waits, and no event says so: set the log level to `debug`, and look for the Job's key in the leader's log.
The line `no event: …` has one of these reasons, or one of those above if the Job has no gang.""",
)

EVENTS = ("Events", "What `kubectl describe job` shows.")


def page() -> str:
    kinds = [_section(*SECTIONS[kind], (reason for reason in Reason if reason.kind is kind)) for kind in SECTIONS]
    return HEAD + "".join(kinds) + _section(*SILENCES, SilenceReason) + _section(*EVENTS, EventReason)


def _section(title: str, about: str, words: Iterable[Explained]) -> str:
    rows = "".join(f"| `{word}` | {word.sentence} | {word.remedy} |\n" for word in words)
    return f"\n## {title}\n\n{about}\n\n| reason | because | what to do |\n|---|---|---|\n{rows}"


def main() -> None:
    if "--check" not in sys.argv:
        PAGE.write_text(page())
    elif PAGE.read_text() != page():
        sys.exit("docs/reasons.md is stale: run `make generate`")


if __name__ == "__main__":
    main()
