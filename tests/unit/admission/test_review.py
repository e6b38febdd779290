"""Reading reviews: what Muster reads is there, and nothing else is built."""

import json
import time
import tracemalloc
from typing import Any

import pytest

from muster.admission.review import MAX_PART_BYTES, MAX_STRINGS, POD_GROUP, NotAReview, Review
from muster.api.job import JobView
from muster.api.pod import PodView
from muster.api.profile import CRD_IN_OWN_GROUP
from tests.builders import Object, a_gang, a_pod, a_pod_group, a_review

MIB = 1024 * 1024


def read(thing: Object, **rest: Any) -> Review:
    return Review.parse(json.dumps(a_review(thing, **rest)).encode())


def busy_job() -> Object:
    """Every field that a JobView has, set to something."""
    job = a_gang("train").uid("now").build()
    job["metadata"] |= {
        "resourceVersion": "7",
        "deletionTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"kueue.x-k8s.io/queue-name": "fast", "other": "label"},
        "annotations": {
            "muster.dev/scheduling": "{}",
            "scheduling.k8s.io/group-template-name": "workers",
            "scheduling.k8s.io/parent-composite-podgroup": "parent",
            "other": "annotation",
        },
        "ownerReferences": [
            {"apiVersion": "x/v1", "kind": "X", "name": "x", "uid": "x", "controller": True, "blockOwnerDeletion": True}
        ],
    }
    rules = [{"action": "Ignore", "onExitCodes": {"values": [1]}}]
    job["spec"] |= {"suspend": True, "managedBy": "kubernetes.io/job-controller", "podFailurePolicy": {"rules": rules}}
    template = job["spec"].setdefault("template", {})
    template["metadata"] = {"annotations": {"muster.dev/pod-group": "mine"}}
    template.setdefault("spec", {}).update(
        schedulingGroup={"podGroupName": "mine"}, priorityClassName="high", schedulerName="other", nodeName="node"
    )
    job["status"] = {
        "active": 1,
        "ready": 1,
        "succeeded": 2,
        "failed": 3,
        "terminating": 4,
        "completedIndexes": "0-1",
        "failedIndexes": "3",
        "conditions": [
            {"type": "Suspended", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z", "message": "m"},
            {"type": "FailureTarget", "status": "True"},
        ],
    }
    return job


def test_a_job_in_a_review_is_read_like_any_other_job() -> None:
    job = busy_job()
    review = read(job, old=job, operation="UPDATE")
    for found in (review.new, review.old):
        view, whole = JobView.parse(found), JobView.parse(job)
        assert view == whole
        # What decides nothing is not compared by itself.
        assert all(getattr(view, name) == getattr(whole, name) for name in JobView.__dataclass_fields__)


def test_an_unset_field_stays_unset() -> None:
    job = a_gang("train").build()
    job["status"] = None
    job["spec"]["suspend"] = None
    job["metadata"]["annotations"] = None
    assert JobView.parse(read(job).new) == JobView.parse(job)
    empty = a_gang("train").build()
    empty["spec"]["template"] = {"spec": {"schedulingGroup": {}}}
    assert JobView.parse(read(empty).new).scheduling_group == ""


def test_a_pod_in_a_review_is_read_and_patched_like_any_other_pod() -> None:
    pod = a_pod().of(a_gang("train")).build()
    pod["metadata"] |= {"annotations": {"a": "b"}, "labels": {}}
    new = read(pod).new
    assert PodView.parse(new) == PodView.parse(pod)
    assert CRD_IN_OWN_GROUP.join("group", new) == CRD_IN_OWN_GROUP.join("group", pod)


def test_a_pod_group_is_read_whole() -> None:
    group = a_pod_group("mine").build()
    body = json.dumps(a_review(group)).encode()
    assert Review.parse(body, POD_GROUP).new["spec"] == group["spec"]
    found = CRD_IN_OWN_GROUP.read_pod_group(Review.parse(body, POD_GROUP).new)
    assert found.spec == CRD_IN_OWN_GROUP.read_pod_group(group).spec


BOMBS = {
    "objects nobody reads": b'{"managedFields":[' + b'{"":0},' * (3 * MIB // 7) + b"0]}",
    "strings nobody reads": b'{"managedFields":[' + b'"",' * MIB + b"0]}",
    "owners": b'{"ownerReferences":[' + b"{}," * MIB + b"{}]}",
    "annotations": b'{"annotations":{' + b",".join(b'"%d":""' % number for number in range(250_000)) + b"}}",
    "labels with escapes": b'{"labels":{' + b",".join(b'"\\\\":"\\\\"' for _ in range(300_000)) + b"}}",
    "a long string": b'{"uid":"' + b"u" * (3 * MIB) + b'"}',
    "a long number": b'{"generation":' + b"1" * (3 * MIB) + b"}",
    "deep lists": b'{"labels":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep objects": b'{"x":' * 100_000 + b"1" + b"}" * 100_000,
    "one key many times": b"{" + b'"labels":{"a":"b"},' * 100_000 + b'"labels":{}}',
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_an_oversized_review_takes_little_time_and_memory(bomb: str) -> None:
    body = b'{"request":{"uid":"1","operation":"CREATE","object":{"metadata":' + BOMBS[bomb] + b"}}}"
    best = min(_cpu_seconds(body) for _ in range(5))
    assert best < 0.05
    tracemalloc.start()
    try:
        _read(body)
        assert tracemalloc.get_traced_memory()[1] < 20 * MIB
    finally:
        tracemalloc.stop()


def _cpu_seconds(body: bytes) -> float:
    began = time.thread_time()
    _read(body)
    return time.thread_time() - began


def _read(body: bytes) -> None:
    said = ""
    try:
        said = Review.parse(body).problem
    except NotAReview as error:
        said = str(error)
    assert len(said) < 500
    assert said.isprintable()


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "truncated"),
        (b"\xff", "malformed"),
        (b'{"request":{"uid":"\xff"}}', "codec can't decode"),
        (b'{"request":{"uid":"\\ud800"}}', "truncated"),
        (b'{"request":{"uid":""}}', "1 to 128 characters"),
        (b'{"request":{"uid":"%s"}}' % (b"u" * 129), "1 to 128 characters"),
        (b"[" * 100_000, "Expected `object`"),
        (b'{"request":{"uid":"1","object":' + b"[" * 100_000, "recursion"),
        (b'{"request":{"uid":"1"}} trailing', "trailing"),
        (b'{"request":{"uid":"1","dryRun":"yes"}}', "dryRun"),
    ],
)
def test_the_error_names_what_is_wrong_with_a_review(body: bytes, says: str) -> None:
    with pytest.raises(NotAReview, match=says):
        Review.parse(body)


@pytest.mark.parametrize(
    ("metadata", "says"),
    [
        (
            {"annotations": {str(number): "" for number in range(MAX_STRINGS)}},
            "annotations has more than 20000 strings",
        ),
        ({"ownerReferences": [{"name": "n" * MAX_PART_BYTES}]}, "owner_references has more than 65536 bytes"),
        ({"labels": {"a": 1}}, "Expected `str"),
        ({"name": 7}, "Expected `str"),
    ],
)
def test_an_unreadable_object_is_a_problem_of_the_review(metadata: Object, says: str) -> None:
    review = read({"metadata": metadata})
    assert says in review.problem
    assert (review.new, review.old) == ({}, {})


def test_the_largest_annotations_that_kubernetes_allows_are_read() -> None:
    """256 KiB of annotations, the worst of them escaped."""
    annotations = {f"example.com/{number}": "<" * 60 for number in range(3_500)} | {"json": '{"a":"b"}' * 2_000}
    assert read({"metadata": {"annotations": annotations}}).new["metadata"]["annotations"] == annotations
