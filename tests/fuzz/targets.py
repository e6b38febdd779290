"""What is fuzzed: each parser takes any bytes and gives a value or its own error value, bounded and printable.

Everything else that it raises is a finding. `fuzz.py` searches for such bytes, `test_corpus.py` replays known ones.
"""

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import BaseModel

from muster.admission import review as admission
from muster.admission.server import time_to_answer
from muster.api.indexes import count_indexes
from muster.api.job import MAX_INTENT, JobView
from muster.api.lease import read_lease
from muster.api.meta import ObjectMeta, OwnerReference
from muster.api.pod import PodView
from muster.api.profile import CRD_IN_OWN_GROUP, NATIVE
from muster.api.wire import MAX_MESSAGE, MAX_NAME, Unreadable
from muster.config.loading import BadSettings, parse
from muster.controllers.podgroup.members import Members
from muster.core.decide import decide
from muster.core.intent import MAX_ERRORS, read_intent
from muster.core.intent_warnings import intent_warnings
from muster.core.observed import NO_PODS, Observed
from muster.core.policy import Rules
from muster.kube.client import Page
from muster.kube.errors import KubeError, classify
from muster.kube.reflector import Expired, Reflector
from muster.kube.resources import PODS
from muster.runtime.internal_errors import InternalErrors
from muster.runtime.metrics import Metrics
from muster.serving.rotation import Plan
from muster.serving.rotation import renewal_needed as judge_secret
from tests.builders import a_gang

MAX_SENTENCE = 1500
NOW = datetime(2026, 1, 1, tzinfo=UTC)
PLAN = Plan(("muster.muster-system.svc",), timedelta(days=300), timedelta(days=30))
RULES = (Rules(NATIVE), Rules(CRD_IN_OWN_GROUP))
TRAINING = a_gang("train").uid("a-uid").view()
LONGEST_INPUT = 16 * 1024
"""A spec of which the server bounds every string may have any that fits the input."""
LONGEST_STRING = {"intent": MAX_INTENT + 1, "message": MAX_MESSAGE, "unschedulable": MAX_MESSAGE}

NotAReview: type[Exception] = getattr(admission, "NotAReview", Unreadable)


def _json(data: bytes) -> Any:
    """As kopf reads it, which is more than orjson does: NaN, unpaired surrogates and numbers of any length."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _check_sentence(sentence: object) -> None:
    text = str(sentence)
    assert text.isprintable(), text
    assert len(text) <= MAX_SENTENCE, len(text)


@contextmanager
def error_values(*errors: type[Exception]) -> Iterator[None]:
    """These are how the parser says that the bytes are wrong."""
    try:
        yield
    except errors as error:
        for sentence in getattr(error, "problems", [error]):
            _check_sentence(sentence)


def _check_strings(value: Any, name: str = "", most: int = MAX_NAME) -> None:
    """No string in it is longer than its kind of field may be."""
    if isinstance(value, str):
        assert len(value) <= LONGEST_STRING.get(name, most), name
        value.encode()
    elif is_dataclass(value):
        for field in fields(value):
            _check_strings(getattr(value, field.name), field.name)
    elif isinstance(value, BaseModel):
        for field_name in type(value).model_fields:
            bound = MAX_NAME if isinstance(value, ObjectMeta | OwnerReference) else LONGEST_INPUT
            _check_strings(getattr(value, field_name), field_name, bound)
    elif isinstance(value, dict | list | tuple | frozenset):
        for each in [*value, *(value.values() if isinstance(value, dict) else ())]:
            _check_strings(each, name, most)


def intent(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    read = read_intent.__wrapped__(text)
    assert (read.asked is not None) + read.opted_out + bool(read.errors) == 1
    assert len(read.errors) <= MAX_ERRORS
    for error in read.errors:
        _check_sentence(error)
        assert "bug in Muster" not in str(error)
    job = a_gang().asking(text).view()
    decide(Observed(job, pods=NO_PODS), RULES[0])
    for warning in intent_warnings(job, None, RULES[0].policy):
        warning.sentence.encode()


def job(data: bytes) -> None:
    with error_values(Unreadable):
        view = JobView.parse(_json(data))
        _check_strings(view)
        for rules in RULES:
            _check_sentence(decide(Observed(view, pods=NO_PODS), rules).detail)
            for warning in intent_warnings(view, None, rules.policy):
                warning.sentence.encode()


def pod(data: bytes) -> None:
    with error_values(Unreadable):
        view = PodView.parse(_json(data))
        _check_strings(view)
        str(view.job)


def workload(data: bytes) -> None:
    with error_values(Unreadable):
        read = NATIVE.read_workload(_json(data))
        _check_strings(read)
        _check_sentence(decide(Observed(TRAINING, (read,), pods=NO_PODS), RULES[0]).detail)


def pod_group(data: bytes) -> None:
    with error_values(Unreadable):
        read = NATIVE.read_pod_group(_json(data))
        _check_strings(read)
        _check_sentence(decide(Observed(TRAINING, (), (read,), NO_PODS), RULES[0]).detail)


def lease(data: bytes) -> None:
    with error_values(Unreadable):
        read = read_lease(_json(data))
        assert read.duration_seconds >= 0


def secret(data: bytes) -> None:
    """The data of the Secret with the serving certificate: as JSON, or else the one value of it."""
    found = _json(data)
    found = found if isinstance(found, dict) else {"ca.crt": data.decode("latin-1"), "ca.key": ""}
    _check_sentence(judge_secret(found, None, NOW, PLAN).why)


def settings(data: bytes) -> None:
    with error_values(BadSettings):
        parse(data)


def review(data: bytes) -> None:
    raw: Any = data if NotAReview is not Unreadable else _json(data)
    with error_values(NotAReview, Unreadable):
        read = admission.Review.parse(raw)
        assert read.uid


def query(data: bytes) -> None:
    seconds = time_to_answer(data.decode("utf-8", "replace"))
    assert seconds >= 0
    assert not math.isnan(seconds)


def page(data: bytes) -> None:
    raw = _json(data)
    with error_values(KubeError):
        Page.parse(raw if isinstance(raw, dict) else {})


def status(data: bytes) -> None:
    raw = _json(data)
    for code in (403, 404, 409, 422, 429, 500):
        _check_sentence(classify(code, raw if isinstance(raw, dict) else {}, 1e300))


def watch(data: bytes) -> None:
    members = Members(lambda _: None, InternalErrors(Metrics()))
    reflector: Reflector[PodView] = Reflector(None, None, PODS, {}, members)  # type: ignore[arg-type]
    with error_values(KubeError, Expired):
        reflector.report(data)


def indexes(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    assert 0 <= count_indexes(text, text[::-1], below=1000) <= 1000


PARSERS: dict[str, Callable[[bytes], None]] = {
    each.__name__: each
    for each in (
        intent, job, pod, workload, pod_group, lease, secret, settings, review, query, page, status, watch, indexes,
    )
}  # fmt: skip
