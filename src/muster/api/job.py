"""A Job as Muster sees it: the few fields that decide, frozen."""

from dataclasses import dataclass, field
from typing import Self

from muster.api.indexes import LONGEST_LIST, count_indexes
from muster.api.keys import JobKey, JobRef, Uid
from muster.api.meta import Controller, controller_of
from muster.api.pod import POD_GROUP_ANNOTATION
from muster.api.wire import MAX_UID, MAX_WORD, Raw, as_object, flag, integer, mapping, mappings, text, words

JOB_CONTROLLER = "kubernetes.io/job-controller"
DEFAULT_SCHEDULER = "default-scheduler"
SCHEDULING_ANNOTATION = "muster.dev/scheduling"
"""What the user wants for the Job's pods, as text."""
GROUP_TEMPLATE_ANNOTATION = "scheduling.k8s.io/group-template-name"
"""By it a controller tells a Job of its own which template of the controller's Workload the pods belong to."""
PARENT_GROUP_ANNOTATION = "scheduling.k8s.io/parent-composite-podgroup"
"""Likewise, which group of groups."""
QUEUE_NAME = "kueue.x-k8s.io/queue-name"
"""Kueue's label on a Job that it admits. Old versions of Kueue also read it as an annotation."""
PREBUILT_WORKLOAD = "kueue.x-k8s.io/prebuilt-workload-name"
"""Kueue's label on a Job whose Kueue Workload exists already, as MultiKueue creates it."""
MAX_INTENT = 4_096
"""Characters of intent that are looked at: the longest that makes sense has half of them, and reading takes time."""


@dataclass(frozen=True, slots=True)
class JobView:
    """A Job as far as Muster reads it, with every string bounded."""

    key: JobKey
    uid: Uid
    resource_version: str = field(compare=False)
    parallelism: int | None
    completions: int | None
    indexed: bool
    suspended: bool
    managed_by: str
    controller: Controller | None
    scheduling_group: str | None
    """Name of the PodGroup that the pod template presets; empty if the template has an empty group."""
    annotated_group: str | None
    """The same by annotation, for servers that have no field for it; an empty one counts, too."""
    priority_class_name: str
    scheduler_name: str
    node_name: str
    being_deleted: bool
    finished: bool
    counted_pods: int
    """Pods that ended and were counted: they existed, even if they are gone now."""
    unfinished: int
    """Indexes (or, where it has none, completions) that are still to come: so many pods it can have at a time."""
    ending: bool
    """It is decided how the Job ends: it gets no more pods."""
    unready: int
    """Pods that are not ready although others were there before them: one that waits for a node is among these."""
    # What is only told changes no decision.
    resumed: str | None = field(default="", compare=False)
    """When the Job controller last resumed it; empty if it never was suspended, None if it still is."""
    active: int = field(default=0, compare=False)
    ready: int = field(default=0, compare=False)
    succeeded: int = field(default=0, compare=False)
    intent: str | None = None
    """What the user asks for, unread. One character more than the bound is kept, to tell that it is too long."""
    at_rest: bool = False
    """Suspended, and without pods as far as the Job controller knows."""
    suspended_once: bool = False
    """It is suspended, or was before: then the Job controller has deleted its pods."""
    group_template: str = ""
    parent_group: str = ""
    in_queue: bool = False
    """Kueue suspends and resumes it, and may change its parallelism while it is suspended."""

    @classmethod
    def parse(cls, raw: object) -> Self:
        job = as_object(raw, "Job")
        metadata, spec, status = mapping(job, "metadata"), mapping(job, "spec"), mapping(job, "status")
        template = mapping(spec, "template")
        pod, annotations = mapping(template, "spec"), mapping(metadata, "annotations")
        return cls(
            key=JobKey(text(metadata, "namespace"), text(metadata, "name")),
            uid=Uid(text(metadata, "uid", MAX_UID)),
            resource_version=text(metadata, "resourceVersion", MAX_WORD),
            parallelism=integer(spec, "parallelism"),
            completions=integer(spec, "completions"),
            indexed=text(spec, "completionMode") == "Indexed",
            suspended=flag(spec, "suspend"),
            managed_by=text(spec, "managedBy"),
            controller=controller_of(metadata),
            scheduling_group=_scheduling_group(pod),
            annotated_group=_annotated_group(template),
            priority_class_name=text(pod, "priorityClassName"),
            scheduler_name=text(pod, "schedulerName") or DEFAULT_SCHEDULER,
            node_name=text(pod, "nodeName"),
            being_deleted=bool(text(metadata, "deletionTimestamp")),
            finished=any(_is_final(condition) for condition in mappings(status, "conditions")),
            counted_pods=(integer(status, "succeeded") or 0) + (integer(status, "failed") or 0),
            resumed=_resumed(status),
            active=integer(status, "active") or 0,
            ready=integer(status, "ready") or 0,
            succeeded=integer(status, "succeeded") or 0,
            intent=_intent(annotations),
            at_rest=flag(spec, "suspend") and not (integer(status, "active") or integer(status, "terminating")),
            suspended_once=any(text(condition, "type") == "Suspended" for condition in mappings(status, "conditions")),
            group_template=text(annotations, GROUP_TEMPLATE_ANNOTATION),
            parent_group=text(annotations, PARENT_GROUP_ANNOTATION),
            in_queue=_in_queue(mapping(metadata, "labels"), annotations),
            unfinished=_unfinished(spec, status),
            ending=any(_is_ending(condition) for condition in mappings(status, "conditions")),
            unready=_unready(status) if _has_lost_pods(spec, status) else 0,
        )

    @property
    def owned(self) -> bool:
        """By a controller that groups the Job's pods itself, if anybody does. A CronJob does not."""
        owner = self.controller
        return owner is not None and not (owner.kind == "CronJob" and owner.group == "batch")

    @property
    def delegated(self) -> bool:
        """The controller's Workload describes its pods; only the PodGroup is the Job's own (KEP-6089)."""
        return self.owned and bool(self.group_template)

    @property
    def ref(self) -> JobRef:
        return JobRef(self.key, self.uid)


def _scheduling_group(pod_spec: Raw) -> str | None:
    if pod_spec.get("schedulingGroup") is None:
        return None
    return text(mapping(pod_spec, "schedulingGroup"), "podGroupName")


def _annotated_group(template: Raw) -> str | None:
    annotations = mapping(mapping(template, "metadata"), "annotations")
    return text(annotations, POD_GROUP_ANNOTATION) if annotations.get(POD_GROUP_ANNOTATION) is not None else None


def _intent(annotations: Raw) -> str | None:
    if annotations.get(SCHEDULING_ANNOTATION) is None:
        return None
    return words(annotations, SCHEDULING_ANNOTATION, MAX_INTENT + 1)


def _in_queue(labels: Raw, annotations: Raw) -> bool:
    return bool(text(labels, QUEUE_NAME) or text(labels, PREBUILT_WORKLOAD) or text(annotations, QUEUE_NAME))


def _unfinished(spec: Raw, status: Raw) -> int:
    completions = max(0, integer(spec, "completions") or 0)
    if text(spec, "completionMode") != "Indexed":
        return max(0, completions - (integer(status, "succeeded") or 0))
    ended = count_indexes(
        *(words(status, each, LONGEST_LIST + 1) for each in ("completedIndexes", "failedIndexes")), below=completions
    )
    return completions - ended


def _unready(status: Raw) -> int:
    return max(0, (integer(status, "active") or 0) - (integer(status, "ready") or 0))


def _has_lost_pods(spec: Raw, status: Raw) -> bool:
    """Without a loss no pod is a replacement, and those that are not ready are on their way to their nodes."""
    resumed = any(text(condition, "type") == "Suspended" for condition in mappings(status, "conditions"))
    rules = mappings(mapping(spec, "podFailurePolicy"), "rules")
    uncounted = any(text(rule, "action") == "Ignore" for rule in rules)
    return bool(resumed or uncounted or integer(status, "failed") or integer(status, "terminating"))


def _is_ending(condition: Raw) -> bool:
    return text(condition, "type") in {"SuccessCriteriaMet", "FailureTarget"} and text(condition, "status") == "True"


def _resumed(status: Raw) -> str | None:
    told = next((each for each in mappings(status, "conditions") if text(each, "type") == "Suspended"), None)
    if told is None:
        return ""
    return None if text(told, "status") == "True" else text(told, "lastTransitionTime", MAX_WORD)


def _is_final(condition: Raw) -> bool:
    return text(condition, "type") in {"Complete", "Failed"} and text(condition, "status") == "True"
