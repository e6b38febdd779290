"""Keeps the replica on the agreed API profile: probes, decides (`core.profile_choice`), writes the agreement."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from muster.api.profile import ALLOWED, ApiProfile
from muster.controllers.profile.agreement import Agreement
from muster.controllers.profile.problem_sentence import problem_sentence
from muster.core import readiness
from muster.core.profile_choice import (
    AGREEING_PROBES,
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
from muster.kube.api_detection import find_profile, gangs_exist, serves
from muster.kube.client import KubeClient
from muster.kube.errors import KubeError

GANGS_SECONDS = 5.0
"""How long the chooser remembers that gangs exist: to look for them may list many pods."""


@dataclass(slots=True)
class ProfileChooser:
    """Keeps this replica on the API profile that all replicas have agreed on.

    Owns the last probes and the profile in use. It reads the agreement and the API server. On the leader it
    also writes the agreement.
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

    def use(self, profile: ApiProfile | None) -> None:
        """This replica uses that profile from now on; None: none, until it finds one."""
        self.using = profile

    async def look(self) -> Keep | ProbeAgain | Agree | Change:
        """Probe once and decide. `Agree`: the agreement is not written yet, call again."""
        try:
            self._agreed = await self.agreement.read()
        except KubeError as error:
            if self.using is None:
                return Keep(readiness.agreement_unreadable(str(error)))
        self._probes.append(await self._probe())
        choice = self._choose()
        if isinstance(choice, LookForGangs):
            choice = self._choose(await self._gangs_exist(choice))
        if isinstance(choice, Agree):
            choice = await self._agree(choice)
        return ProbeAgain() if isinstance(choice, LookForGangs) else choice

    async def is_outdated(self) -> bool:
        """Whether another replica has agreed on another profile. It is one read, cheap enough for every second."""
        try:
            agreed = await self.agreement.read()
        except KubeError:
            return False
        return agreed is not None and agreed != self._agreed

    async def _probe(self) -> Probe:
        expected = self._agreed or self.using
        try:
            found = await find_profile(self.client, self.setting)
            if not isinstance(found, ApiProfile):
                return Probe(problem=problem_sentence(found))
            also = expected is not None and expected.group != found.group and expected in ALLOWED[self.setting]
            if expected is not None and also and await serves(self.client, expected):
                return Probe((found, expected))
        except KubeError as error:
            return Probe(problem=str(error), answered=False)
        return Probe((found,))

    def _choose(self, gangs_exist: bool | None = None) -> Choice:
        return choose(
            Situation(tuple(self._probes), self.using, self._agreed, self.leads(), gangs_exist, ALLOWED[self.setting])
        )

    async def _gangs_exist(self, look: LookForGangs) -> bool:
        now = time.monotonic()
        if self._gangs_seen_at is not None and now - self._gangs_seen_at < GANGS_SECONDS:
            return True
        try:
            found = await gangs_exist(self.client, look.of, look.served)
        except KubeError:
            return True  # unknown: assume that there are gangs
        self._gangs_seen_at = now if found else None
        return found

    async def _agree(self, choice: Agree) -> Choice:
        try:
            await self.agreement.agree(choice.on, choice.instead_of)
            self._agreed = await self.agreement.read()
        except KubeError as error:
            problem = readiness.agreement_unwritable(str(error))
            return Keep(problem if self.using is None else "")
        return self._choose()
