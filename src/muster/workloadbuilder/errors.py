"""Errors as values: the field, the error and what is allowed. The library reports all errors at once."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

MAX_SHOWN = 80
"""Maximum length of a value in a message: what a user writes must not flood a log or an event."""


@dataclass(frozen=True, slots=True)
class FieldPath:
    """The path of a field in the controller's API: `spec.scheduling.resourceClaims[0]`."""

    parts: tuple[str | int, ...] = ()

    @classmethod
    def of(cls, *parts: str | int) -> "FieldPath":
        return cls(parts)

    def child(self, *parts: str | int) -> "FieldPath":
        return FieldPath((*self.parts, *parts))

    def join(self, below: "FieldPath") -> "FieldPath":
        return self.child(*below.parts)

    def __str__(self) -> str:
        text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.parts)
        return text.removeprefix(".")


ROOT = FieldPath()


class ErrorKind(StrEnum):
    """The types of Kubernetes field errors."""

    REQUIRED = "Required"
    INVALID = "Invalid"
    TYPE_INVALID = "TypeInvalid"
    TOO_MANY = "TooMany"
    DUPLICATE = "Duplicate"
    FORBIDDEN = "Forbidden"
    INTERNAL = "Internal"
    """An error of the controller, not of its user."""


class Shown(str):
    """A value as messages show it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class FieldError:
    kind: ErrorKind
    path: FieldPath
    value: object
    """The value; None if it is missing."""
    allowed: str
    """What is allowed: "must be at least 1"."""

    def __str__(self) -> str:
        found = "" if self.value is None else f"{_shown(self.value)} "
        where = _bounded(str(self.path), 3 * MAX_SHOWN)
        return f"{where}{': ' if where else ''}{found}{self.allowed}"


class WorkloadBuilderError(Exception):
    """The base class of all exceptions of this library."""


class InvalidConfiguration(WorkloadBuilderError, ValueError):
    """The configuration of the user or the controller is invalid."""

    def __init__(self, errors: Iterable[FieldError]) -> None:
        self.errors = tuple(errors)
        super().__init__("; ".join(map(str, self.errors)))


class NotBuilt(WorkloadBuilderError, RuntimeError):
    """There is no Workload to create groups from, or another builder built it."""


class UnknownTemplate(WorkloadBuilderError, LookupError):
    """The Workload has no such template."""


def brief(error: FieldError) -> FieldError:
    """The error without its value, which can be large."""
    return error if error.value is None else replace(error, value=Shown(_shown(error.value)))


def _shown(value: object) -> str:
    if isinstance(value, Shown):
        return value
    if isinstance(value, tuple | set | frozenset):
        value = list(value)
    try:
        text = json.dumps(value, default=str, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = f"a {type(value).__name__}"
    return _bounded(text, MAX_SHOWN)


def _bounded(text: str, room: int) -> str:
    text = text[: room + 1]
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= room else f"{text[: room - 1]}…"
