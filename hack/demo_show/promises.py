"""The promises, and a check for each: a sentence that says how it was broken, or None.

The checks are pure functions of the record, so that tests can pass a record with a broken promise.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from demo_show.record import JobFacts, Seen

LONGEST_HALF_START = 2.0
"""Seconds. Binding a gang is one call per pod, so for a moment only some pods are bound."""
OWN_EVENTS = ("WorkloadCreated", "PodGroupCreated")
ALLOWED_MANAGERS = {"demo-user", "kube-controller-manager"}


class Promise(Enum):
    brief: str
    sentence: str

    def __init__(self, brief: str, sentence: str) -> None:
        self.brief = brief
        self.sentence = sentence

    AT_ONCE = "A gang that fits starts whole", "the gang that fits started as a whole"
    ORDER = "Workload < PodGroup < Pods", "every gang got its Workload, then its PodGroup, then its Pods"
    MEMBERS = "Pods name their PodGroup", "every Pod of a gang names its PodGroup"
    WAITS = "No room: no Pod starts, and why", "the gang that does not fit waited with no Pod bound, and shows why"
    PLAIN = "A plain Job runs as always", "the plain Job ran at the same time, with no Workload and no PodGroup"
    ROOM = "Room: the waiting gang starts", "the waiting gang started as a whole once there was room"
    NEVER_HALF = "Never half a gang", f"no gang was ever half started for longer than {LONGEST_HALF_START:.0f} s"
    EVENTS = "The Job's events report it", "Muster's events are on the gangs' Jobs only"
    UNTOUCHED = "Muster changed no Job", "the Jobs are as they were submitted"
    DELETED = "A deleted Job leaves nothing", "deleting a gang's Job removed its Pods, its PodGroup and its Workload"


def not_started_as_a_whole(gang: JobFacts) -> str | None:
    if gang.started:
        return None
    return f"{len(gang.bound)} of {gang.parallelism} Pods of {gang.name} are bound, {len(gang.pods)} were created"


def out_of_order(gang: JobFacts) -> str | None:
    """Compares etcd revisions, which are unique per write, so that no clock is involved."""
    steps = ((gang.workloads, "Workload"), (gang.pod_groups, "PodGroup"), (gang.pods, "Pod"))
    latest_before = 0
    for things, kind in steps:
        if not things:
            return f"{gang.name} has no {kind}"
        revisions = [thing.created_revision for thing in things]
        if min(revisions) <= latest_before:
            return f"a {kind} of {gang.name} came at revision {min(revisions)}, before what it needs ({latest_before})"
        latest_before = max(revisions)
    return None


def not_one_pair(gang: JobFacts) -> str | None:
    found = len(gang.workloads), len(gang.pod_groups)
    return None if found == (1, 1) else f"{gang.name} has {found[0]} Workloads and {found[1]} PodGroups"


def outside_its_group(gang: JobFacts) -> str | None:
    if not gang.pods:
        return f"{gang.name} has no Pod"
    groups = {group.name for group in gang.pod_groups}
    strangers = [pod.name for pod in gang.pods if pod.group not in groups]
    return f"{_some(strangers)} of {gang.name} does not name its PodGroup" if strangers else None


def started_too_soon(gang: JobFacts, room_at: float | None) -> str | None:
    """`room_at`: when there was room for the gang; None if there is none yet."""
    soon = [pod.name for pod in gang.bound if room_at is None or (pod.bound_at or 0) < room_at]
    return f"{len(soon)} Pods of {gang.name} were bound before there was room for all" if soon else None


def waits_without_reason(gang: JobFacts) -> str | None:
    return None if why_it_waits(gang) else f"nothing says why {gang.name} waits"


def why_it_waits(gang: JobFacts) -> str | None:
    """The message of kube-scheduler."""
    for group in gang.pod_groups:
        condition = group.condition("PodGroupScheduled")
        if condition.get("status") == "False" and condition.get("message"):
            return str(condition["message"])
    return None


def half_started(gang: JobFacts, now: float) -> str | None:
    times = sorted(pod.bound_at for pod in gang.bound if pod.bound_at is not None)
    if not times:
        return None
    whole_at = times[gang.parallelism - 1] if gang.started else now
    lasted = whole_at - times[0]
    if lasted <= LONGEST_HALF_START:
        return None
    return f"{gang.name} was half started for {lasted:.1f} s"


def has_a_group(plain: JobFacts) -> str | None:
    if plain.workloads or plain.pod_groups:
        return f"{plain.name} got a Workload or a PodGroup"
    grouped = [pod.name for pod in plain.pods if pod.group]
    return f"{_some(grouped)} of {plain.name} names a PodGroup" if grouped else None


def events_missing(gang: JobFacts) -> str | None:
    missing = [reason for reason in OWN_EVENTS if reason not in muster_events(gang)]
    return f"{gang.name} has no event {' and no event '.join(missing)}" if missing else None


def unexpected_events(plain: JobFacts) -> str | None:
    reasons = muster_events(plain)
    return f"{plain.name} got Muster's event {reasons[0]}" if reasons else None


def muster_events(job: JobFacts) -> list[str]:
    mine = [event.original for event in job.events if event.original.get("source", {}).get("component") == "muster"]
    return [event["reason"] for event in mine]


def changed(job: JobFacts) -> str | None:
    if job.job is None:
        return f"{job.name} was never seen"
    before, after = job.job.original, job.job.latest
    managers = {entry.get("manager", "") for entry in after["metadata"].get("managedFields", [])}
    if strangers := managers - ALLOWED_MANAGERS:
        return f"{job.name} was written by {', '.join(sorted(strangers))}"
    if before["spec"] != after["spec"]:
        return f"the spec of {job.name} is not what was submitted"
    for field in ("labels", "annotations", "generation", "ownerReferences"):
        if before["metadata"].get(field) != after["metadata"].get(field):
            return f"metadata.{field} of {job.name} is not what was submitted"
    return None


def left_behind(job: JobFacts) -> str | None:
    left = [f"{seen.latest.get('kind', 'object')} {seen.name}" for seen in job.left]
    return f"{_some(left)} of {job.name} is still there" if left else None


def first_broken(outcomes: Iterable[str | None]) -> str | None:
    return next((problem for problem in outcomes if problem), None)


def whole_after(gang: JobFacts, since: float) -> float:
    """Seconds until the last member was seen bound."""
    return max((pod.bound_at or since) for pod in gang.bound) - since


def revisions(things: list[Seen]) -> str:
    """The revisions at which the objects were created."""
    numbers = sorted(thing.created_revision for thing in things)
    if not numbers:
        return ""
    return f"@{numbers[0]}" if len(numbers) == 1 else f"@{numbers[0]}-{numbers[-1]}"


def _some(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} (and {len(names) - 1} more)"
