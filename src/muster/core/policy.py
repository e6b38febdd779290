"""The settings that decisions depend on."""

from dataclasses import dataclass, field
from enum import StrEnum

from muster.api.job import DEFAULT_SCHEDULER
from muster.api.profile import ApiProfile


class ReleaseOnSuspend(StrEnum):
    """What Muster deletes of a suspended Job's Workload and PodGroup, to create it again at resume."""

    AUTO = "Auto"
    """The PodGroup, if Kueue manages the Job: Kueue restores parallelism while the Job is suspended."""
    POD_GROUP = "PodGroup"
    PAIR = "Pair"
    NOTHING = "Nothing"


@dataclass(frozen=True, slots=True)
class Policy:
    excluded_namespaces: frozenset[str] = frozenset({"kube-system", "muster-system"})
    scheduler_names: frozenset[str] = frozenset({DEFAULT_SCHEDULER})
    """Schedulers that support gangs."""
    groups_by_annotation: bool = False
    """Pods name their PodGroup in an annotation, and so may pod templates. True with Muster's CRDs."""
    opt_in: bool = False
    """Only Jobs that request it become a gang; otherwise all that qualify."""
    basic_for_others: bool = False
    """Jobs that are not a gang get a Workload and a Basic PodGroup."""
    release_on_suspend: ReleaseOnSuspend = ReleaseOnSuspend.AUTO
    all_jobs: bool = False
    """The pod webhook is called for the pods of all Jobs, not only of Indexed Jobs."""
    elastic: bool = False
    """The Job of a gang may change its parallelism together with its completions."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What stays the same from one decision to the next."""

    profile: ApiProfile
    policy: Policy = field(default_factory=Policy)
    adopt_existing_only: bool = False
    """For the controller, if the pod webhook does not see every pod: it maintains what the webhook has begun."""
