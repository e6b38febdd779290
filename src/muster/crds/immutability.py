"""Immutability as CEL rules, with the meaning that it has in the built-in API.

In the built-in API, an unset field equals an empty string or list, and the order of a list matters. CEL treats the
first as a change and ignores the second in keyed lists. So each field has its own rule: strings and plain lists are
compared by value, keyed lists by their keys in order, objects by presence and then field by field.
"""

from collections.abc import Collection
from typing import Any

from muster.api.schema import IMMUTABLE_FIELD, LIST_KEYS, RULES, rule

Schema = dict[str, Any]

_EMPTY = {"string": "''", "array": "[]"}


def mark_immutable(schema: Schema, inside: bool = False, keys: Collection[str] = ()) -> Schema:
    """The schema with a rule for each immutable field and for all fields inside it.

    Fields in `keys` identify an item of a list. They need no rule: an item with another key is another item.
    """
    rules = list(schema.get(RULES, ()))
    result = {key: value for key, value in schema.items() if key != IMMUTABLE_FIELD}
    if "properties" in schema:
        result["properties"] = {}
    for name, field in schema.get("properties", {}).items():
        immutable = inside or IMMUTABLE_FIELD in field
        result["properties"][name] = mark_immutable(field, immutable)
        if immutable and name not in keys and (same := _same(name, field, name in schema.get("required", ()))):
            rules.append(rule(same, "field is immutable", f".{name}"))
    if "items" in schema:
        # CEL has an oldSelf only for items of a keyed list.
        keys = schema.get(LIST_KEYS, ())
        result["items"] = mark_immutable(schema["items"], inside and bool(keys), keys)
    return {**result, RULES: rules} if rules else result


def _same(name: str, field: Schema, required: bool) -> str:
    """A CEL expression: both or neither have the field, with the same value. Nested fields have their own rules."""
    kind = field["type"]
    present = f"has(self.{name}) == has(oldSelf.{name})"
    if kind == "object":
        return "" if required else present
    new, old = (_value(f"{owner}.{name}", field) for owner in ("self", "oldSelf"))
    if required:
        return f"{new} == {old}"
    if kind in _EMPTY:
        return f"(has(self.{name}) ? {new} : {_EMPTY[kind]}) == (has(oldSelf.{name}) ? {old} : {_EMPTY[kind]})"
    return f"{present} && (!has(self.{name}) || {new} == {old})"


def _value(path: str, field: Schema) -> str:
    keys = field.get(LIST_KEYS)
    return f"{path}.map(item, item.{keys[0]})" if keys else path
