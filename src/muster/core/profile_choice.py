"""Which API profile a replica works with: the one that all replicas have agreed on, and no other.

A change needs several agreeing probes, a leader that makes it, and no living gang of the profile that is left: its
pods would get siblings that are no members, or members of another group. Until then the replica keeps its profile. If
its API server does not serve that profile, the replica is not ready, and says what to do.
"""

from dataclasses import dataclass

from muster.api.profile import (
    CRD_IN_KUBERNETES_GROUP,
    CRD_IN_OWN_GROUP,
    KUBERNETES_GROUP,
    NATIVE,
    OWN_GROUP,
    ApiProfile,
)

AGREEING_PROBES = 3
"""In a row, a second apart, before what they show counts: behind a load balancer one API server may differ."""

ALLOWED = {
    "auto": (NATIVE, CRD_IN_KUBERNETES_GROUP, CRD_IN_OWN_GROUP),
    KUBERNETES_GROUP: (NATIVE, CRD_IN_KUBERNETES_GROUP),
    OWN_GROUP: (CRD_IN_OWN_GROUP,),
}
"""By the setting `apiGroup`."""


@dataclass(frozen=True, slots=True)
class Probe:
    """What one look at the API server showed."""

    served: tuple[ApiProfile, ...] = ()
    """The profiles that answered, the best first."""
    problem: str = ""
    """Why there is none, in one sentence."""
    answered: bool = True
    """False: the API server could not be asked, so nothing is known about what it serves."""


@dataclass(frozen=True, slots=True)
class Situation:
    probes: tuple[Probe, ...]
    """The newest comes last."""
    using: ApiProfile | None = None
    """What this replica works with; None before it has begun."""
    agreed: ApiProfile | None = None
    """What the replicas have agreed on."""
    leads: bool = False
    """This replica may change the agreement."""
    gangs_live: bool | None = None
    """Of the profile that would be left; None: nobody has looked yet."""
    allowed: tuple[ApiProfile, ...] = ALLOWED["auto"]


@dataclass(frozen=True, slots=True)
class Keep:
    """Go on as before; with a problem the replica is not ready."""

    problem: str = ""
    note: str = ""
    """For the log: nothing is wrong, but somebody should know."""


@dataclass(frozen=True, slots=True)
class ProbeAgain:
    """One probe says otherwise: it changes nothing, readiness included."""


@dataclass(frozen=True, slots=True)
class LookForGangs:
    """Do gangs of this profile live? Then decide again."""

    of: ApiProfile
    served: bool


@dataclass(frozen=True, slots=True)
class Agree:
    """Write it where all replicas read it, if what stands there is still this; then decide again."""

    on: ApiProfile
    instead_of: ApiProfile | None


@dataclass(frozen=True, slots=True)
class Change:
    """It is agreed: work with it from now on."""

    to: ApiProfile


Choice = Keep | ProbeAgain | LookForGangs | Agree | Change


def choose(seen: Situation) -> Choice:
    probe = seen.probes[-1]
    if not probe.answered:
        return Keep(probe.problem)
    binding = seen.agreed if seen.agreed in seen.allowed else None
    expected = binding or seen.using
    if expected is None:
        return _begin(seen, probe)
    if binding is None and (seen.agreed is None or seen.leads):
        return Agree(expected, seen.agreed)
    if expected in probe.served and seen.using != expected:
        return Change(expected)
    if probe.served[:1] == (expected,):
        return Keep()
    if not _confirmed(seen):
        return ProbeAgain()
    return _leave(seen, expected, probe)


def _begin(seen: Situation, probe: Probe) -> Choice:
    """No replica has agreed on anything that the settings allow here. An agreement on something else, which a pinned
    `apiGroup` rules out, stays until a replica with that setting leads."""
    if not probe.served:
        return Keep(probe.problem)
    best = probe.served[0]
    return Agree(best, None) if seen.agreed is None else Change(best)


def _confirmed(seen: Situation) -> bool:
    last = seen.probes[-AGREEING_PROBES:]
    return len(last) == AGREEING_PROBES and all(each == last[0] for each in last)


def _leave(seen: Situation, expected: ApiProfile, probe: Probe) -> Choice:
    """The server would have us use another profile, or has none."""
    if not probe.served:
        return Keep(probe.problem)
    to, still_served = probe.served[0], expected in probe.served
    if seen.gangs_live is None and (seen.leads or not still_served):
        return LookForGangs(expected, still_served)
    if seen.leads and seen.gangs_live is False:
        return Agree(to, expected)
    if still_served:
        return Keep(note=_better(expected, to) if seen.gangs_live else "")
    return Keep(problem=_conflict(expected, to, bool(seen.gangs_live)))


def _better(using: ApiProfile, to: ApiProfile) -> str:
    return (
        f"the API server now serves {to.described}; Muster goes on with {using.described}, because gangs of it live, "
        f"and changes once they are gone{_or_pin(using, to)}"
    )


def _conflict(using: ApiProfile, to: ApiProfile, gangs_live: bool) -> str:
    lacks = (
        f"Muster's replicas use {using.described}, which this replica's API server does not serve; it serves "
        f"{to.described}"
    )
    if not gangs_live:
        return f"{lacks}; the replica that leads decides whether Muster changes to it{_or_pin(using, to)}"
    return (
        f"{lacks}; Muster does not leave gangs that live: serve the old API again, or let their Jobs end or delete "
        f"them{_or_pin(using, to)}"
    )


def _or_pin(using: ApiProfile, to: ApiProfile) -> str:
    return f", or set `apiGroup: {to.group}` to change at once" if using.group != to.group else ""
