"""Text that anybody may have written, to plain values: bounded in size, depth and time, and never with a surprise."""

import json
from itertools import accumulate
from typing import Any

import yaml

MAX_CHARACTERS = 8_192
"""A scheduling block has some hundred."""
MAX_BRACKETS = 32
"""Open at a time. PyYAML takes seconds for some thousand of them, which is longer than a webhook may take."""


MAX_PARTS = 800
"""Entries of lists and mappings, about, in YAML: PyYAML takes 30 µs for each. A whole Job has some hundred."""
_BETWEEN_PARTS = ",:-?[{\n"


class Unparsable(ValueError):
    """The sentence says what is wrong, and where."""


class _Loader(yaml.SafeLoader):
    """YAML without anchors, which can make a small text into a huge value, and without a key given twice."""

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
    """The value that the YAML or JSON says."""
    if len(text) > MAX_CHARACTERS:
        raise Unparsable(f"must have at most {MAX_CHARACTERS} characters, and has {len(text)}")
    if _most_open(text) > MAX_BRACKETS:
        raise Unparsable("must not be nested so deep")
    try:
        value = _json(text) if text.lstrip().startswith("{") else _yaml(text)
        if not _is_unicode(value):
            raise Unparsable("must be valid Unicode: an escape stands for half a character")
    except RecursionError:
        raise Unparsable("must not be nested so deep") from None
    return value


def _is_unicode(value: object) -> bool:
    """Escapes can name a lone surrogate, which no UTF-8 text can hold: pydantic and every encoder trip over it."""
    if isinstance(value, str):
        return not any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, dict):
        return all(_is_unicode(key) and _is_unicode(each) for key, each in value.items())
    return all(map(_is_unicode, value)) if isinstance(value, list | tuple | set) else True


def _most_open(text: str) -> int:
    return max(accumulate((character in "[{") - (character in "]}") for character in text), default=0)


def _json(text: str) -> Any:
    """JSON, of which YAML is nearly a superset: tabs are the difference that people meet."""
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
        raise Unparsable("must not have so many entries")
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506  it is a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise Unparsable(f"must be YAML or JSON: {error.problem}{where}") from None
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError) as error:
        # PyYAML looks a word up that an explicit tag calls a boolean or a number, and it is none.
        raise Unparsable(f"must be YAML or JSON: {str(error).splitlines()[0] if str(error) else 'no value'}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise Unparsable("must be YAML or JSON: a key is given twice")
    return value
