"""Generates docs/reasons.md from muster.core.reasons, so that the page and the code always agree."""

import sys
from collections.abc import Iterable
from pathlib import Path

from muster.core.reasons import EventReason, Reason, ReasonKind, SilenceReason
from muster.core.reasons.explained import Explained

PAGE = Path(__file__).parents[1] / "docs/reasons.md"

HEAD = """# Why Muster did what it did

Generated from `src/muster/core/reasons` by `make generate`. Events, refusals and logs contain these reasons.
"""

SECTIONS = {
    ReasonKind.ASIDE: (
        "When Muster does not form a gang",
        "The pods are admitted unchanged and scheduled one by one. A `StandingAside` event on the Job says why.",
    ),
    ReasonKind.NOT_RESIZED: (
        "When Muster may not replace a PodGroup of the wrong size",
        "A pod waits for a gang that can never be complete again. A `GangNotResized` event on the Job says why.",
    ),
    ReasonKind.CHANGE_REFUSED: (
        "When Muster refuses a change of parallelism",
        "The API server returns the sentence to the client, and a `ParallelismRefused` event on the Job repeats it.",
    ),
    ReasonKind.REFUSED: (
        "When a webhook refuses a pod or a PodGroup",
        "The API server returns the sentence. For a pod, the Job controller repeats it in a `FailedCreate` event.",
    ),
    ReasonKind.ALLOWED: (
        "When a webhook allows an object that it cannot judge",
        "Only the log has the reason. A pod joins the group that the Job's running or pending pods name, if any.",
    ),
    ReasonKind.GROUP_LOST: (
        "When the pods wait for an object that Muster cannot create",
        "A `GroupLost` event on the Job reports it.",
    ),
    ReasonKind.ON_ITS_WAY: (
        "While Muster forms the gang, and after that",
        "No event. Muster refuses a pod that has no PodGroup yet, with the reason; the Job controller retries.",
    ),
    ReasonKind.NOT_CONCERNED: (
        "When the Job does not concern Muster",
        "No event. Muster admits the pods unchanged; it refuses a pod whose Job is gone or being deleted.",
    ),
}

SILENCES = (
    "When Muster posts no event about a gang",
    """If a Job waits and has no event, set the log level to `debug`, and look for the Job's key in the leader's log.
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
