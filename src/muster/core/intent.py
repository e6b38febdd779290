"""What a user wrote into the annotation `muster.dev/scheduling`: text to a value, or to all that is wrong with it.

Anybody may have written it. It is bounded before it is looked at, and what is told of it is bounded and printable.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muster.api.job import MAX_INTENT
from muster.core.memo import remembering
from muster.workloadbuilder import (
    ErrorKind,
    FieldError,
    FieldPath,
    InvalidConfiguration,
    Parsed,
    PodGroupScheduling,
    read_pod_group_scheduling,
)
from muster.workloadbuilder.errors import ROOT, brief
from muster.workloadbuilder.parsing import WRAPPER
from muster.workloadbuilder.text import Unparsable, loaded

NONE = "none"
"""Opts out."""
REMEMBERED_BYTES = 4 * 1024 * 1024
"""Of texts and of what was read from them. Most Jobs of a cluster ask for the same few things."""
MAX_ERRORS = 32
"""Mistakes that are kept of one text. People see five of them."""
_MODES: dict[str, dict[str, dict[str, Any]]] = {"Pod": {"single": {}}, "PodGroup": {"all": {}}}
"""v1alpha2's own words, which people see in its objects."""
_MODE_FIELDS = ("disruptionMode", "disruption")


@dataclass(frozen=True, slots=True)
class Intent:
    """Exactly one of the first three."""

    asked: Parsed[PodGroupScheduling] | None = None
    opted_out: bool = False
    errors: tuple[FieldError, ...] = ()
    more_errors: int = 0
    """How many there are beyond those that are kept."""


@remembering(REMEMBERED_BYTES, lambda text: (text,))
def read_intent(text: str) -> Intent:
    """YAML or JSON, in the spellings of KEP-6089's text and examples, of Kubernetes 1.37 and of v1alpha2.

    Total: any text gives an Intent, of bounded size. An annotation that made this raise once ended Muster for the whole
    cluster.
    """
    if text.strip().lower() == NONE:
        return Intent(opted_out=True)
    if len(text) > MAX_INTENT:
        return _wrong(f"must have at most {MAX_INTENT} characters")
    try:
        block, path = _block(loaded(text))
        return Intent(asked=read_pod_group_scheduling(block, path))
    except Unparsable as problem:
        return _wrong(str(problem))
    except InvalidConfiguration as refusal:
        kept = tuple(map(brief, refusal.errors[:MAX_ERRORS]))
        return Intent(errors=kept, more_errors=len(refusal.errors) - len(kept))
    except Exception as bug:  # noqa: BLE001 - the Job runs without its intent, and the event asks for a report
        allowed = f"cannot be read ({type(bug).__name__}), which is a bug in Muster: please report it"
        return Intent(errors=(FieldError(ErrorKind.INTERNAL, ROOT, None, allowed),))


def _block(given: Any) -> tuple[Any, FieldPath]:
    """The scheduling block, also if a whole Job was pasted, with the words of all versions made those of one."""
    path = ROOT
    spec = given.get("spec") if isinstance(given, Mapping) else None
    if isinstance(spec, Mapping) and WRAPPER in spec:
        given, path = spec[WRAPPER], path.child("spec", WRAPPER)
    elif isinstance(given, Mapping) and set(given) == {WRAPPER}:
        given, path = given[WRAPPER], path.child(WRAPPER)
    if isinstance(given, Mapping):
        modes = {name: _MODES[given[name]] for name in _MODE_FIELDS if _is_word(given.get(name))}
        given = {**given, **modes}
    return given, path


def _is_word(mode: object) -> bool:
    return isinstance(mode, str) and mode in _MODES


def _wrong(allowed: str) -> Intent:
    return Intent(errors=(FieldError(ErrorKind.INVALID, ROOT, None, allowed),))
