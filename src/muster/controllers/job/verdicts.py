"""What is remembered of a Job between its pods: a decision with its witness, and what earlier attempts taught."""

from dataclasses import dataclass

from muster.api.keys import Uid
from muster.core.decide import Decision


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """What earlier attempts for this Job taught: it costs a failed write to learn again."""

    taken: frozenset[str] = frozenset()
    rejected: str = ""


@dataclass(frozen=True, slots=True)
class PodWitness:
    """A living pod of the Job: what it is, its siblings are."""

    name: str


@dataclass(frozen=True, slots=True)
class GroupWitness:
    """Muster's own PodGroup, seen before the pods were listed and none of them was plain: its pods join it.

    While that very object exists no replica lets a plain pod in (`core.decide.own_pod_group`), so it need not be listed
    again whether somebody did.
    """

    uid: Uid


@dataclass(frozen=True, slots=True)
class CachedDecision:
    """A decision that holds for the Job's next pods for as long as its witness is still there.

    Other replicas come to their own decisions, and caches lag, the API server's own too. So nothing is remembered
    without a witness, and the witness is read again, from the store, for every pod.
    """

    decision: Decision
    witness: PodWitness | GroupWitness
