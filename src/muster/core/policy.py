"""What the operator of the cluster decided, as far as it changes decisions."""

from dataclasses import dataclass
from enum import StrEnum

from muster.api.job import DEFAULT_SCHEDULER


class ReleaseOnSuspend(StrEnum):
    """What Muster deletes of a suspended Job's pair, once the Job's pods are gone. It makes it again at resume."""

    AUTO = "Auto"
    """The PodGroup of a Job that Kueue manages: Kueue restores parallelism while the Job is suspended."""
    POD_GROUP = "PodGroup"
    PAIR = "Pair"
    NOTHING = "Nothing"


@dataclass(frozen=True, slots=True)
class Policy:
    excluded_namespaces: frozenset[str] = frozenset({"kube-system", "muster-system"})
    scheduler_names: frozenset[str] = frozenset({DEFAULT_SCHEDULER})
    """Schedulers that hold a gang together."""
    groups_by_annotation: bool = False
    """Pods name their group in an annotation: so may a template that has one already. So it is with Muster's CRDs."""
    opt_in: bool = False
    """Only Jobs that ask for it become a gang; otherwise all that qualify."""
    basic_for_others: bool = False
    """Jobs that are no gang get a Basic pair."""
    release_on_suspend: ReleaseOnSuspend = ReleaseOnSuspend.AUTO
    all_jobs: bool = False
    """The webhook is asked for the pods of all Jobs, not only for those of Indexed ones."""
    elastic: bool = False
    """A gang's Job may change its parallelism, together with its completions."""
