"""Immutability as CEL rules, with the meaning that it has in the built-in API.

There a field that is unset equals one with an empty string or an empty list, and the order of a list counts. CEL sees
the first as a change and, in lists with keys, does not see the second. So each field is compared on its own: strings
and plain lists by value, lists with keys by their keys in order, objects by presence and then field by field.
"""

from collections.abc import Collection
from typing import Any

from muster.api.schema import FROZEN, LIST_KEYS, RULES, rule

Schema = dict[str, Any]

_EMPTY = {"string": "''", "array": "[]"}


def freeze(schema: Schema, inside: bool = False, keys: Collection[str] = ()) -> Schema:
    """The same schema, with a rule for each field that is marked, and for all fields inside those.

    `keys` tell the object from others in its list: they cannot change, it would be another object.
    """
    rules = list(schema.get(RULES, ()))
    result = {key: value for key, value in schema.items() if key != FROZEN}
    if "properties" in schema:
        result["properties"] = {}
    for name, field in schema.get("properties", {}).items():
        frozen = inside or FROZEN in field
        result["properties"][name] = freeze(field, frozen)
        if frozen and name not in keys and (same := _same(name, field, name in schema.get("required", ()))):
            rules.append(rule(same, "field is immutable", f".{name}"))
    if "items" in schema:
        # Only items that are told apart by a key have an old self to be compared with.
        keys = schema.get(LIST_KEYS, ())
        result["items"] = freeze(schema["items"], inside and bool(keys), keys)
    return {**result, RULES: rules} if rules else result


def _same(name: str, field: Schema, required: bool) -> str:
    """Both have the field, or neither; and what it holds is the same, as far as no rule further down says so."""
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
