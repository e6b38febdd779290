"""Which error an answer stands for: the class says what to do next."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.kube.errors import (
    LONGEST_WAIT_SECONDS,
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
    waiting_time,
)

TERMINATING = {"details": {"causes": [{"reason": "NamespaceTerminating"}]}}


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (302, {}, ServerFault),
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
def test_each_status_has_its_error(status: int, body: dict[str, object], error: type[KubeError]) -> None:
    assert type(classify(status, body)) is error


def test_these_errors_may_succeed_later() -> None:
    assert issubclass(Throttled, RetryLater)
    assert issubclass(ServerFault, RetryLater)
    assert issubclass(Unreachable, RetryLater)
    assert not issubclass(Rejected, RetryLater)


@pytest.mark.parametrize(
    ("asked", "waits"),
    [pytest.param(30.0, 30.0, id="as long as asked"), pytest.param(0.0, 1.0, id="a second if not asked")],
)
def test_a_throttled_call_waits_as_the_server_asks(asked: float, waits: float) -> None:
    error = classify(429, {}, asked)
    assert isinstance(error, RetryLater)
    assert error.after_seconds == waits


RBAC = 'User "system:serviceaccount:a:b" cannot create resource "workloads" in API group "scheduling.k8s.io"'
RBAC_SENTENCES = {
    "in a namespace": f'workloads.scheduling.k8s.io is forbidden: {RBAC} in the namespace "team"',
    "of one object": f'workloads.scheduling.k8s.io "train-x" is forbidden: {RBAC} in the namespace "team"',
    "at the cluster scope": f"workloads.scheduling.k8s.io is forbidden: {RBAC} at the cluster scope",
    "a part of it": 'podgroups.x "g" is forbidden: User "m" cannot patch resource "podgroups/status" in API group "x" '
    'in the namespace "n"',
    "the core group": 'pods is forbidden: User "m" cannot list resource "pods" in API group "" at the cluster scope',
    "with the authorizer's reason": f'workloads is forbidden: {RBAC} in the namespace "n": RBAC: role "x" not found',
    "a user with a quote": r'pods is forbidden: User "a\"b" cannot list resource "pods" in API group "" '
    "at the cluster scope",
    "a user with a very long name": f'pods is forbidden: User "{"x" * 600}" cannot list resource "pods" in API '
    'group "" at the cluster scope',
}
OTHER_REFUSALS = {
    "a quota": 'workloads.x "a" is forbidden: exceeded quota: count/workloads',
    "blockOwnerDeletion": 'podgroups.x "a" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to '
    "a resource you can't set finalizers on: , <nil>",
    "an owner": "workloads is forbidden: cannot set an ownerRef on a resource you can't delete",
    "a webhook that quotes RBAC": f'admission webhook "w" denied the request: pods is forbidden: {RBAC} in the '
    'namespace "n"',
    "only the beginning of it": 'workloads is forbidden: User "x" cannot create resource "workloads" in API group',
    "a path": 'forbidden: User "x" cannot get path "/metrics"',
    "no text": "HTTP 403",
}


@pytest.mark.parametrize("message", RBAC_SENTENCES.values(), ids=RBAC_SENTENCES.keys())
def test_a_forbidden_call_lacks_a_right(message: str) -> None:
    refusal = classify(403, {"reason": "Forbidden", "message": message})
    assert isinstance(refusal, Forbidden)
    assert refusal.lacks_right


@pytest.mark.parametrize("message", OTHER_REFUSALS.values(), ids=OTHER_REFUSALS.keys())
def test_a_refused_object_is_no_missing_right(message: str) -> None:
    refusal = classify(403, {"reason": "Forbidden", "message": message})
    assert isinstance(refusal, Forbidden)
    assert not refusal.lacks_right


def test_only_the_reason_forbidden_means_a_missing_right() -> None:
    refusal = classify(403, {"reason": "Invalid", "message": RBAC_SENTENCES["in a namespace"]})
    assert isinstance(refusal, Forbidden)
    assert not refusal.lacks_right


@given(st.text(max_size=40))
def test_any_retry_after_is_a_bounded_time(header: str) -> None:
    assert 0 <= waiting_time(header) <= LONGEST_WAIT_SECONDS


SCALARS = st.none() | st.text() | st.integers()
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["causes", "reason"]), inner)
)


@given(st.integers(300, 599), st.dictionaries(st.sampled_from(["message", "reason", "details", "code"]), ANYTHING))
def test_any_status_is_an_error(status: int, body: dict[str, object]) -> None:
    assert isinstance(classify(status, body), KubeError)


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
