"""Parses untrusted text into plain values, with limits on size, depth and time."""

import json
from itertools import accumulate
from typing import Any

import yaml

MAX_CHARACTERS = 8_192
"""Maximum length. A scheduling block has some hundred characters."""
MAX_BRACKETS = 32
"""Maximum nesting. PyYAML needs seconds for some thousand brackets, longer than a webhook may take."""


MAX_PARTS = 800
"""Approximate maximum number of entries in YAML: PyYAML needs 30 µs for each. A whole Job has some hundred."""
_BETWEEN_PARTS = ",:-?[{\n"


class Unparsable(ValueError):
    """The text of the exception says what is wrong and where."""


class _Loader(yaml.SafeLoader):
    """YAML without aliases, which can expand a small text to a huge value, and without duplicate keys."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "an alias (*) is not allowed", mark)
        node: yaml.Node | None = super().compose_node(parent, index)
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, "a key is given twice", key.start_mark)
            seen.add(str(key.value))
        return super().construct_mapping(node, deep)


def loaded(text: str) -> Any:
    """The value of the YAML or JSON text."""
    if len(text) > MAX_CHARACTERS:
        raise Unparsable(f"must have at most {MAX_CHARACTERS} characters, and has {len(text)}")
    if _most_open(text) > MAX_BRACKETS:
        raise Unparsable(f"must have at most {MAX_BRACKETS} nested levels")
    try:
        value = _json(text) if text.lstrip().startswith("{") else _yaml(text)
        if not _is_unicode(value):
            raise Unparsable("must be valid Unicode: it contains an unpaired surrogate escape")
    except RecursionError:
        raise Unparsable(f"must have at most {MAX_BRACKETS} nested levels") from None
    return value


def _is_unicode(value: object) -> bool:
    """Escapes can contain a lone surrogate, which UTF-8 cannot encode: pydantic and encoders raise on it."""
    if isinstance(value, str):
        return not any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, dict):
        return all(_is_unicode(key) and _is_unicode(each) for key, each in value.items())
    return all(map(_is_unicode, value)) if isinstance(value, list | tuple | set) else True


def _most_open(text: str) -> int:
    return max(accumulate((character in "[{") - (character in "]}") for character in text), default=0)


def _json(text: str) -> Any:
    """Parses JSON. YAML is nearly a superset of JSON, but does not allow tabs."""
    try:
        return json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError:
        return _yaml(text)
    except Unparsable:
        raise
    except ValueError as error:
        raise Unparsable(f"must be YAML or JSON: {error}") from None


def _yaml(text: str) -> Any:
    if sum(map(text.count, _BETWEEN_PARTS)) > MAX_PARTS:
        raise Unparsable(f"must have at most {MAX_PARTS} entries")
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506  it is a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise Unparsable(f"must be YAML or JSON: {error.problem}{where}") from None
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError) as error:
        # PyYAML raises these for a word that an explicit tag declares a boolean or a number, and that is neither.
        raise Unparsable(f"must be YAML or JSON: {str(error).splitlines()[0] if str(error) else 'no value'}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise Unparsable("must be YAML or JSON: a key is given twice")
    return value
