"""The fields of a Job that Muster uses, as an immutable view."""

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
"""The user's scheduling request for the Job's pods, as text."""
GROUP_TEMPLATE_ANNOTATION = "scheduling.k8s.io/group-template-name"
"""The template of the controller's Workload that the Job's pods belong to. Set by a controller on its child Jobs."""
PARENT_GROUP_ANNOTATION = "scheduling.k8s.io/parent-composite-podgroup"
"""The CompositePodGroup that the Job's pods belong to. Set by a controller on its child Jobs."""
QUEUE_NAME = "kueue.x-k8s.io/queue-name"
"""Kueue's label on a Job that it admits. Old versions of Kueue also read it as an annotation."""
PREBUILT_WORKLOAD = "kueue.x-k8s.io/prebuilt-workload-name"
"""Kueue's label on a Job whose Kueue Workload exists already, as MultiKueue creates it."""
MAX_INTENT = 4_096
"""Maximum length that is read. The longest useful request has half of that, and parsing takes time."""


@dataclass(frozen=True, slots=True)
class JobView:
    """The fields of a Job that Muster uses; the length of every string is bounded."""

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
    """Name of the PodGroup in the pod template; empty if the template has an empty schedulingGroup."""
    annotated_group: str | None
    """The same from the annotation, for servers that do not have the field; an empty annotation counts, too."""
    priority_class_name: str
    scheduler_name: str
    node_name: str
    being_deleted: bool
    finished: bool
    counted_pods: int
    """Pods that ended and that the Job controller counted. They existed, even if they are deleted now."""
    unfinished: int
    """Indexes (or completions, for a non-indexed Job) that have not ended: the most pods the Job can have at a time."""
    ending: bool
    """The Job is about to complete or fail: it gets no more pods."""
    unready: int
    """Pods that are not ready, if an index has ended or the Job lost pods: one that waits for a node is among them."""
    # The next fields are for events only and have no influence on decisions.
    resumed: str | None = field(default="", compare=False)
    """When the Job controller last resumed the Job; empty if it was never suspended, None if it is suspended now."""
    active: int = field(default=0, compare=False)
    ready: int = field(default=0, compare=False)
    succeeded: int = field(default=0, compare=False)
    may_replace: bool = field(default=False, compare=False)
    """The Job lost a pod, is losing one, was suspended, or has a rule by which lost pods do not count.

    If not, none of its pods is a replacement.
    """
    intent: str | None = None
    """The text of the annotation. It keeps one character more than `MAX_INTENT`, to show that the text is too long."""
    at_rest: bool = False
    """Suspended, and without active or terminating pods in its status."""
    suspended_once: bool = False
    """The Job is or was suspended, so the Job controller has deleted its earlier pods."""
    group_template: str = ""
    parent_group: str = ""
    in_queue: bool = False
    """Kueue suspends and resumes the Job, and may change its parallelism while it is suspended."""

    @classmethod
    def parse(cls, raw: object) -> Self:
        job = as_object(raw, "Job")
        metadata, spec, status = mapping(job, "metadata"), mapping(job, "spec"), mapping(job, "status")
        may_replace = _may_replace(spec, status)
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
            may_replace=may_replace,
            intent=_intent(annotations),
            at_rest=flag(spec, "suspend") and not (integer(status, "active") or integer(status, "terminating")),
            suspended_once=any(text(condition, "type") == "Suspended" for condition in mappings(status, "conditions")),
            group_template=text(annotations, GROUP_TEMPLATE_ANNOTATION),
            parent_group=text(annotations, PARENT_GROUP_ANNOTATION),
            in_queue=_in_queue(mapping(metadata, "labels"), annotations),
            unfinished=_unfinished(spec, status),
            ending=any(_is_ending(condition) for condition in mappings(status, "conditions")),
            unready=_unready(status) if may_replace or _has_ended_indexes(status) else 0,
        )

    @property
    def owned(self) -> bool:
        """Whether the Job belongs to a controller that may group its pods itself. A CronJob does not."""
        owner = self.controller
        return owner is not None and not (owner.kind == "CronJob" and owner.group == "batch")

    @property
    def gets_pods(self) -> bool:
        """The Job controller creates pods for it, now or when a pod fails."""
        return not (self.finished or self.suspended or self.being_deleted)

    @property
    def delegated(self) -> bool:
        """The Workload of the Job's controller describes the pods; only the PodGroup belongs to the Job (KEP-6089)."""
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


def _may_replace(spec: Raw, status: Raw) -> bool:
    resumed = any(text(condition, "type") == "Suspended" for condition in mappings(status, "conditions"))
    rules = mappings(mapping(spec, "podFailurePolicy"), "rules")
    uncounted = any(text(rule, "action") == "Ignore" for rule in rules)
    return bool(resumed or uncounted or integer(status, "failed") or integer(status, "terminating"))


def _has_ended_indexes(status: Raw) -> bool:
    """Then a pod that is not ready may be one that never got its node: the scheduler lost its binding."""
    return bool(status.get("completedIndexes") or status.get("failedIndexes"))


def _is_ending(condition: Raw) -> bool:
    return text(condition, "type") in {"SuccessCriteriaMet", "FailureTarget"} and text(condition, "status") == "True"


def _resumed(status: Raw) -> str | None:
    condition = next((each for each in mappings(status, "conditions") if text(each, "type") == "Suspended"), None)
    if condition is None:
        return ""
    return None if text(condition, "status") == "True" else text(condition, "lastTransitionTime", MAX_WORD)


def _is_final(condition: Raw) -> bool:
    return text(condition, "type") in {"Complete", "Failed"} and text(condition, "status") == "True"
