"""Parses the annotation `muster.dev/scheduling` into an Intent, or into all errors in it.

Any user may have written it. Its length is limited before it is parsed, and messages about it are bounded and
printable.
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
"""The value that opts out."""
REMEMBERED_BYTES = 4 * 1024 * 1024
"""Budget for texts and parsed results. Most Jobs of a cluster have the same few requests."""
MAX_ERRORS = 32
"""Errors that are kept of one text. Messages show five of them."""
_MODES: dict[str, dict[str, dict[str, Any]]] = {"Pod": {"single": {}}, "PodGroup": {"all": {}}}
"""The spelling of v1alpha2, which users see in its objects."""
_MODE_FIELDS = ("disruptionMode", "disruption")


@dataclass(frozen=True, slots=True)
class Intent:
    """Exactly one of the first three fields is set."""

    asked: Parsed[PodGroupScheduling] | None = None
    opted_out: bool = False
    errors: tuple[FieldError, ...] = ()
    more_errors: int = 0
    """The number of further errors that are not kept."""


@remembering(REMEMBERED_BYTES, lambda text: (text,))
def read_intent(text: str) -> Intent:
    """Parses YAML or JSON with the field names of KEP-6089, of Kubernetes 1.37 and of v1alpha2.

    Never raises: any text gives an Intent of bounded size. An annotation that made this raise once ended Muster for the
    whole cluster.
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
    except Exception as bug:  # noqa: BLE001 - ignore the intent; the event asks for a bug report
        allowed = f"cannot be read ({type(bug).__name__}), which is a bug in Muster: please report it"
        return Intent(errors=(FieldError(ErrorKind.INTERNAL, ROOT, None, allowed),))


def _block(given: Any) -> tuple[Any, FieldPath]:
    """The scheduling block, also of a whole pasted Job, converted to the field names of one version."""
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
