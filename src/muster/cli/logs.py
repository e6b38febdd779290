"""What goes to stderr: one line per record, whatever users write into the objects that it tells of."""

import logging
from datetime import UTC, datetime

import orjson

from muster.config.types import Logging

TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
MAX_MESSAGE = 3_000
"""Characters. Muster bounds what it quotes; libraries that log through us do not."""


class Json(logging.Formatter):
    """One object per line. `job` is namespace/name, where a line concerns a Job."""

    def format(self, record: logging.LogRecord) -> str:
        told = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _bounded(record.getMessage()),
        }
        if job := getattr(record, "job", None):
            told["job"] = _bounded(str(job))
        if record.exc_info:
            told["trace"] = self.formatException(record.exc_info)
        return orjson.dumps(_encodable(told)).decode()


class Text(logging.Formatter):
    """For people. Only a trace of our own has more than one line."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        record.message = _bounded(record.message)
        return super().formatMessage(record)


def log_to_stderr(chosen: Logging) -> None:
    level = logging.getLevelNamesMapping()[chosen.level.upper()]
    handler = logging.StreamHandler()
    handler.setFormatter(Json() if chosen.format == "json" else Text(TEXT))
    handler.addFilter(_in_one_line)
    logging.basicConfig(level=level, handlers=[handler], force=True)
    # kopf tells of every call of every handler, which at ten thousand Jobs is a megabyte a minute.
    logging.getLogger("kopf").setLevel(max(level, logging.WARNING))
    logging.getLogger("kopf._core.reactor.running").setLevel(logging.ERROR)  # signals are ours, and it warns of that
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)


def _in_one_line(record: logging.LogRecord) -> bool:
    """kopf's end is no surprise: it is told with its reason and started again. Its traces would only look like one."""
    if record.name.startswith("kopf"):
        record.exc_info = None
    return True


def _bounded(message: str) -> str:
    """Printable and not too long. JSON alone escapes neither C1 controls nor text that runs from right to left."""
    printable = "".join(char if char.isprintable() else " " for char in message[: MAX_MESSAGE + 1])
    return printable if len(printable) <= MAX_MESSAGE else f"{printable[:MAX_MESSAGE]}…"


def _encodable(told: dict[str, str]) -> dict[str, str]:
    """A lone surrogate has no encoding."""
    return {key: value.encode(errors="backslashreplace").decode() for key, value in told.items()}
