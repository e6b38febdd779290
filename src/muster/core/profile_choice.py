"""Decides which API profile a replica uses: the one that all replicas have agreed on.

A change requires several agreeing probes, a leader, and no existing gang of the old profile: new pods of such a gang
would not be members, or would be members of another group. Until then the replica keeps its profile. If its API server
does not serve that profile, the replica is not ready and reports what to do.
"""

from dataclasses import dataclass

from muster.api.profile import ALLOWED, ApiProfile

AGREEING_PROBES = 3
"""Consecutive probes, a second apart, that must agree: behind a load balancer, one API server may differ."""


@dataclass(frozen=True, slots=True)
class Probe:
    """The result of one look at the API server."""

    served: tuple[ApiProfile, ...] = ()
    """The profiles that the server serves, preferred first."""
    problem: str = ""
    """Why there is none, as one sentence."""
    answered: bool = True
    """False: the API server did not answer, so it is unknown what it serves."""


@dataclass(frozen=True, slots=True)
class Situation:
    probes: tuple[Probe, ...]
    """The newest is the last."""
    using: ApiProfile | None = None
    """The profile that this replica uses; None before it has started."""
    agreed: ApiProfile | None = None
    """The profile that the replicas have agreed on."""
    leads: bool = False
    """This replica may change the agreement."""
    gangs_exist: bool | None = None
    """Whether gangs of the old profile exist; None if unknown."""
    allowed: tuple[ApiProfile, ...] = ALLOWED["auto"]


@dataclass(frozen=True, slots=True)
class Keep:
    """Keep the current profile. With a problem, the replica is not ready."""

    problem: str = ""
    note: str = ""
    """A log message for the administrator; nothing is wrong."""


@dataclass(frozen=True, slots=True)
class ProbeAgain:
    """One probe differs. It changes nothing, not even readiness."""


@dataclass(frozen=True, slots=True)
class LookForGangs:
    """Find out whether gangs of this profile exist, then decide again."""

    of: ApiProfile
    served: bool


@dataclass(frozen=True, slots=True)
class Agree:
    """Write the agreement if it has not changed since it was read, then decide again."""

    on: ApiProfile
    instead_of: ApiProfile | None


@dataclass(frozen=True, slots=True)
class Change:
    """The replicas have agreed: use this profile from now on."""

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
    """There is no agreement that the settings of this replica allow. An agreement on another profile, which a fixed
    `apiGroup` excludes, stays until a replica with that setting leads."""
    if not probe.served:
        return Keep(probe.problem)
    best = probe.served[0]
    return Agree(best, None) if seen.agreed is None else Change(best)


def _confirmed(seen: Situation) -> bool:
    last = seen.probes[-AGREEING_PROBES:]
    return len(last) == AGREEING_PROBES and all(each == last[0] for each in last)


def _leave(seen: Situation, expected: ApiProfile, probe: Probe) -> Choice:
    """The server serves another profile, or none."""
    if not probe.served:
        return Keep(probe.problem)
    to, still_served = probe.served[0], expected in probe.served
    if seen.gangs_exist is None and (seen.leads or not still_served):
        return LookForGangs(expected, still_served)
    if seen.leads and seen.gangs_exist is False:
        return Agree(to, expected)
    if still_served:
        return Keep(note=_better(expected, to) if seen.gangs_exist else "")
    return Keep(problem=_conflict(expected, to, bool(seen.gangs_exist)))


def _better(using: ApiProfile, to: ApiProfile) -> str:
    return (
        f"the API server now serves {to.described}; Muster continues to use {using.described}, because gangs of that "
        f"API exist, and switches when none is left{_or_pin(using, to)}"
    )


def _conflict(using: ApiProfile, to: ApiProfile, gangs_exist: bool) -> str:
    lacks = (
        f"Muster's replicas use {using.described}, which this replica's API server does not serve; it serves "
        f"{to.described}"
    )
    if not gangs_exist:
        return f"{lacks}; the replica that leads decides whether Muster switches to it{_or_pin(using, to)}"
    return (
        f"{lacks}; Muster does not switch while gangs of the old API exist: serve that API again, wait until their "
        f"Jobs end, or delete the Jobs{_or_pin(using, to)}"
    )


def _or_pin(using: ApiProfile, to: ApiProfile) -> str:
    return f", or set `apiGroup: {to.group}` to switch immediately" if using.group != to.group else ""
