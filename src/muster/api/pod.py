"""A Pod as Muster sees it: whose it is, whether it still runs, which group it names."""

from dataclasses import dataclass
from typing import Self

from muster.api.keys import JobKey, JobRef, Uid
from muster.api.meta import Controller, controller_of
from muster.api.wire import MAX_UID, MAX_WORD, Raw, as_object, mapping, mappings, text, words

CONTROLLER_UID_LABEL = "batch.kubernetes.io/controller-uid"
COMPLETION_INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
POD_GROUP_ANNOTATION = "muster.dev/pod-group"
"""Names a pod's group where the API server has no field for it."""
GROUPED_LABEL = "muster.dev/grouped"
"""Marks pods that carry the annotation, so that they can be selected: group names are too long for a label."""

FINAL_PHASES = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class PodView:
    namespace: str
    name: str
    controller: Controller | None
    live: bool
    """Not in a final phase: it runs, or may still run."""
    group: str
    """Name of the PodGroup in `spec.schedulingGroup`; empty if it has none."""
    annotated_group: str
    """Name of the PodGroup in its annotation; empty if it has none."""
    bound: bool
    """The scheduler has found it a node."""
    uid: Uid
    created: str
    unschedulable: str
    """What the scheduler said when it found none; empty if it said nothing."""
    terminating: bool = False
    """Somebody has deleted it."""

    @classmethod
    def parse(cls, raw: object) -> Self:
        pod = as_object(raw, "Pod")
        metadata, spec = mapping(pod, "metadata"), mapping(pod, "spec")
        return cls(
            namespace=text(metadata, "namespace"),
            name=text(metadata, "name"),
            controller=controller_of(metadata),
            live=text(mapping(pod, "status"), "phase") not in FINAL_PHASES,
            group=text(mapping(spec, "schedulingGroup"), "podGroupName"),
            annotated_group=text(mapping(metadata, "annotations"), POD_GROUP_ANNOTATION),
            bound=bool(text(spec, "nodeName")),
            uid=Uid(text(metadata, "uid", MAX_UID)),
            created=text(metadata, "creationTimestamp", MAX_WORD),
            unschedulable=_unschedulable(mapping(pod, "status")),
            terminating=bool(text(metadata, "deletionTimestamp")),
        )

    @property
    def job(self) -> JobRef | None:
        """The Job that controls the pod. The label that Jobs put on pods is no proof; this is."""
        owner = self.controller
        if owner is None or not owner.is_job:
            return None
        return JobRef(JobKey(self.namespace, owner.name), owner.uid)


def _unschedulable(status: Raw) -> str:
    verdicts = (c for c in mappings(status, "conditions") if text(c, "type") == "PodScheduled")
    return next((words(verdict, "message") for verdict in verdicts if text(verdict, "status") == "False"), "")
