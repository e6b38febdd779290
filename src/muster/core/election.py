"""Decides which replica leads, from this replica's own monotonic clock and never from times that others wrote.

A Lease that this replica has seen unchanged for its whole duration is free. Its holder counts from before its last
write and stops well before that. So two replicas never lead at the same time, even with wrong clocks, unless a person
takes the Lease away from its holder.
"""

from dataclasses import dataclass, replace

from muster.api.lease import UNINSTALL_HOLDER, Lease

SHARE_OF_DURATION = 2 / 3
"""The share of the Lease's duration that a leader uses. The rest allows for clocks of different speed."""
LONGEST_BELIEVED_SECONDS = 300.0
"""The longest duration in a Lease that a replica accepts: any client with the right could have written it."""


@dataclass(frozen=True, slots=True)
class Terms:
    identity: str
    duration_seconds: float
    renew_seconds: float

    @property
    def leading_seconds(self) -> float:
        """How long a replica leads, from the start of its last successful write."""
        return self.duration_seconds * SHARE_OF_DURATION


@dataclass(frozen=True, slots=True)
class Standing:
    """What a replica knows about the Lease."""

    leading_until: float | None = None
    seen: Lease | None = None
    seen_since: float = 0.0
    """When this replica first saw the Lease in its current version."""
    uninstalled_since: float | None = None
    """When this replica first saw `muster leave` as the holder; None if there is another holder."""
    nobody_leads: bool = False
    """The previous leader has noticed `muster leave` and stopped."""

    def leads(self, now: float) -> bool:
        return self.leading_until is not None and now < self.leading_until

    def draining(self, terms: Terms, now: float) -> bool:
        """Begin no new gang: Muster is being uninstalled, and no leader begins one.

        The leader must stop first. It forms gangs before their pods reach the webhook, so it may have looked for plain
        pods before a pod that this replica admitted was stored.
        """
        if self.uninstalled_since is None:
            return False
        return self.nobody_leads or now >= self.uninstalled_since + terms.leading_seconds


@dataclass(frozen=True, slots=True)
class Create:
    """There is no Lease: create it with this replica as the holder."""


@dataclass(frozen=True, slots=True)
class Take:
    """Become the holder, if the Lease has not changed since it was read."""


@dataclass(frozen=True, slots=True)
class Renew:
    """This replica is the holder: renew."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Another replica holds the Lease, for at most this time."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Muster is being uninstalled: never lead again."""


Move = Create | Take | Renew | Wait | Withdraw


def look(standing: Standing, found: Lease | None, terms: Terms, now: float) -> tuple[Standing, Move]:
    """Decide after a read of the Lease; None if there is no Lease."""
    if found is None:
        return _without(standing, terms, now)
    standing = note_uninstall(standing, found, terms, now)
    if found.holder == UNINSTALL_HOLDER and _is_news(standing):
        return lost(standing), Withdraw()
    if standing.seen is None or standing.seen.version != found.version:
        standing = replace(standing, seen=found, seen_since=now)
    if found.holder == terms.identity:
        return standing, Renew()
    standing = replace(standing, leading_until=None)  # another replica holds it
    if not found.holder:
        return standing, Take()
    left = standing.seen_since + _duration(found, terms) - now
    return standing, Wait(left) if left > 0 else Take()


def note_uninstall(standing: Standing, found: Lease, terms: Terms, now: float) -> Standing:
    """Note whether Muster is being uninstalled. A replica that starts later notes it, too."""
    if found.holder != UNINSTALL_HOLDER:
        return replace(standing, uninstalled_since=None, nobody_leads=False)
    stopped = found.taken_from in {"", terms.identity} or found.taken_from in found.noticed_by
    since = standing.uninstalled_since if standing.uninstalled_since is not None else now
    return replace(standing, uninstalled_since=since, nobody_leads=stopped)


def _is_news(standing: Standing) -> bool:
    """False for a replica that started later: Muster was installed again, and the old uninstall Lease expires."""
    return standing.seen is not None and standing.seen.holder != UNINSTALL_HOLDER


def won(standing: Standing, written: Lease, began: float, terms: Terms) -> Standing:
    """This replica's write succeeded; `began` is when it started."""
    standing = note_uninstall(standing, written, terms, began)
    return replace(standing, leading_until=began + terms.leading_seconds, seen=written, seen_since=began)


def lost(standing: Standing) -> Standing:
    return replace(standing, leading_until=None)


def _without(standing: Standing, terms: Terms, now: float) -> tuple[Standing, Move]:
    """The Lease was deleted. Its holder, who may not know yet, creates it again; the others give it time to do so."""
    known = standing.seen
    if known is None or not known.holder or known.holder == terms.identity:
        return standing, Create()
    left = standing.seen_since + _duration(known, terms) - now
    return standing, Wait(left) if left > 0 else Create()


def _duration(found: Lease, terms: Terms) -> float:
    """The longer of both durations: the replicas may have different settings during a rollout."""
    believed = found.duration_seconds if found.duration_seconds <= LONGEST_BELIEVED_SECONDS else 0.0
    return max(terms.duration_seconds, believed)
