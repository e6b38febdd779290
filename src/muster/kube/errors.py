"""What can go wrong on the wire, and what to do next.

KubeError
├── RetryLater          the same call may succeed later
│   ├── Unreachable     no answer; a write may or may not have happened: look again
│   ├── Throttled       429, with the server's own waiting time
│   └── ServerFault     5xx
├── NotFound            404: it is gone, or the API is not served
├── AlreadyExists       409: somebody made it: look again
├── Conflict            409: it changed meanwhile: look again
├── Terminating         403: the namespace is being deleted: give up quietly
├── Forbidden           401, 403: an administrator must act
└── Rejected            400, 422: will never be accepted as it is
"""

from collections.abc import Mapping
from typing import Any

from muster.api.wire import Unreadable, mapping, mappings

MAX_MESSAGE = 400
"""Characters of a server's text that are kept: it may quote what a user wrote."""
LONGEST_RETRY_AFTER_SECONDS = 60.0
"""Whatever a server asks for: a proxy's typing error must not stop Muster for a day."""


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


class NotFound(KubeError):
    pass


class AlreadyExists(KubeError):
    pass


class Conflict(KubeError):
    pass


class Terminating(KubeError):
    pass


class Forbidden(KubeError):
    @property
    def lacks_right(self) -> bool:
        """The account may not do this at all. Otherwise an admission plugin refused this one object (quota, say)."""
        return "cannot" in str(self) and "resource" in str(self)


class Rejected(KubeError):
    pass


def classify(status: int, body: Mapping[str, Any], retry_after_seconds: float = 0.0) -> KubeError:
    """The error that an answer of the API server stands for."""
    said = body.get("message")
    message = said if said and isinstance(said, str) else f"HTTP {status}"
    retry_after_seconds = min(retry_after_seconds, LONGEST_RETRY_AFTER_SECONDS)
    if status == 429:
        return Throttled(message, retry_after_seconds or 1.0)
    if status >= 500:
        return ServerFault(message, retry_after_seconds)
    if status == 409:
        return AlreadyExists(message) if body.get("reason") == "AlreadyExists" else Conflict(message)
    if status == 403 and _namespace_terminates(body):
        return Terminating(message)
    known: dict[int, type[KubeError]] = {401: Forbidden, 403: Forbidden, 404: NotFound, 410: Conflict}
    return known.get(status, Rejected)(message)


def _namespace_terminates(body: Mapping[str, Any]) -> bool:
    try:
        causes = mappings(mapping(body, "details"), "causes")
    except Unreadable:
        return False
    return any(cause.get("reason") == "NamespaceTerminating" for cause in causes)


def plain_text(message: str) -> str:
    """Safe to print: no control characters, bounded."""
    printable = "".join(char if char.isprintable() else " " for char in message[: MAX_MESSAGE + 1])
    return printable if len(printable) <= MAX_MESSAGE else f"{printable[:MAX_MESSAGE]}…"
