"""Typed reading of JSON that somebody else wrote.

Absent and null mean "not set", as in the Kubernetes API. A value of the wrong type raises `Unreadable` with its path:
callers turn that into a Reason, never into a crash.
"""

from collections.abc import Mapping, Sequence
from typing import Any

type_names = {dict: "an object", list: "a list", str: "a string", int: "an integer", bool: "a boolean"}

Raw = Mapping[str, Any]


class Unreadable(ValueError):
    """The object does not have the shape of its kind; the text names the field."""


def _value(source: Raw, key: str, expected: type) -> Any:
    value = source.get(key)
    if value is None:
        return None
    wrong = not isinstance(value, expected) or (expected is int and isinstance(value, bool))
    if wrong:
        raise Unreadable(f"{key} is not {type_names[expected]}")
    return value


def mapping(source: Raw, key: str) -> Raw:
    return _value(source, key, dict) or {}


def text(source: Raw, key: str) -> str:
    return _value(source, key, str) or ""


def integer(source: Raw, key: str) -> int | None:
    value: int | None = _value(source, key, int)
    return value


def flag(source: Raw, key: str) -> bool:
    return _value(source, key, bool) or False


def mappings(source: Raw, key: str) -> Sequence[Raw]:
    items: list[Any] = _value(source, key, list) or []
    for position, item in enumerate(items):
        if not isinstance(item, dict):
            raise Unreadable(f"{key}[{position}] is not an object")
    return items


def as_object(raw: object, kind: str) -> Raw:
    if not isinstance(raw, dict):
        raise Unreadable(f"a {kind} is not an object")
    return raw
