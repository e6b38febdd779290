"""A Job as Muster sees it: the few fields that decide, frozen."""

from dataclasses import dataclass, field
from typing import Self

from muster.api.keys import JobKey, JobRef, Uid
from muster.api.meta import OwnerReference, controller_of
from muster.api.pod import POD_GROUP_ANNOTATION
from muster.api.wire import Raw, as_object, flag, integer, mapping, mappings, text

JOB_CONTROLLER = "kubernetes.io/job-controller"
DEFAULT_SCHEDULER = "default-scheduler"


@dataclass(frozen=True, slots=True)
class JobView:
    key: JobKey
    uid: Uid
    resource_version: str = field(compare=False)
    parallelism: int | None
    completions: int | None
    indexed: bool
    suspended: bool
    managed_by: str
    controller: OwnerReference | None
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
    # What is only told changes no decision.
    resumed: str | None = field(default="", compare=False)
    """When the Job controller last resumed it; empty if it never was suspended, None if it still is."""
    active: int = field(default=0, compare=False)
    ready: int = field(default=0, compare=False)
    succeeded: int = field(default=0, compare=False)

    @classmethod
    def parse(cls, raw: object) -> Self:
        job = as_object(raw, "Job")
        metadata, spec, status = mapping(job, "metadata"), mapping(job, "spec"), mapping(job, "status")
        template = mapping(spec, "template")
        pod = mapping(template, "spec")
        return cls(
            key=JobKey(text(metadata, "namespace"), text(metadata, "name")),
            uid=Uid(text(metadata, "uid")),
            resource_version=text(metadata, "resourceVersion"),
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
        )

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


def _resumed(status: Raw) -> str | None:
    told = next((each for each in mappings(status, "conditions") if text(each, "type") == "Suspended"), None)
    if told is None:
        return ""
    return None if text(told, "status") == "True" else text(told, "lastTransitionTime")


def _is_final(condition: Raw) -> bool:
    return text(condition, "type") in {"Complete", "Failed"} and text(condition, "status") == "True"
