"""The fields of a Pod that Muster uses: its owner, its phase and its PodGroup."""

from dataclasses import dataclass
from typing import Self

from muster.api.keys import JobKey, JobRef, Uid
from muster.api.meta import Controller, controller_of
from muster.api.wire import MAX_UID, MAX_WORD, Raw, as_object, mapping, mappings, text, words

CONTROLLER_UID_LABEL = "batch.kubernetes.io/controller-uid"
COMPLETION_INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
POD_GROUP_ANNOTATION = "muster.dev/pod-group"
"""The name of the pod's PodGroup, where the API server does not have the field."""
GROUPED_LABEL = "muster.dev/grouped"
"""Marks pods with the annotation, so that a selector can find them: PodGroup names are too long for a label value."""

FINAL_PHASES = frozenset({"Succeeded", "Failed"})
LIVE = "status.phase!=Succeeded,status.phase!=Failed"
"""The field selector of pods that may still run."""


@dataclass(frozen=True, slots=True)
class PodView:
    namespace: str
    name: str
    controller: Controller | None
    live: bool
    """Not in a final phase: the pod runs or may still run."""
    group: str
    """Name of the PodGroup in `spec.schedulingGroup`; empty if the pod has none."""
    annotated_group: str
    """Name of the PodGroup in the pod's annotation; empty if the pod has none."""
    bound: bool
    """The scheduler has assigned a node."""
    uid: Uid
    created: str
    unschedulable: str
    """The scheduler's message if it found no node; empty if there is none."""
    terminating: bool = False
    """The pod has a deletionTimestamp."""

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
        """The Job that controls the pod, from the owner reference. The Job's label on the pod is not a proof."""
        owner = self.controller
        if owner is None or not owner.is_job:
            return None
        return JobRef(JobKey(self.namespace, owner.name), owner.uid)


def _unschedulable(status: Raw) -> str:
    conditions = (each for each in mappings(status, "conditions") if text(each, "type") == "PodScheduled")
    return next((words(each, "message") for each in conditions if text(each, "status") == "False"), "")
