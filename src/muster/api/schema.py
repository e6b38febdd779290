"""Schema annotations on model fields, for checks that only the API server makes. The CRD generator reads them.

The models do not check them: Muster accepts what the server accepted, so it can also read objects of a newer server
that allows more.
"""

from typing import Any

from pydantic import GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

RULES = "x-kubernetes-validations"
LIST_TYPE = "x-kubernetes-list-type"
LIST_KEYS = "x-kubernetes-list-map-keys"

# Keywords for the generator only; it removes them from the schema.
IMMUTABLE_FIELD = "x-muster-immutable"
NEEDED = "x-muster-required"
FILLED = "x-muster-default"

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_VALUE = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"


class Schema:
    """`Annotated[str, Schema(maxLength=63)]`: additional keywords for the field's schema."""

    def __init__(self, **keywords: Any) -> None:
        self.keywords = keywords

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(core_schema), **self.keywords}


def rule(expression: str, message: str, field: str = "") -> dict[str, Any]:
    """One CEL rule; `field` is the path that the error names instead of the whole object."""
    return {"rule": expression, "message": message, **({"fieldPath": field} if field else {})}


def exactly_one(*names: str) -> dict[str, Any]:
    """A union: the `json_schema_extra` of a model of which exactly one optional field is set."""
    members = ", ".join(f"has(self.{name})" for name in names)
    message = f"must specify exactly one of: {', '.join(names)}"
    return {RULES: [rule(f"[{members}].exists_one(given, given)", message)]}


def by_key(key: str, **keywords: Any) -> Schema:
    """A list with a key (`x-kubernetes-list-type: map`)."""
    return Schema(**{LIST_TYPE: "map", LIST_KEYS: [key]}, **keywords)


def atomic(**keywords: Any) -> Schema:
    """A list that is always replaced as a whole (`x-kubernetes-list-type: atomic`)."""
    return Schema(**{LIST_TYPE: "atomic"}, **keywords)


IMMUTABLE = Schema(**{IMMUTABLE_FIELD: True})
"""The field and everything in it never changes after creation."""
REQUIRED = Schema(**{NEEDED: True})
"""The server requires the field. The model still has a default, because it parses leniently."""


def default(value: object) -> Schema:
    """The default that the server sets. The model keeps None, so that Muster does not write what is not set."""
    return Schema(**{FILLED: value})


COUNT = Schema(format="int32", maximum=2**31 - 1)
DNS_LABEL = Schema(minLength=1, maxLength=63, pattern=f"^{_LABEL}$")
DNS_SUBDOMAIN = Schema(minLength=1, maxLength=253, pattern=f"^{_SUBDOMAIN}$")
DNS_SUBDOMAIN_OR_EMPTY = Schema(maxLength=253, pattern=f"^({_SUBDOMAIN})?$")
PATH_SEGMENT = Schema(minLength=1, pattern=r"^(\.{0,2}[^./%][^/%]*|\.{3}[^/%]*)$")
LABEL_KEY = Schema(
    minLength=1,
    maxLength=253 + 1 + 63,
    pattern=f"^({_SUBDOMAIN}/)?{_LABEL_VALUE}$",
    allOf=[{"pattern": "^([^/]{1,253}/)?[^/]+$"}],  # a CEL rule would exceed the cost limit in an unbounded list
)
