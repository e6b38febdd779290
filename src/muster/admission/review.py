"""AdmissionReview in and out."""

import base64
from dataclasses import dataclass
from typing import Any, Self

import orjson

from muster.api.wire import Raw, Unreadable, as_object, flag, mapping, text
from muster.core.admit import Verdict
from muster.runtime.internal_errors import kind_of

API_VERSION = "admission.k8s.io/v1"
REFUSED_FOR_NOW = 503
"""The Job controller tries again on any error; this code says that trying again makes sense."""
REFUSED = 403


def failure(what: str, error: BaseException) -> str:
    """Why Muster cannot judge something, if that is its own fault."""
    return f"failed on {what} with {kind_of(error)}, which is a bug in Muster; its log says where"


@dataclass(frozen=True, slots=True)
class Review:
    uid: str
    operation: str
    namespace: str
    dry_run: bool
    new: Raw
    old: Raw

    @classmethod
    def parse(cls, raw: object) -> Self:
        request = mapping(as_object(raw, "AdmissionReview"), "request")
        if not text(request, "uid"):
            raise Unreadable("request.uid is not set")
        return cls(
            uid=text(request, "uid"),
            operation=text(request, "operation"),
            namespace=text(request, "namespace"),
            dry_run=flag(request, "dryRun"),
            new=mapping(request, "object"),
            old=mapping(request, "oldObject"),
        )


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
