"""What the API server checks and the models do not: marks on fields, read by the generator of our CRDs.

Muster trusts what the server accepted, so these never fail a read: an object of a newer server that allows more is
still understood.
"""

from typing import Any

from pydantic import GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

RULES = "x-kubernetes-validations"
LIST_TYPE = "x-kubernetes-list-type"
LIST_KEYS = "x-kubernetes-list-map-keys"

# The marks that only the generator understands; it leaves none of them in a schema.
FROZEN = "x-muster-frozen"
NEEDED = "x-muster-required"
FILLED = "x-muster-default"

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_VALUE = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"


class Schema:
    """`Annotated[str, Schema(maxLength=63)]`: more keywords for the field's schema."""

    def __init__(self, **keywords: Any) -> None:
        self.keywords = keywords

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(core_schema), **self.keywords}


def rule(expression: str, message: str, field: str = "") -> dict[str, Any]:
    """One CEL rule; `field` is what an error names instead of the whole object."""
    return {"rule": expression, "message": message, **({"fieldPath": field} if field else {})}


def exactly_one(*names: str) -> dict[str, Any]:
    """A union: what a model's `json_schema_extra` says about its optional fields."""
    members = ", ".join(f"has(self.{name})" for name in names)
    message = f"must specify exactly one of: {', '.join(names)}"
    return {RULES: [rule(f"[{members}].exists_one(given, given)", message)]}


def by_key(key: str, **keywords: Any) -> Schema:
    """A list whose items are told apart by one of their fields."""
    return Schema(**{LIST_TYPE: "map", LIST_KEYS: [key]}, **keywords)


def atomic(**keywords: Any) -> Schema:
    """A list that is always written as a whole."""
    return Schema(**{LIST_TYPE: "atomic"}, **keywords)


IMMUTABLE = Schema(**{FROZEN: True})
"""Never changes after creation, with all that is in it."""
REQUIRED = Schema(**{NEEDED: True})
"""The server insists on it, and the model has a default all the same: it reads leniently."""


def default(value: object) -> Schema:
    """What the server fills in. The model keeps None: it must not write what nobody set."""
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
    allOf=[{"pattern": "^([^/]{1,253}/)?[^/]+$"}],  # as a CEL rule it would cost too much in a list of any length
)
