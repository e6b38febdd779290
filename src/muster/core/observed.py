"""What was seen of one Job: everything that a decision may look at."""

from dataclasses import dataclass, field

from muster.api.job import JobView
from muster.api.v1alpha2.podgroup import PodGroup
from muster.api.v1alpha2.workload import Workload


@dataclass(frozen=True, slots=True)
class Pods:
    """What a live LIST says about the Job's pods."""

    exist: bool
    """Any at all, also ended ones."""
    live: bool
    """At least one may still run."""
    group: str = ""
    """The group of the live ones; empty if they are plain."""
    name: str = field(default="", compare=False)
    """The live one that was looked at."""


NO_PODS = Pods(exist=False, live=False)


@dataclass(frozen=True, slots=True)
class Observed:
    """Everything the decision may look at."""

    job: JobView | None
    workloads: tuple[Workload, ...] = ()
    pod_groups: tuple[PodGroup, ...] = ()
    pods: Pods | None = None
    """None: not read. Then a wish to create is only a reason to look again, live."""
    taken: frozenset[str] = frozenset()
    """Names of ours that turned out to be a stranger's."""
    rejected: str = ""
    """What the API server said when it refused our object for good."""
    rejected_now: bool = False
    """It did so a moment ago. Another replica may just be making what this one could not."""
