"""Keeps a replica on the API profile that all have agreed on: probes, decides (`core.profile_choice`), agrees."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from muster.api.profile import ApiProfile
from muster.controllers.profile.agreement import Agreement
from muster.core.profile_choice import (
    AGREEING_PROBES,
    ALLOWED,
    Agree,
    Change,
    Choice,
    Keep,
    LookForGangs,
    Probe,
    ProbeAgain,
    Situation,
    choose,
)
from muster.kube.api_detection import Missing, find_profile, gangs_live, serves
from muster.kube.client import KubeClient
from muster.kube.errors import KubeError

GANGS_SECONDS = 5.0
"""How long gangs that were seen count as living: to look for them may be a list of many pods."""


@dataclass(slots=True)
class ProfileChooser:
    """Keeps this replica on the API profile that all replicas have agreed on.

    Owns the last probes. It reads the agreement and the API server; only the leader writes the agreement.
    """

    client: KubeClient
    setting: str
    """`apiGroup`."""
    agreement: Agreement
    leads: Callable[[], bool]
    using: ApiProfile | None = None
    _probes: deque[Probe] = field(default_factory=lambda: deque(maxlen=AGREEING_PROBES))
    _agreed: ApiProfile | None = None
    _gangs_seen_at: float | None = None

    async def look(self) -> Keep | ProbeAgain | Agree | Change:
        """One probe, and what comes of it. `Agree`: the agreement is not written yet, look again."""
        try:
            self._agreed = await self.agreement.read()
        except KubeError as error:
            if self.using is None:
                return Keep(f"the Lease, which says which API the other replicas use, cannot be read: {error}")
        self._probes.append(await self._probe())
        choice = self._choose()
        if isinstance(choice, LookForGangs):
            choice = self._choose(await self._gangs_live(choice))
        if isinstance(choice, Agree):
            choice = await self._agree(choice)
        return ProbeAgain() if isinstance(choice, LookForGangs) else choice

    async def is_outdated(self) -> bool:
        """Has another replica agreed on something else? Cheap enough to be asked every second."""
        try:
            agreed = await self.agreement.read()
        except KubeError:
            return False
        return agreed is not None and agreed != self._agreed

    async def _probe(self) -> Probe:
        expected = self._agreed or self.using
        try:
            found = await find_profile(self.client, self.setting)
            if isinstance(found, Missing):
                return Probe(problem=found.sentence)
            also = expected is not None and expected.group != found.group and expected in ALLOWED[self.setting]
            if expected is not None and also and await serves(self.client, expected):
                return Probe((found, expected))
        except KubeError as error:
            return Probe(problem=str(error), answered=False)
        return Probe((found,))

    def _choose(self, living: bool | None = None) -> Choice:
        return choose(
            Situation(tuple(self._probes), self.using, self._agreed, self.leads(), living, ALLOWED[self.setting])
        )

    async def _gangs_live(self, look: LookForGangs) -> bool:
        now = time.monotonic()
        if self._gangs_seen_at is not None and now - self._gangs_seen_at < GANGS_SECONDS:
            return True
        try:
            living = await gangs_live(self.client, look.of, look.served)
        except KubeError:
            return True  # nobody knows
        self._gangs_seen_at = now if living else None
        return living

    async def _agree(self, choice: Agree) -> Choice:
        try:
            await self.agreement.agree(choice.on, choice.instead_of)
            self._agreed = await self.agreement.read()
        except KubeError as error:
            problem = f"the Lease, which says which API the replicas use, cannot be written: {error}"
            return Keep(problem if self.using is None else "")
        return self._choose()
