"""Converts a pydantic model to the structural schema of a CustomResourceDefinition."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from muster.api.schema import FILLED, NEEDED, RULES
from muster.crds.immutability import mark_immutable

Schema = dict[str, Any]

_DROPPED = frozenset({"$defs", "$ref", "anyOf", "title", "default", "properties", NEEDED, FILLED})
_FIRST = ("type", "description", "default")
_LAST = ("required", "properties", "items")


def structural(model: type[BaseModel]) -> Schema:
    """The schema of the model's objects, without metadata, which the API server defines."""
    raw = model.model_json_schema(by_alias=True, mode="validation")
    schema = _node(raw, raw.get("$defs", {}))
    own = {
        "apiVersion": {"type": "string", "description": "Group and version of the API that the object is written in."},
        "kind": {"type": "string", "description": f"{model.__name__}."},
        "metadata": {"type": "object"},
    }
    schema["properties"] = {**own, **{name: s for name, s in schema["properties"].items() if name not in own}}
    schema["required"] = [name for name in schema["required"] if name not in own]
    return _tidy(mark_immutable(schema))


def _node(raw: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    """One node, with references resolved. Its own keywords override those of the reference."""
    schema: Schema = {}
    for meant in _meant(raw, definitions):
        schema |= _node(meant, definitions)
    schema |= {key: value for key, value in raw.items() if key not in _DROPPED}
    if FILLED in raw:
        schema["default"] = raw[FILLED]
    if "items" in raw:
        schema["items"] = _node(raw["items"], definitions)
    if "properties" in raw:
        schema |= _fields(raw, definitions)
    return schema


def _meant(raw: Mapping[str, Any], definitions: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The schemas behind a reference or behind "this or null": in a CRD an unset field is absent, not null."""
    behind = [definitions[raw["$ref"].rpartition("/")[2]]] if "$ref" in raw else []
    return behind + [choice for choice in raw.get("anyOf", ()) if choice != {"type": "null"}]


def _fields(raw: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    properties = raw["properties"]
    required = [name for name, field in properties.items() if name in raw.get("required", ()) or NEEDED in field]
    found = {
        "required": required,
        "properties": {name: _node(field, definitions) for name, field in properties.items()},
    }
    return {key: value for key, value in found.items() if value}


def _tidy(schema: Schema) -> Schema:
    """Sort the keywords: `_FIRST` at the start, `_LAST` at the end."""
    middle = sorted(key for key in schema if key not in _FIRST + _LAST)
    tidied = {key: schema[key] for key in (*_FIRST, *middle, *_LAST) if key in schema}
    if RULES in tidied:
        order = ("rule", "message", "fieldPath")
        tidied[RULES] = [{key: rule[key] for key in order if key in rule} for rule in tidied[RULES]]
    if "properties" in tidied:
        tidied["properties"] = {name: _tidy(field) for name, field in tidied["properties"].items()}
    if "items" in tidied:
        tidied["items"] = _tidy(tidied["items"])
    return tidied
