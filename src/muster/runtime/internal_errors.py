"""Unexpected exceptions, which are bugs in Muster: logged with the item they occurred on, and counted by task."""

import logging
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from muster.api.keys import JobKey, Uid
from muster.kube.errors import plain_text
from muster.runtime.metrics import Metrics
from muster.runtime.tasks import Task
from muster.runtime.ttl_cache import TtlCache

logger = logging.getLogger(__name__)

MAX_FRAMES = 20
ONE_TRACEBACK_SECONDS = 60.0
"""In this time, the same bug logs one traceback, and one line for each item."""
REMEMBERED_TRACEBACKS = 100


@dataclass(slots=True)
class InternalErrors:
    """Counts and logs the bugs that tasks meet.

    Owns the memory of tracebacks that were logged. It writes the log and two counters of `metrics`.
    """

    metrics: Metrics
    _traced: TtlCache[tuple[str, str], bool] = field(
        default_factory=lambda: TtlCache(ONE_TRACEBACK_SECONDS, REMEMBERED_TRACEBACKS)
    )

    def note(self, task: Task, about: object, error: BaseException) -> None:
        """`about` names the item: the key of a Job, or what the task was doing."""
        self.metrics.internal_errors.labels(task.value).inc()
        what, trace = plain_text(str(about)), self._trace(task, error)
        logger.error("%s: %s: unexpected error: %s%s", task, what, describe(error), trace, extra=concerning(about))

    def note_restart(self, task: Task, error: BaseException) -> None:
        """The task died of this error and starts again."""
        self.note(task, "the task died and starts again", error)
        self.metrics.task_restarts.labels(task.value).inc()

    def _trace(self, task: Task, error: BaseException) -> str:
        """The traceback in one bounded line: file names and line numbers, and nothing that a user wrote."""
        frames = traceback.extract_tb(root_of(error).__traceback__)[-MAX_FRAMES:]
        places = " > ".join(f"{'/'.join(Path(f.filename).parts[-3:])}:{f.lineno} {f.name}" for f in frames)
        seen = (task.value, f"{type(error).__name__} {places}")
        if not places or self._traced.recall(seen):
            return ""
        self._traced.remember(seen, True)
        return f" [{places}]"


def name_of(raw: object) -> str:
    """Namespace and name of an object that Muster could not parse."""
    metadata = _metadata(raw)
    return plain_text(f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}")


def uid_of(raw: object) -> Uid:
    return Uid(str(_metadata(raw).get("uid") or ""))


def _metadata(raw: object) -> Mapping[str, object]:
    metadata = raw.get("metadata") if isinstance(raw, Mapping) else None
    return metadata if isinstance(metadata, Mapping) else {}


def concerning(about: object) -> dict[str, object]:
    """The extra log fields for an item, if it is a Job."""
    return {"job": about} if isinstance(about, JobKey) else {}


def root_of(error: BaseException) -> BaseException:
    """The first error inside an exception group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def kind_of(error: BaseException) -> str:
    return type(root_of(error)).__name__


def describe(error: BaseException) -> str:
    """Type and text, in one bounded line."""
    error = root_of(error)
    text = plain_text(str(error))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
