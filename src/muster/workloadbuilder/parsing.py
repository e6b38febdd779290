"""Parses YAML or JSON of a user into blocks. It reports all errors at once, by field."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from types import UnionType
from typing import Any, Generic, TypeVar, cast, get_args

from pydantic import AliasChoices, BaseModel, ValidationError
from pydantic_core import ErrorDetails

from muster.api.blocks import CompositePodGroupScheduling, PodGroupScheduling
from muster.workloadbuilder.errors import ROOT, ErrorKind, FieldError, FieldPath, InvalidConfiguration
from muster.workloadbuilder.rules import block_errors
from muster.workloadbuilder.text import Unparsable, loaded
from muster.workloadbuilder.tree import BlockPaths

B = TypeVar("B", bound=PodGroupScheduling | CompositePodGroupScheduling)
WRAPPER = "scheduling"
"""The field of a Job that contains the blocks: users paste it together with them."""
_TYPES = {
    "int_type": "must be an integer",
    "int_parsing_size": "must be an integer",
    "string_type": "must be a string",
    "model_type": "must be an object",
    "tuple_type": "must be a list",
    "invalid_key": "must be the name of a field",
}


@dataclass(frozen=True, slots=True)
class Parsed(Generic[B]):
    scheduling: B
    block_paths: BlockPaths
    """The field names that the user chose, for the `block_paths` of an item, so that later errors name them."""
    path: FieldPath
    """The path of the blocks, for the `path` of an item."""


def parse_pod_group_scheduling(text: str, path: FieldPath = ROOT) -> Parsed[PodGroupScheduling]:
    """The blocks of a leaf. Raises `InvalidConfiguration` with all errors."""
    return read_pod_group_scheduling(_raw(text, path), path)


def parse_composite_scheduling(text: str, path: FieldPath = ROOT) -> Parsed[CompositePodGroupScheduling]:
    """The blocks of a composite. Raises `InvalidConfiguration` with all errors."""
    return read_composite_scheduling(_raw(text, path), path)


def read_pod_group_scheduling(raw: object, path: FieldPath = ROOT) -> Parsed[PodGroupScheduling]:
    """The same from data that is already parsed, such as a part of a larger object."""
    return _read(PodGroupScheduling, raw, path)


def read_composite_scheduling(raw: object, path: FieldPath = ROOT) -> Parsed[CompositePodGroupScheduling]:
    return _read(CompositePodGroupScheduling, raw, path)


def _raw(text: str, path: FieldPath) -> object:
    try:
        return loaded(text)
    except Unparsable as error:
        raise InvalidConfiguration([FieldError(ErrorKind.INVALID, path, None, str(error))]) from None


def _read(model: type[B], raw: object, path: FieldPath) -> Parsed[B]:
    if isinstance(raw, Mapping) and set(raw) == {WRAPPER}:
        raw, path = raw[WRAPPER], path.child(WRAPPER)
    if not isinstance(raw, Mapping):
        kind = ErrorKind.REQUIRED if raw is None else ErrorKind.TYPE_INVALID
        allowed = f"must be an object with the fields: {', '.join(sorted(_fields(model)))}"
        raise InvalidConfiguration([FieldError(kind, path, raw, allowed)])
    return _from_mapping(model, raw, path)


def _from_mapping(model: type[B], raw: Mapping[str, Any], path: FieldPath) -> Parsed[B]:
    spelling = _spelling(raw)
    try:
        blocks = _shaped(model, raw)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        errors = [_shape_error(model, problem, path) for problem in problems]
        rest = _rules_of_the_rest(model, _without(raw, problems), spelling.below(path))
        raise InvalidConfiguration([*errors, *rest]) from None
    errors = list(block_errors(blocks, spelling.below(path)))
    if errors:
        raise InvalidConfiguration(errors)
    return Parsed(blocks, spelling, path)


def _shaped(model: type[B], raw: Mapping[str, Any]) -> B:
    """Validates by the field names of the API only: the Python names are not accepted."""
    return cast("B", model.model_validate(raw, by_alias=True, by_name=False))


def _rules_of_the_rest(model: type[B], raw: Mapping[str, Any], places: BlockPaths) -> Iterator[FieldError]:
    """The errors of the readable fields, so that an unreadable field does not hide them."""
    for name, value in raw.items():
        try:
            blocks = _shaped(model, {name: value})
        except ValidationError:
            continue
        yield from block_errors(blocks, places)


def _without(raw: Mapping[str, Any], problems: list[ErrorDetails]) -> Mapping[str, Any]:
    """A copy without the fields that cannot be read."""
    rest = deepcopy(dict(raw))
    for problem in problems:
        if not problem["loc"]:  # the whole object: there is no field left to check
            return {}
        *above, last = problem["loc"]
        inside: Any = rest
        for part in above:
            inside = inside[part]
        if isinstance(inside, dict):
            inside.pop(last, None)
    return rest


def _spelling(raw: Mapping[str, Any]) -> BlockPaths:
    def written(ours: str, keps: str) -> FieldPath:
        return FieldPath.of(keps if keps in raw and ours not in raw else ours)

    constraints = raw.get("schedulingConstraints", raw.get("constraints"))
    topology = constraints.get("topology") if isinstance(constraints, Mapping) else None
    first = topology[0] if isinstance(topology, list) and topology else None
    return BlockPaths(
        policy=written("schedulingPolicy", "policy"),
        constraints=written("schedulingConstraints", "constraints"),
        disruption_mode=written("disruptionMode", "disruption"),
        topology_key="level" if isinstance(first, Mapping) and "key" not in first else "key",
    )


def _shape_error(model: type[BaseModel], problem: ErrorDetails, path: FieldPath) -> FieldError:
    where = path.child(*problem["loc"])
    match problem["type"]:
        case "missing":
            return FieldError(ErrorKind.REQUIRED, where, None, "must be set")
        case "extra_forbidden":
            known = _fields(_model_at(model, problem["loc"][:-1]))
            if problem["loc"][-1] in known:
                allowed = "is a second spelling of a field that is already set: set only one"
                return FieldError(ErrorKind.DUPLICATE, where, problem["input"], allowed)
            allowed = f"is an unknown field (the fields are: {', '.join(sorted(known)) or 'none'})"
            return FieldError(ErrorKind.FORBIDDEN, where, problem["input"], allowed)
    allowed = _TYPES.get(problem["type"], problem["msg"])
    return FieldError(ErrorKind.TYPE_INVALID, where, problem["input"], allowed)


def _fields(model: type[BaseModel]) -> dict[str, Any]:
    """All accepted names of the fields, with their types."""
    spelled: dict[str, Any] = {}
    for field in model.model_fields.values():
        alias = field.validation_alias
        names = alias.choices if isinstance(alias, AliasChoices) else [alias]
        spelled |= {str(name): field.annotation for name in names}
    return spelled


def _model_at(model: type[BaseModel], loc: tuple[int | str, ...]) -> type[BaseModel]:
    for part in loc:
        if isinstance(part, str):
            model = next(_models_in(_fields(model)[part]))
    return model


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and not isinstance(annotation, UnionType) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)
