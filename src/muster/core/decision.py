"""What a decision is: a Reason, what a pod created now should be, and at most one action."""

from dataclasses import dataclass
from enum import Enum

from muster.core.actions import Action, DeletePodGroup, Read, RemoveProtection, Write
from muster.core.observed import ResizeNeeded
from muster.core.reasons import Reason


class Membership(Enum):
    """What a pod that is created now should be."""

    JOIN = "join"
    PLAIN = "plain"
    HOLD = "hold"
    """The pod must wait: the webhook refuses it, and the Job controller retries."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer to one observation: what a pod becomes, and the next action. It is a value; the shell acts on it."""

    reason: Reason
    membership: Membership
    group: str = ""
    """The PodGroup to join, even if it does not exist yet."""
    write: Write | None = None
    """What the Job still needs, as far as was seen."""
    detail: str = ""
    sticky: bool = False
    """Running or pending pods of the Job determine the answer; other objects do not matter."""
    resize: ResizeNeeded | None = None
    """The PodGroup has the wrong size; with an obstacle if Muster may not replace it."""
    read: Read | None = None
    """What Muster must read first: before that write, or before a pod gets this answer."""

    @property
    def action(self) -> Action | None:
        """The next step; None: this is the answer."""
        return self.read or self.write

    @property
    def settled(self) -> bool:
        """As far as was seen, nothing is left to write."""
        return self.write is None and not self.may_resize

    @property
    def may_resize(self) -> bool:
        return self.resize is not None and self.resize.can_proceed

    @property
    def forms(self) -> bool:
        """The write is one that the pair needs, and no step of a resize."""
        return self.write is not None and not isinstance(self.write, DeletePodGroup | RemoveProtection)

    @property
    def joins(self) -> bool:
        return self.write is None and self.membership is Membership.JOIN
