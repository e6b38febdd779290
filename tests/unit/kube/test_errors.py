"""Which error an answer stands for: the class says what to do next."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.kube.errors import (
    MAX_MESSAGE,
    AlreadyExists,
    Conflict,
    Forbidden,
    KubeError,
    NotFound,
    Rejected,
    RetryLater,
    ServerFault,
    Terminating,
    Throttled,
    Unreachable,
    classify,
    plain_text,
)

TERMINATING = {"details": {"causes": [{"reason": "NamespaceTerminating"}]}}


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (400, {}, Rejected),
        (401, {}, Forbidden),
        (403, {}, Forbidden),
        (403, {"details": None}, Forbidden),
        (403, TERMINATING, Terminating),
        (404, {}, NotFound),
        (409, {}, Conflict),
        (409, {"reason": "AlreadyExists"}, AlreadyExists),
        (409, {"reason": "Conflict"}, Conflict),
        (410, {}, Conflict),
        (413, {}, Rejected),
        (422, {"reason": "Invalid"}, Rejected),
        (429, {}, Throttled),
        (500, {}, ServerFault),
        (502, {}, ServerFault),
        (503, {}, ServerFault),
        (504, {}, ServerFault),
    ],
)
def test_the_error_of_an_answer(status: int, body: dict[str, object], error: type[KubeError]) -> None:
    assert type(classify(status, body)) is error


def test_what_may_succeed_later() -> None:
    assert issubclass(Throttled, RetryLater)
    assert issubclass(ServerFault, RetryLater)
    assert issubclass(Unreachable, RetryLater)
    assert not issubclass(Rejected, RetryLater)


@pytest.mark.parametrize(
    ("asked", "waits"),
    [pytest.param(30.0, 30.0, id="as long as asked"), pytest.param(0.0, 1.0, id="a second if not asked")],
)
def test_throttling_waits(asked: float, waits: float) -> None:
    error = classify(429, {}, asked)
    assert isinstance(error, RetryLater)
    assert error.after_seconds == waits


@pytest.mark.parametrize(
    ("message", "lacks"),
    [
        ('workloads is forbidden: User "x" cannot create resource "workloads" in API group', True),
        ("exceeded quota: count/workloads", False),
        ("HTTP 403", False),
    ],
)
def test_a_missing_right_is_told_from_a_refused_object(message: str, lacks: bool) -> None:
    assert Forbidden(message).lacks_right is lacks


def test_an_answer_without_a_message_has_its_number() -> None:
    assert str(classify(500, {})) == "HTTP 500"
    assert str(classify(500, {"message": ["x"]})) == "HTTP 500"


@given(st.text(max_size=600))
def test_text_of_others_is_printable_and_bounded(text: str) -> None:
    plain = plain_text(text)
    assert plain.isprintable()
    assert len(plain) <= MAX_MESSAGE + 1
    assert str(KubeError(text)) == plain


def test_escape_codes_and_line_ends_do_not_survive() -> None:
    assert plain_text("a\n\x1b[31mb\u202e") == "a  [31mb "
