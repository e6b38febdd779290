"""The record of the demo: every object with the revision at which it was created, from the watches.

Only the watch shows the revision of a creation; later the object has the revision of its last change.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Body = dict[str, Any]

JOB_NAME_LABEL = "batch.kubernetes.io/job-name"


class Kind(StrEnum):
    JOB = "Job"
    WORKLOAD = "Workload"
    POD_GROUP = "PodGroup"
    POD = "Pod"
    EVENT = "Event"


@dataclass(slots=True)
class Seen:
    created_revision: int
    original: Body
    latest: Body
    bound_at: float | None = None
    """For a Pod: when it was first seen with a node, by the demo's clock in seconds."""
    gone: bool = False

    @property
    def name(self) -> str:
        return str(self.original["metadata"]["name"])

    @property
    def group(self) -> str | None:
        """For a Pod: the PodGroup that it names."""
        name = (self.latest["spec"].get("schedulingGroup") or {}).get("podGroupName")
        return str(name) if name else None

    @property
    def phase(self) -> str:
        return str(self.latest.get("status", {}).get("phase", ""))

    def condition(self, kind: str) -> Body:
        conditions = self.latest.get("status", {}).get("conditions") or []
        return next((condition for condition in conditions if condition["type"] == kind), {})


@dataclass(frozen=True, slots=True)
class JobFacts:
    """A Job and all objects that belong to it, including deleted ones."""

    name: str
    job: Seen | None
    workloads: list[Seen]
    pod_groups: list[Seen]
    pods: list[Seen]
    events: list[Seen]

    @property
    def parallelism(self) -> int:
        return int(self.job.original["spec"].get("parallelism", 1)) if self.job else 0

    @property
    def is_gang(self) -> bool:
        return self.job is not None and self.job.original["spec"].get("completionMode") == "Indexed"

    @property
    def deleted(self) -> bool:
        return self.job is not None and self.job.gone

    @property
    def finished(self) -> bool:
        return self.job is not None and self.job.condition("Complete").get("status") == "True"

    @property
    def bound(self) -> list[Seen]:
        """Pods that got a node, including those that have ended."""
        return [pod for pod in self.pods if pod.bound_at is not None]

    @property
    def started(self) -> bool:
        return self.job is not None and len(self.bound) >= self.parallelism

    @property
    def left(self) -> list[Seen]:
        return [seen for seen in (*self.workloads, *self.pod_groups, *self.pods) if not seen.gone]


@dataclass(slots=True)
class Record:
    _seen: dict[Kind, dict[str, Seen]] = field(default_factory=lambda: {kind: {} for kind in Kind})

    def note(self, kind: Kind, change: str, body: Body, at: float) -> None:
        metadata = body["metadata"]
        seen = self._seen[kind].get(metadata["uid"])
        if seen is None:
            seen = self._seen[kind][metadata["uid"]] = Seen(int(metadata["resourceVersion"]), body, body)
        seen.latest = body
        seen.gone = change == "DELETED"
        if kind is Kind.POD and seen.bound_at is None and body["spec"].get("nodeName"):
            seen.bound_at = at

    def all(self, kind: Kind) -> list[Seen]:
        return list(self._seen[kind].values())

    def of_job(self, name: str) -> JobFacts:
        job = next((seen for seen in self.all(Kind.JOB) if seen.name == name), None)
        workloads = [seen for seen in self.all(Kind.WORKLOAD) if _described_job(seen.original) == name]
        of_these = {workload.name for workload in workloads}
        return JobFacts(
            name,
            job,
            workloads,
            [seen for seen in self.all(Kind.POD_GROUP) if _template_workload(seen.original) in of_these],
            [seen for seen in self.all(Kind.POD) if _labels(seen.original).get(JOB_NAME_LABEL) == name],
            [seen for seen in self.all(Kind.EVENT) if _is_about_job(seen.original, name)],
        )


def _described_job(workload: Body) -> str | None:
    reference = workload["spec"].get("controllerRef") or {}
    return reference.get("name") if reference.get("kind") == "Job" else None


def _template_workload(pod_group: Body) -> str | None:
    reference = pod_group["spec"].get("podGroupTemplateRef") or {}
    name: str | None = (reference.get("workload") or {}).get("workloadName")
    return name


def _labels(body: Body) -> dict[str, str]:
    return body["metadata"].get("labels") or {}


def _is_about_job(event: Body, name: str) -> bool:
    about = event["involvedObject"]
    return (about.get("kind"), about.get("name")) == ("Job", name)
