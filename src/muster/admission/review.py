"""Reads and writes AdmissionReviews.

Any client can send one. Muster builds only the fields of an object that it uses and skips all others.
"""

import base64
from dataclasses import dataclass
from typing import Any, Self

import msgspec
import orjson

from muster.api.wire import Raw
from muster.core.admit import Verdict
from muster.kube.errors import plain_text

API_VERSION = "admission.k8s.io/v1"
REFUSED_FOR_NOW = 503
"""The Job controller retries after any error; this code states that a retry can succeed."""
REFUSED = 403

MAX_UID = 128
"""Maximum length of the review's own UID, which the answer repeats."""
MAX_STRINGS = 20_000
"""Strings in a map of labels or annotations. Kubernetes keeps at most 256 KiB of annotations."""
MAX_PART_BYTES = 64 * 1024
"""Maximum JSON size of a list, or of a PodGroup's spec."""

_ABSENT = msgspec.Raw(b"null")
_MALFORMED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class NotAReview(ValueError):
    """The body is not an AdmissionReview."""


class _Part(msgspec.Struct, rename="camel", omit_defaults=True):
    pass


class _Owner(_Part):
    api_version: str | None = None
    kind: str | None = None
    name: str | None = None
    uid: str | None = None
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class _Condition(_Part):
    type: str | None = None
    status: str | None = None
    last_transition_time: str | None = None


class _Rule(_Part):
    action: str | None = None


class _Metadata(_Part):
    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    deletion_timestamp: str | None = None
    labels: msgspec.Raw = _ABSENT
    annotations: msgspec.Raw = _ABSENT
    owner_references: msgspec.Raw = _ABSENT
    finalizers: msgspec.Raw = _ABSENT


class _Group(_Part):
    pod_group_name: str | None = None


class _FailurePolicy(_Part):
    rules: msgspec.Raw = _ABSENT


class _Spec(_Part):
    """The spec of a Pod or of a Job."""

    scheduling_group: _Group | None = None
    priority_class_name: str | None = None
    scheduler_name: str | None = None
    node_name: str | None = None
    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str | None = None
    suspend: bool | None = None
    managed_by: str | None = None
    pod_failure_policy: _FailurePolicy | None = None
    template: "_PodOrJob | None" = None


class _Status(_Part):
    phase: str | None = None
    active: int | None = None
    ready: int | None = None
    succeeded: int | None = None
    failed: int | None = None
    terminating: int | None = None
    completed_indexes: str | None = None
    failed_indexes: str | None = None
    conditions: msgspec.Raw = _ABSENT


class _PodOrJob(_Part):
    metadata: _Metadata | None = None
    spec: _Spec | None = None
    status: _Status | None = None


class _PodGroup(_Part):
    metadata: _Metadata | None = None
    spec: msgspec.Raw = _ABSENT


class _Request(_Part):
    uid: str = ""
    operation: str | None = None
    namespace: str | None = None
    dry_run: bool | None = None
    object: msgspec.Raw = _ABSENT
    old_object: msgspec.Raw = _ABSENT


class _AdmissionReview(_Part):
    request: _Request


Shape = msgspec.json.Decoder[Any]
POD_OR_JOB: Shape = msgspec.json.Decoder(_PodOrJob | None)
POD_GROUP: Shape = msgspec.json.Decoder(_PodGroup | None)

_REVIEW = msgspec.json.Decoder(_AdmissionReview)
_MAP: Shape = msgspec.json.Decoder(dict[str, str] | None)
_LISTS: dict[str, Shape] = {
    "owner_references": msgspec.json.Decoder(list[_Owner] | None),
    "finalizers": msgspec.json.Decoder(list[str] | None),
    "conditions": msgspec.json.Decoder(list[_Condition] | None),
    "rules": msgspec.json.Decoder(list[_Rule] | None),
    "spec": msgspec.json.Decoder(dict[str, Any] | None),
}


@dataclass(frozen=True, slots=True)
class Review:
    uid: str
    operation: str
    namespace: str
    dry_run: bool
    new: Raw
    """The fields of the object that Muster uses."""
    old: Raw
    problem: str = ""
    """Why the objects cannot be read; then `new` and `old` are empty."""

    @classmethod
    def parse(cls, body: bytes, shape: Shape = POD_OR_JOB) -> Self:
        try:
            request = _REVIEW.decode(body).request
        except _MALFORMED as error:
            raise NotAReview(plain_text(str(error))) from error
        if not 0 < len(request.uid) <= MAX_UID:
            raise NotAReview(f"request.uid must have 1 to {MAX_UID} characters")
        new: Raw = {}
        old: Raw = {}
        problem = ""
        try:
            new, old = _object(request.object, shape), _object(request.old_object, shape)
        except _MALFORMED as error:
            problem = plain_text(str(error)) or "it cannot be read"
        return cls(
            uid=request.uid,
            operation=request.operation or "",
            namespace=request.namespace or "",
            dry_run=request.dry_run or False,
            new=new,
            old=old,
            problem=problem,
        )


def _object(raw: msgspec.Raw, shape: Shape) -> Raw:
    part = shape.decode(raw)
    return {} if part is None else _built(part)


def _built(part: msgspec.Struct) -> dict[str, Any]:
    """The object as plain dicts, without the fields that are not set."""
    found: dict[str, Any] = {}
    for field, key in zip(part.__struct_fields__, part.__struct_encode_fields__, strict=True):
        value = getattr(part, field)
        if isinstance(value, msgspec.Raw):
            value = _bounded(field, bytes(value))
        elif isinstance(value, msgspec.Struct):
            value = _built(value)
        if value is not None:
            found[key] = value
    return found


def _bounded(field: str, text: bytes) -> Any:
    """Parse a short text. A long one is an error, because building many objects blocks the event loop."""
    if (shape := _LISTS.get(field)) is not None:
        if len(text) > MAX_PART_BYTES:
            raise msgspec.DecodeError(f"{field} has more than {MAX_PART_BYTES} bytes")
        return msgspec.to_builtins(shape.decode(text))
    if text.count(b'"') - text.count(b'\\"') > MAX_STRINGS:
        raise msgspec.DecodeError(f"{field} has more than {MAX_STRINGS} strings")
    return _MAP.decode(text)


def answer(review: Review, verdict: Verdict, patch: list[dict[str, Any]] | None = None, code: int = REFUSED) -> bytes:
    response: dict[str, Any] = {"uid": review.uid, "allowed": verdict.allowed}
    if verdict.warnings:
        response["warnings"] = list(verdict.warnings)
    if not verdict.allowed:
        response["status"] = {"code": code, "message": verdict.message}
    elif patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(orjson.dumps(patch)).decode()
    return orjson.dumps({"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": response})
