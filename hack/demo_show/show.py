"""The current state of the demo: the act, a row per Job, the promises. Screen and lines both show it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from demo_show.promises import Promise, revisions, why_it_waits
from demo_show.record import JobFacts, Kind, Record, Seen


@dataclass(frozen=True, slots=True)
class Made:
    """An object that belongs to a Job."""

    name: str
    note: str
    """The revision at which it was created, or that it is gone."""


NOTHING = Made("none", "")


@dataclass(frozen=True, slots=True)
class Row:
    job: str
    what: str
    workload: Made
    pod_group: Made
    created: str
    created_revisions: str
    bound: str
    waits_for: str
    """Empty if the Job waits for nothing; then `state` says why."""
    state: str


@dataclass(slots=True)
class Show:
    record: Record
    cpus: int
    jobs: list[str] = field(default_factory=list)
    """Names of the submitted Jobs, in order."""
    act: str = ""
    narration: str = ""
    results: dict[Promise, str | None] = field(default_factory=dict)
    """The checked promises: None, or the sentence that says how it was broken."""

    @property
    def broken(self) -> dict[Promise, str]:
        return {promise: problem for promise, problem in self.results.items() if problem}

    @property
    def cpus_taken(self) -> int:
        """Every pod of the demo requests one CPU."""
        pods = self.record.all(Kind.POD)
        return sum(
            pod.bound_at is not None and not pod.gone and pod.phase not in ("Succeeded", "Failed") for pod in pods
        )

    def rows(self) -> list[Row]:
        jobs = (self.record.of_job(name) for name in self.jobs)
        return [row_of(facts) for facts in jobs if facts.job]

    def scheduler_words(self) -> str | None:
        """Why a gang waits, as kube-scheduler reports it."""
        for name in self.jobs:
            facts = self.record.of_job(name)
            words = None if facts.started else why_it_waits(facts)
            if words:
                return f"{name}: {words}{_about_nodes(facts)}"
        return None


class Audience(Protocol):
    reading_seconds: float
    """How long a viewer needs to read the current state."""

    def refresh(self) -> None:
        """Show what has changed."""

    def report(self, sentence: str) -> None:
        """Show a finding that stays visible."""

    def checked(self, promise: Promise, problem: str | None) -> None:
        """Show the result of a check."""


def row_of(facts: JobFacts) -> Row:
    size = facts.parallelism
    state = _state(facts)
    return Row(
        facts.name,
        f"gang of {size}" if facts.is_gang else "plain Job",
        _made(facts.workloads),
        _made(facts.pod_groups),
        f"{len(facts.pods)}/{size}",
        revisions(facts.pods),
        f"{len(facts.bound)}/{size}",
        "" if state else _what_it_waits_for(facts),
        state,
    )


def _made(things: list[Seen]) -> Made:
    if not things:
        return NOTHING
    gone = all(thing.gone for thing in things)
    return Made(", ".join(thing.name for thing in things), "gone" if gone else revisions(things))


def _state(job: JobFacts) -> str:
    if job.deleted:
        return f"deleted, {len(job.left)} to go" if job.left else "all deleted"
    if job.finished:
        return "finished"
    return "all started" if job.started else ""


def _what_it_waits_for(job: JobFacts) -> str:
    size = job.parallelism
    if not job.is_gang:
        return "its pods' nodes, one by one"
    if not job.workloads:
        return "its Workload"
    if not job.pod_groups:
        return "its PodGroup"
    if len(job.pods) < size:
        return f"members: {len(job.pods)} of {size} exist"
    if job.bound:
        return f"binding, {size - len(job.bound)} to go"
    return f"room for {size} at once" if why_it_waits(job) else "kube-scheduler's answer"


def _about_nodes(gang: JobFacts) -> str:
    """A pod's own condition names the resource that is missing; the PodGroup's does not."""
    for pod in gang.pods:
        message = str(pod.condition("PodScheduled").get("message", ""))
        if "nodes are available" in message:
            return f" ({message.partition('. ')[0]})"
    return ""
