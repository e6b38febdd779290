"""Decisions that hold for the next pods of a Job, each with a witness in the API server that is read for every pod.

Other replicas decide for themselves, and caches lag, the API server's too. So Muster caches no decision without a
witness, and no answer is given before the witness has been read again.
"""

from dataclasses import dataclass, replace

from muster.api.keys import Uid
from muster.api.v1alpha2.podgroup import PodGroup
from muster.core.decision import Decision, Membership
from muster.core.observed import Observed, Pods
from muster.core.own_group import own_pod_group


@dataclass(frozen=True, slots=True)
class PodWitness:
    """A running or pending pod of the Job. New pods get the same membership."""

    name: str


@dataclass(frozen=True, slots=True)
class GroupWitness:
    """Muster's own PodGroup, which existed before the pods were listed, and none of them was plain.

    While this object exists no replica admits a plain pod (`core.own_group`), so the list need not be repeated.
    """

    uid: Uid


@dataclass(frozen=True, slots=True)
class CachedDecision:
    """A decision that holds for the Job's next pods for as long as its witness exists."""

    decision: Decision
    witness: PodWitness | GroupWitness


def answers(decision: Decision, began: int, came: int) -> bool:
    """Whether the decision of a shared run is an answer to a caller, by the tickets of both.

    A run that began before the caller came may have missed a pod that was created just before. HOLD answers every
    caller, because it admits no pod.
    """
    return began > came or decision.membership is Membership.HOLD


def cacheable(seen: Observed, decision: Decision) -> CachedDecision | None:
    """The decision with its witness; None if no object in the API server can confirm it."""
    own_group = own_pod_group(seen)
    if decision.sticky and seen.pods is not None:
        return CachedDecision(decision, PodWitness(seen.pods.name))
    if own_group is not None and decision.joins and own_group.metadata.name == decision.group:
        return CachedDecision(decision, GroupWitness(own_group.metadata.uid))
    return None


def confirmed_by_pod(cached: CachedDecision, pod: Pods) -> CachedDecision | None:
    """The witness is a pod, read now."""
    return cached if pod.live and pod.group == cached.decision.group else None


def confirmed_by_group(cached: CachedDecision, group: PodGroup | None, pods: Pods) -> CachedDecision | None:
    """The witness is the PodGroup, read now, with the Job's pods from the API server's cache.

    Only the pods show what was admitted without Muster (`failurePolicy: Ignore`).
    """
    witness, decision = cached.witness, cached.decision
    if not isinstance(witness, GroupWitness) or group is None or group.metadata.uid != witness.uid:
        return None
    if group.metadata.deletion_timestamp is not None:
        return None
    if not pods.live:
        return cached
    return (
        CachedDecision(replace(decision, sticky=True), PodWitness(pods.name)) if pods.group == decision.group else None
    )
