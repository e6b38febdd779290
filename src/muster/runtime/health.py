"""Readiness of this replica. Each part reports its own problem, as one sentence, and its recovery."""

import asyncio
import contextlib
import logging
from dataclasses import dataclass, field

logger = logging.getLogger(__name__)

API = "api"
WATCHING = "watching"
ADMISSION = "admission"
CERTIFICATE = "certificate"
"""There is a valid serving certificate."""
TRUST = "trust"
"""The API server trusts the certificate."""
SERVING = "serving"
"""Muster's own port answers with the certificate."""
STAYING = "staying"
"""The process is not shutting down."""


@dataclass(slots=True)
class Health:
    """Whether this replica is ready. A part that was announced counts as a problem until it reports that it is well.

    Owns the problem of each part. The parts write it; /readyz, /livez and those who wait for a part read it.
    """

    _problems: dict[str, str] = field(default_factory=dict)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _restart_reason: str = ""

    def announce(self, part: str, waiting_for: str) -> None:
        self._problems[part] = waiting_for

    def problem(self, part: str, sentence: str) -> None:
        if self._problems.get(part) == sentence:
            return
        self._problems[part] = sentence
        logger.warning("not ready: %s", sentence)
        self._wake()

    def well(self, part: str) -> None:
        if self._problems.pop(part, None) is None:
            return
        if self.ready:
            logger.info("ready")
        self._wake()

    def is_well(self, part: str) -> bool:
        return part not in self._problems

    @property
    def restart_reason(self) -> str:
        """Why only a restart of the process can help; empty otherwise."""
        return self._restart_reason

    def require_restart(self, sentence: str) -> None:
        """Only a restart of the process can help."""
        self._restart_reason = sentence

    def clear_restart(self) -> None:
        """What needed a restart of the process works again."""
        self._restart_reason = ""

    @property
    def ready(self) -> bool:
        return not self._problems

    @property
    def sentence(self) -> str:
        return "ready" if self.ready else "not ready: " + "; ".join(self._problems.values())

    async def pause(self, part: str, seconds: float) -> None:
        """Sleep, and return early if the part has a problem."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.is_well(part):
                    await self._changed.wait()

    async def wait_until_well(self, *parts: str) -> None:
        while any(part in self._problems for part in parts):
            await self._changed.wait()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
