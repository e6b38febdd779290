"""Every Reason is on docs/reasons.md and is used, and every sentence for people comes from one place."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.core.reasons import EventReason, Reason, ReasonKind, SilenceReason
from muster.core.reasons.explained import Explained

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "src/muster"
PAGE = (ROOT / "docs/reasons.md").read_text()
WORDS: list[Explained] = [*Reason, *SilenceReason, *EventReason]
IDS = [f"{type(word).__name__}.{word.name}" for word in WORDS]


def modules() -> Iterator[tuple[Path, ast.Module]]:
    for path in SOURCES.rglob("*.py"):
        yield path.relative_to(SOURCES), ast.parse(path.read_text())


def used() -> set[str]:
    """`Enum.MEMBER`, as it stands in the code outside the enums themselves."""
    return {
        f"{node.value.id}.{node.attr}"
        for path, module in modules()
        if path.parts[:2] != ("core", "reasons")
        for node in ast.walk(module)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }


def derived() -> set[str]:
    """The events that stand for a kind of Reason."""
    return {f"EventReason.{reason.event.name}" for reason in Reason if reason.event is not None}


IN_USE = used() | derived()


@pytest.mark.parametrize("word", WORDS, ids=IDS)
def test_a_reason_is_explained_on_the_page(word: Explained) -> None:
    assert f"| `{word}` | {word.sentence} | {word.remedy} |" in PAGE


@pytest.mark.parametrize("name", IDS)
def test_a_reason_is_used_by_the_code(name: str) -> None:
    assert name in IN_USE


@pytest.mark.parametrize("word", WORDS, ids=IDS)
def test_a_reason_has_a_sentence_and_a_remedy(word: Explained) -> None:
    assert word.sentence
    assert word.remedy
    assert not any(text.endswith(".") or "|" in text for text in (word.sentence, word.remedy))


def test_the_kind_of_a_reason_determines_its_event() -> None:
    events = {kind: {reason.event for reason in Reason if reason.kind is kind} for kind in ReasonKind}
    assert events == {
        ReasonKind.NOT_CONCERNED: {None},
        ReasonKind.ON_ITS_WAY: {None},
        ReasonKind.GROUP_LOST: {EventReason.GROUP_LOST},
        ReasonKind.ASIDE: {EventReason.STANDING_ASIDE},
        ReasonKind.NOT_RESIZED: {EventReason.GANG_NOT_RESIZED},
        ReasonKind.CHANGE_REFUSED: {EventReason.PARALLELISM_REFUSED},
        ReasonKind.REFUSED: {None},
        ReasonKind.ALLOWED: {None},
    }


SPEAKING = {
    "normal": 2,
    "warning": 2,
    "refused": 1,
    "GangEvent": 1,
    "News": 2,
    "IntentWarning": 1,
    "Conflict": 0,
    "Unsettled": 0,
    "Busy": 0,
    "problem": 1,
    "_warn": 0,
}
"""What takes a sentence for people, and at which place among its arguments."""


def sentences() -> Iterator[tuple[str, ast.expr]]:
    for path, module in modules():
        for call in (node for node in ast.walk(module) if isinstance(node, ast.Call)):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            owner = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
            place = SPEAKING.get(name)
            if place is not None and owner != "logger" and len(call.args) > place:
                yield f"{path}:{call.lineno}", call.args[place]
            if name == "Verdict":
                yield from ((f"{path}:{call.lineno}", each.value) for each in call.keywords if each.arg == "message")


def test_every_sentence_for_people_is_in_core_messages() -> None:
    found = dict(sentences())
    assert len(found) > 20, "the search finds the calls"
    assert [place for place, text in found.items() if isinstance(text, ast.Constant | ast.JoinedStr | ast.BinOp)] == []
