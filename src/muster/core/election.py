"""Who leads, judged by this replica's own monotonic clock and by nothing that another clock has written.

A Lease that has not changed for its whole duration, as seen from here, is free. Its holder counts from before its last
write, and stops well before that. So two replicas do not lead at once, however their clocks are set, unless somebody
takes the Lease away from its holder by hand.
"""

from dataclasses import dataclass, replace

from muster.api.lease import UNINSTALL_HOLDER, Lease

SHARE_OF_DURATION = 2 / 3
"""How much of the Lease's duration a leader uses: the rest is room for clocks that run at different speeds."""
LONGEST_BELIEVED_SECONDS = 300.0
"""What a Lease says about its own duration is believed up to here: anybody could have written it."""


@dataclass(frozen=True, slots=True)
class Terms:
    identity: str
    duration_seconds: float
    renew_seconds: float

    @property
    def leading_seconds(self) -> float:
        """From the start of a write that went well, until no later than which the writer leads."""
        return self.duration_seconds * SHARE_OF_DURATION


@dataclass(frozen=True, slots=True)
class Standing:
    """What a replica knows."""

    leading_until: float | None = None
    seen: Lease | None = None
    seen_since: float = 0.0
    """When the Lease was first seen as it is."""
    left_since: float | None = None
    """When `muster leave` was first seen to hold it; None while another does."""
    nobody_leads: bool = False
    """Whoever it was taken from knows, and has stopped."""

    def leads(self, now: float) -> bool:
        return self.leading_until is not None and now < self.leading_until

    def draining(self, terms: Terms, now: float) -> bool:
        """Begin no new gang: Muster is being left, and no leader begins one any more either.

        That comes first. A leader forms gangs before their pods ask, so it may have looked for plain pods while one
        that was let in here is still on its way.
        """
        if self.left_since is None:
            return False
        return self.nobody_leads or now >= self.left_since + terms.leading_seconds


@dataclass(frozen=True, slots=True)
class Create:
    """There is no Lease: make it ours."""


@dataclass(frozen=True, slots=True)
class Take:
    """Make it ours, if it still is as it was seen."""


@dataclass(frozen=True, slots=True)
class Renew:
    """It is ours: say so again."""


@dataclass(frozen=True, slots=True)
class Wait:
    """It is another's, for so long at most."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Muster is being left: never lead again."""


Move = Create | Take | Renew | Wait | Withdraw


def look(standing: Standing, found: Lease | None, terms: Terms, now: float) -> tuple[Standing, Move]:
    """The Lease was read; None: there is none."""
    if found is None:
        return _without(standing, terms, now)
    standing = note_uninstall(standing, found, terms, now)
    if found.holder == UNINSTALL_HOLDER and _is_news(standing):
        return lost(standing), Withdraw()
    if standing.seen is None or standing.seen.version != found.version:
        standing = replace(standing, seen=found, seen_since=now)
    if found.holder == terms.identity:
        return standing, Renew()
    standing = replace(standing, leading_until=None)  # whatever we thought: another holds it
    if not found.holder:
        return standing, Take()
    left = standing.seen_since + _duration(found, terms) - now
    return standing, Wait(left) if left > 0 else Take()


def note_uninstall(standing: Standing, found: Lease, terms: Terms, now: float) -> Standing:
    """Is Muster being uninstalled? A replica that starts meanwhile notes it, too, until another holds the Lease."""
    if found.holder != UNINSTALL_HOLDER:
        return replace(standing, left_since=None, nobody_leads=False)
    stopped = found.taken_from in {"", terms.identity} or found.taken_from in found.noticed_by
    since = standing.left_since if standing.left_since is not None else now
    return replace(standing, left_since=since, nobody_leads=stopped)


def _is_news(standing: Standing) -> bool:
    """Who comes later is not meant: Muster was installed again, and what is left of `muster leave` runs out."""
    return standing.seen is not None and standing.seen.holder != UNINSTALL_HOLDER


def won(standing: Standing, written: Lease, began: float, terms: Terms) -> Standing:
    """Our write went well; it began at that time."""
    standing = note_uninstall(standing, written, terms, began)
    return replace(standing, leading_until=began + terms.leading_seconds, seen=written, seen_since=began)


def lost(standing: Standing) -> Standing:
    return replace(standing, leading_until=None)


def _without(standing: Standing, terms: Terms, now: float) -> tuple[Standing, Move]:
    """Somebody deleted it. Its holder, who may not know yet, makes it again; the others leave it the time for that."""
    known = standing.seen
    if known is None or not known.holder or known.holder == terms.identity:
        return standing, Create()
    left = standing.seen_since + _duration(known, terms) - now
    return standing, Wait(left) if left > 0 else Create()


def _duration(found: Lease, terms: Terms) -> float:
    """The longer of theirs and ours: they may be set up differently while settings are rolled out."""
    believed = found.duration_seconds if found.duration_seconds <= LONGEST_BELIEVED_SECONDS else 0.0
    return max(terms.duration_seconds, believed)
