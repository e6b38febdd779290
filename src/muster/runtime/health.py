"""Is Muster fit to work, and if not, in one sentence why. Each part reports its own problem and its recovery."""

import asyncio
import contextlib
import logging
from dataclasses import dataclass, field

logger = logging.getLogger(__name__)

API = "api"
WATCHING = "watching"
ADMISSION = "admission"
CERTIFICATE = "certificate"
"""There is a certificate that can be served."""
TRUST = "trust"
"""The API server trusts it."""
SERVING = "serving"
"""Our own port answers with it."""
STAYING = "staying"
"""We are not about to end."""


@dataclass(slots=True)
class Health:
    """Starts not ready: every part that was announced must first say that it is well."""

    _problems: dict[str, str] = field(default_factory=dict)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    hopeless: str = ""
    """Why only a new process can help, if that is so."""

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
    def ready(self) -> bool:
        return not self._problems

    @property
    def sentence(self) -> str:
        return "ready" if self.ready else "not ready: " + "; ".join(self._problems.values())

    async def pause(self, part: str, seconds: float) -> None:
        """Sleep, but not through trouble with the part."""
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
