"""The log on stderr: one line per record, also when it quotes text that users wrote."""

import logging
from datetime import UTC, datetime

import orjson

from muster.config.types import Logging

TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
MAX_MESSAGE = 3_000
"""Maximum length. Muster limits what it quotes; the libraries that log here do not."""


class Json(logging.Formatter):
    """One JSON object per line. `job` is namespace/name, if a line is about a Job."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _bounded(record.getMessage()),
        }
        if job := getattr(record, "job", None):
            entry["job"] = _bounded(str(job))
        if record.exc_info:
            entry["trace"] = self.formatException(record.exc_info)
        return orjson.dumps(_encodable(entry)).decode()


class Text(logging.Formatter):
    """For people. Only Muster's own tracebacks have more than one line."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        record.message = _bounded(record.message)
        return super().formatMessage(record)


def log_to_stderr(chosen: Logging) -> None:
    level = logging.getLevelNamesMapping()[chosen.level.upper()]
    handler = logging.StreamHandler()
    handler.setFormatter(Json() if chosen.format == "json" else Text(TEXT))
    handler.addFilter(_in_one_line)
    logging.basicConfig(level=level, handlers=[handler], force=True)
    # kopf logs every call of every handler, which is a megabyte a minute with ten thousand Jobs.
    logging.getLogger("kopf").setLevel(max(level, logging.WARNING))
    logging.getLogger("kopf._core.reactor.running").setLevel(logging.ERROR)  # it warns that Muster handles signals
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)


def _in_one_line(record: logging.LogRecord) -> bool:
    """Drop kopf's tracebacks: when kopf ends, Muster logs the cause and restarts it."""
    if record.name.startswith("kopf"):
        record.exc_info = None
    return True


def _bounded(message: str) -> str:
    """Printable and not too long. JSON does not escape C1 control characters and right-to-left marks."""
    printable = "".join(char if char.isprintable() else " " for char in message[: MAX_MESSAGE + 1])
    return printable if len(printable) <= MAX_MESSAGE else f"{printable[:MAX_MESSAGE]}…"


def _encodable(entry: dict[str, str]) -> dict[str, str]:
    """Escape lone surrogates, which cannot be encoded."""
    return {key: value.encode(errors="backslashreplace").decode() for key, value in entry.items()}
