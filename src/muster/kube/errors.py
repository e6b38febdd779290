"""The errors of an API call, and what the caller does next.

KubeError
├── RetryLater          the same call may succeed later
│   ├── Unreachable     no answer; a write may or may not have happened: read again
│   ├── Throttled       429, with the server's Retry-After
│   ├── ServerFault     5xx, a redirect, or an answer that is not JSON
│   └── TooLarge        the answer is larger than Muster reads
├── NotFound            404: the object is gone, or the API is not served
├── AlreadyExists       409: another client created the object: read again
├── Conflict            409: the object changed in the meantime: read again
├── Terminating         403: the namespace is being deleted: stop without an error
├── Forbidden           401, 403: an administrator must act
└── Rejected            400, 422: the server never accepts this object as it is
"""

import re
from collections.abc import Mapping
from typing import Any

from muster.api.wire import Unreadable, mapping, mappings

MAX_MESSAGE = 400
"""Characters of a server's message that Muster keeps: the message may quote what a user wrote."""
LONGEST_WAIT_SECONDS = 60.0
"""The longest Retry-After that Muster follows. A component that waits longer looks dead."""

_QUOTED = r'"(?:[^"\\]|\\.)*"'
_LACKS_RIGHT = re.compile(
    rf"\S+(?: {_QUOTED})? is forbidden: User {_QUOTED} cannot [a-z]+ resource {_QUOTED} in API group {_QUOTED} "
    rf"(?:in the namespace {_QUOTED}|at the cluster scope)"
)
"""The start of the message with which the API server reports a missing right."""


class KubeError(Exception):
    def __init__(self, message: str) -> None:
        super().__init__(plain_text(message))


class RetryLater(KubeError):
    def __init__(self, message: str, after_seconds: float = 0.0) -> None:
        super().__init__(message)
        self.after_seconds = after_seconds


class Unreachable(RetryLater):
    pass


class Throttled(RetryLater):
    pass


class ServerFault(RetryLater):
    pass


class TooLarge(RetryLater):
    pass


class NotFound(KubeError):
    pass


class AlreadyExists(KubeError):
    pass


class Conflict(KubeError):
    pass


class Terminating(KubeError):
    pass


class Forbidden(KubeError):
    def __init__(self, message: str, reason: str = "Forbidden") -> None:
        super().__init__(message)
        self.lacks_right = reason == "Forbidden" and _LACKS_RIGHT.match(message) is not None
        """The account lacks the right. Otherwise an admission plugin refused this object (for example a quota)."""


class Rejected(KubeError):
    pass


def classify(status: int, body: Mapping[str, Any], retry_after_seconds: float = 0.0) -> KubeError:
    """The error that matches an answer of the API server."""
    said = body.get("message")
    message = said if said and isinstance(said, str) else f"HTTP {status}"
    if status == 429:
        return Throttled(message, retry_after_seconds or 1.0)
    if status >= 500:
        return ServerFault(message, retry_after_seconds)
    if status < 400:
        return ServerFault(f"the API server answers with a redirect (HTTP {status}), which Muster does not follow")
    if status == 409:
        return AlreadyExists(message) if body.get("reason") == "AlreadyExists" else Conflict(message)
    if status == 403 and _namespace_terminates(body):
        return Terminating(message)
    if status in {401, 403}:
        return Forbidden(message, str(body.get("reason") or ""))
    known: dict[int, type[KubeError]] = {404: NotFound, 410: Conflict}
    return known.get(status, Rejected)(message)


def waiting_time(retry_after: str) -> float:
    """The seconds of a Retry-After header; 0 if there is none or it is not a number (the API server sends no dates)."""
    if not (retry_after.isascii() and retry_after.isdecimal()):
        return 0.0
    return min(float(retry_after[:6]), LONGEST_WAIT_SECONDS)


def _namespace_terminates(body: Mapping[str, Any]) -> bool:
    try:
        causes = mappings(mapping(body, "details"), "causes")
    except Unreadable:
        return False
    return any(cause.get("reason") == "NamespaceTerminating" for cause in causes)


def plain_text(message: str) -> str:
    """The message without control characters, cut to `MAX_MESSAGE`."""
    printable = "".join(char if char.isprintable() else " " for char in message[: MAX_MESSAGE + 1])
    return printable if len(printable) <= MAX_MESSAGE else f"{printable[:MAX_MESSAGE]}…"
