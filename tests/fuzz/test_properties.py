"""Every parser is total: arbitrary bytes and arbitrary JSON, without a fuzzer."""

import json
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.targets import PARSERS

SOME = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
LONGEST_SECONDS = 0.5
"""Of processor time."""

FIELDS = (
    "metadata", "spec", "status", "request", "object", "oldObject", "items", "details", "causes", "message", "reason",
    "data", "ca.crt", "ca.key", "name", "namespace", "uid", "resourceVersion", "labels", "annotations", "finalizers",
    "ownerReferences", "controller", "kind", "apiVersion", "conditions", "type", "parallelism", "completions",
    "template", "schedulingPolicy", "gang", "minCount", "podGroupTemplates", "controllerRef", "completedIndexes",
    "holderIdentity", "leaseDurationSeconds", "muster.dev/scheduling", "muster.dev/pod-group", "policy", "topology",
)  # fmt: skip
any_text = st.text(st.characters(), max_size=12)
"""With unpaired surrogates, which JSON can escape."""
scalars = st.none() | st.booleans() | st.integers() | st.floats() | any_text | st.just(10**400)
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS) | any_text, inner, max_size=5),
    max_leaves=30,
)


def takes(parser: str, data: bytes) -> None:
    began = time.thread_time()
    PARSERS[parser](data)
    assert time.thread_time() - began < LONGEST_SECONDS


@pytest.mark.parametrize("parser", PARSERS)
@SOME
@given(data=st.binary(max_size=300))
def test_any_bytes(parser: str, data: bytes) -> None:
    takes(parser, data)


@pytest.mark.parametrize("parser", PARSERS)
@SOME
@given(value=values)
def test_any_json(parser: str, value: Any) -> None:
    takes(parser, json.dumps(value).encode())
