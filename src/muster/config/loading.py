"""Reads the settings file. It reports all errors at once, each with the allowed values."""

import difflib
import json
from collections.abc import Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from muster.config.types import NEVER, OWN_NAMESPACE, Service, Settings

MAX_BYTES = 1024 * 1024
MAX_BRACKETS = 32
"""Maximum nesting: PyYAML takes minutes for some thousand open brackets."""
WHOLE_FILE = "the file"
KINDS = {
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text",
    "frozen_set_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "finite_number": "a finite number",
}


class BadSettings(Exception):
    """Lines of `path: what is wrong (what is allowed)`, at least one."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def load(path: Path | None, environment: Mapping[str, str]) -> Settings:
    """The effective settings: from the file and the pod's environment."""
    return in_its_place(Settings() if path is None else read(path), environment)


def in_its_place(settings: Settings, environment: Mapping[str, str]) -> Settings:
    """The settings with Muster's own namespace filled in and excluded."""
    namespace = settings.service.namespace or environment.get("POD_NAMESPACE") or OWN_NAMESPACE
    service = Service(**{**settings.service.model_dump(by_alias=False), "namespace": namespace})
    excluded = (settings.excluded_namespaces - {OWN_NAMESPACE}) | NEVER | {namespace}
    if OWN_NAMESPACE in settings.excluded_namespaces and "excluded_namespaces" in settings.model_fields_set:
        excluded |= {OWN_NAMESPACE}
    return settings.model_copy(update={"service": service, "excluded_namespaces": excluded})


def read(path: Path) -> Settings:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise BadSettings([f"{path}: cannot be read: {error.strerror or error}"]) from error
    if len(content) > MAX_BYTES:
        raise BadSettings([f"{WHOLE_FILE}: is too long (allowed: {MAX_BYTES} bytes)"])
    return parse(content)


def parse(content: bytes) -> Settings:
    given, problems = _plain_data(content)
    try:
        settings = Settings.model_validate_json(
            json.dumps(given, default=str), strict=True, by_alias=True, by_name=False
        )
    except ValidationError as error:
        problems += [_line(problem) for problem in error.errors(include_url=False)]
    if problems:
        raise BadSettings(problems)
    return settings


def _plain_data(content: bytes) -> tuple[dict[str, Any], list[str]]:
    """The data of the YAML file, and the errors found in it so far."""
    if max(accumulate((each in b"[{") - (each in b"]}") for each in content), default=0) > MAX_BRACKETS:
        raise BadSettings([f"{WHOLE_FILE}: is nested too deeply"])
    try:
        root = yaml.compose(content, yaml.SafeLoader)
        problems = list(_odd_keys(root, (), set())) if root is not None else []
        given = yaml.safe_load(content)
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError) as error:
        # PyYAML raises these for a word that an explicit tag declares a boolean or a number, and that is neither.
        raise BadSettings([f"{WHOLE_FILE}: is not YAML: {_where(error)}"]) from error
    except RecursionError as error:
        raise BadSettings([f"{WHOLE_FILE}: is nested too deeply"]) from error
    if not isinstance(given, dict | None):
        raise BadSettings([f"{WHOLE_FILE}: is {_shown(given)} (allowed: a mapping of settings)"])
    return _without_nothing(given or {}), problems


def _odd_keys(node: yaml.Node, path: tuple[str, ...], seen: set[int]) -> Iterator[str]:
    if id(node) in seen:  # nested aliases can expand to more than the memory
        raise BadSettings([f"{'.'.join(path)}: is a YAML alias (allowed: the value itself)"])
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            yield from _odd_keys(item, (*path, str(number)), seen)
    if not isinstance(node, yaml.MappingNode):
        return
    names = set()
    for key, value in node.value:
        name = str(key.value) if isinstance(key, yaml.ScalarNode) else "?"
        if name in names:
            line = key.start_mark.line + 1
            yield f"{'.'.join((*path, _printable(name)))}: is given twice, again in line {line} (allowed: once)"
        names.add(name)
        yield from _odd_keys(value, (*path, name), seen)


def _without_nothing(given: Any) -> Any:
    """Drop keys without a value, as if they were not given."""
    if isinstance(given, dict):
        return {str(key): _without_nothing(value) for key, value in given.items() if value is not None}
    return [_without_nothing(item) for item in given] if isinstance(given, list) else given


def _where(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return _printable(f"{error.problem} in line {mark.line + 1}, column {mark.column + 1}")
    return _printable(" ".join(str(error).split()))


def _line(problem: ErrorDetails) -> str:
    location = problem["loc"]
    path = ".".join(_printable(str(part)) for part in location) or WHOLE_FILE
    kind, context = problem["type"], problem.get("ctx") or {}
    if kind == "extra_forbidden":
        names = _names(location[:-1])
        meant = difflib.get_close_matches(str(location[-1]), names, 1)
        return f"{path}: unknown key{f'; did you mean {meant[0]}?' if meant else ''} (allowed: {', '.join(names)})"
    if kind == "missing":
        return f"{path}: is missing (allowed: any valid value)"
    if kind == "value_error":
        return f"{path}: {context['error']}"
    return f"{path}: is {_shown(problem['input'])} (allowed: {_allowed(location, kind, context, problem['msg'])})"


def _allowed(location: tuple[int | str, ...], kind: str, context: Mapping[str, Any], message: str) -> str:
    if kind in KINDS:
        return KINDS[kind]
    if kind == "literal_error":
        return str(context["expected"])
    field = _field(location)
    bounds = {name: getattr(item, name) for item in (field.metadata if field else ()) for name in _bounds_of(item)}
    if kind in {"greater_than", "greater_than_equal", "less_than_equal"}:
        low = f"more than {bounds['gt']}" if "gt" in bounds else str(bounds.get("ge"))
        return f"{low} to {bounds.get('le')}" if "le" in bounds else f"{low} or more"
    if kind == "string_pattern_mismatch":
        return "a name of a-z, 0-9 and -"
    return message[:1].lower() + message[1:]


def _bounds_of(constraint: object) -> list[str]:
    return [name for name in ("gt", "ge", "le") if getattr(constraint, name, None) is not None]


def _field(location: tuple[int | str, ...]) -> FieldInfo | None:
    """The field at a path of aliases."""
    model: Any = Settings
    field: FieldInfo | None = None
    for part in location:
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            return field
        field = next((each for each in model.model_fields.values() if each.alias == part), None)
        if field is None:
            return None
        model = field.annotation
    return field


def _names(location: tuple[int | str, ...]) -> list[str]:
    model: Any = Settings
    for part in location:
        fields = model.model_fields.values() if hasattr(model, "model_fields") else ()
        model = next((each.annotation for each in fields if each.alias == part), _element(model))
    return [str(each.alias) for each in model.model_fields.values()] if hasattr(model, "model_fields") else []


def _element(model: Any) -> Any:
    """The type of the elements of a list type."""
    arguments = getattr(model, "__args__", ())
    return arguments[0] if arguments else None


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str, ensure_ascii=True)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)[:120]


def as_yaml(settings: Settings) -> str:
    """The settings as a YAML file with the same content."""
    return yaml.safe_dump(settings.model_dump(mode="json", by_alias=True), sort_keys=False)
