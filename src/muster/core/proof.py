"""Which read a decision still needs. These are the rules by which two replicas never split a gang (docs/replicas.md).

A conclusion from the informer alone may only say that Muster's own PodGroup exists. Everything else, and each answer to
a pod, rests on reads from the API server. Their order ensures that of two racing replicas at least one sees the other's
objects.
"""

from collections.abc import Sized

from muster.api.keys import Uid
from muster.core.actions import (
    ConfirmPodGroup,
    ConfirmSuspended,
    CreatePodGroup,
    CreateWorkload,
    DeleteObject,
    Read,
    ReadEverything,
    ReadOwnPair,
)
from muster.core.decision import Decision, Membership
from muster.core.observed import Observed
from muster.core.own_group import own_pod_group
from muster.core.resize import resize_read


def missing_read(decision: Decision, seen: Observed) -> Read | None:
    """Read top to bottom: the first line that applies is the answer."""
    proof, write = seen.proof, decision.write
    if isinstance(write, CreateWorkload | CreatePodGroup) and write.name in proof.made:
        return _everything(seen)  # what Muster has just made is gone: the Job may be gone, too
    if decision.resize is not None and (read := resize_read(decision.resize, seen)) is not None:
        return read
    if not proof.complete and not _may_join(decision, seen):
        return _everything(seen)
    if isinstance(write, DeleteObject) and not proof.suspended:
        return ConfirmSuspended()
    if write is not None or decision.sticky or not seen.form_only:
        return None  # no pod waits for the conclusion of a resize
    if decision.membership is Membership.JOIN and proof.group_uid is None:
        return ConfirmPodGroup(decision.group, own=_is_own(decision.group, seen))
    if decision.membership is Membership.PLAIN and not proof.own_pair_read and seen.job is not None:
        return ReadOwnPair()  # another replica may have formed the gang since then
    return None


def _everything(seen: Observed) -> ReadEverything:
    """Who creates an object learns from the API server that it exists. Who creates none has to read it by name."""
    return ReadEverything(by_name=not seen.will_write)


def cache_suffices(known: Sized, others: Sized, has_synced: bool, by_name: bool) -> bool:
    """Whether a complete read may take Muster's own objects of one kind from the cache, and not by their names.

    `known` is what the cache has of them. If it has none, they may be missing only because it lags. That does no harm
    to a caller that will create them, since the API server answers AlreadyExists. A caller that will not (`by_name`:
    the dry run, the guard, a resize) reads them, and so does every caller that found `others`: objects of the same kind
    that Muster did not create, or Workloads from which another client may have created a PodGroup.
    """
    return len(known) > 0 or (has_synced and not by_name and len(others) == 0)


def lasting_group(before: Observed, after: Observed, name: str) -> Uid | None:
    """The UID of the PodGroup, if no read shows another one: it was seen, and the list of the pods began after that."""
    first, last = before.pod_group(name), after.pod_group(name)
    same = first is not None and last is not None and first.metadata.uid == last.metadata.uid
    return first.metadata.uid if same and first is not None else None


def _may_join(decision: Decision, seen: Observed) -> bool:
    """Without a live read, a pod may only join Muster's own PodGroup: another client may have created a second PodGroup
    that the cache does not show yet."""
    confirmed = decision.sticky or seen.proof.group_uid is not None
    return decision.joins and (confirmed or _is_own(decision.group, seen))


def _is_own(group: str, seen: Observed) -> bool:
    own = own_pod_group(seen)
    return own is not None and own.metadata.name == group
