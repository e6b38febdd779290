"""Typed, bounded reading of JSON from other clients.

Absent and null mean "not set", as in the Kubernetes API. A value of the wrong type raises `Unreadable` with its path;
callers turn it into a Reason.

This module bounds the length of every string, because the API server does not: the UID in an owner reference and a
schedulerName can have a megabyte. A string that is too long is not an error, since one such field must not make the
whole object unreadable. It becomes a short stand-in, which contains a hash and never equals a valid name or UID.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

type_names = {dict: "an object", list: "a list", str: "a string", int: "an integer", bool: "a boolean"}

Raw = Mapping[str, Any]

MAX_NAME = 253
"""A DNS subdomain, the longest name of an object."""
MAX_UID = 63
"""A Job's UID is a label value on its pods. API servers create UIDs of 36 characters."""
MAX_WORD = 64
"""resourceVersions and timestamps."""
MAX_MESSAGE = 1024
"""Text for people."""
STANDS_IN = "…"
"""Part of every stand-in, and of no valid name, UID, label value or resourceVersion."""
_INT64 = 2**63


class Unreadable(ValueError):
    """The object does not match the schema of its kind; the text names the field."""


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


def text(source: Raw, key: str, most: int = MAX_NAME) -> str:
    """A name or another identifier; a stand-in for it if it has more than `most` characters."""
    value = _text(source, key)
    if len(value) <= most:
        return value
    return f"{value[:16]}{STANDS_IN}{hashlib.sha256(value.encode()).hexdigest()[:32]}"


def words(source: Raw, key: str, most: int = MAX_MESSAGE) -> str:
    """Text that is only displayed, never compared; cut to `most` characters."""
    return _text(source, key)[:most]


def _text(source: Raw, key: str) -> str:
    value: str = _value(source, key, str) or ""
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:  # half of a surrogate pair, which cannot be encoded
            raise Unreadable(f"{key} is not valid Unicode") from None
    return value


def integer(source: Raw, key: str) -> int | None:
    value: int | None = _value(source, key, int)
    if value is not None and not -_INT64 <= value < _INT64:
        raise Unreadable(f"{key} is out of range")
    return value


def flag(source: Raw, key: str) -> bool:
    return _value(source, key, bool) or False


def mappings(source: Raw, key: str) -> Sequence[Raw]:
    items: list[Any] = _value(source, key, list) or []
    for position, item in enumerate(items):
        if not isinstance(item, dict):
            raise Unreadable(f"{key}[{position}] is not an object")
    return items


def texts(source: Raw, key: str) -> Sequence[str]:
    """A list of strings of any length."""
    items: list[Any] = _value(source, key, list) or []
    for position, item in enumerate(items):
        if not isinstance(item, str):
            raise Unreadable(f"{key}[{position}] is not a string")
    return items


def as_object(raw: object, kind: str) -> Raw:
    if not isinstance(raw, dict):
        raise Unreadable(f"a {kind} is not an object")
    return raw
