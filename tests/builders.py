"""Objects as the API server returns them, built by naming only what matters to the test.

`a_job("train").indexed(4).suspended().build()` is a raw dict; `.view()` and `.read()` give what Muster parses from it.
"""

from typing import Any, Self

import orjson

from muster.api.job import SCHEDULING_ANNOTATION, JobView
from muster.api.keys import JobKey, JobRef, Uid
from muster.api.meta import MANAGED_BY, MANAGED_BY_LABEL
from muster.api.pod import (
    COMPLETION_INDEX_LABEL,
    CONTROLLER_UID_LABEL,
    GROUPED_LABEL,
    POD_GROUP_ANNOTATION,
    PodView,
)
from muster.api.profile import NATIVE
from muster.api.v1alpha2.podgroup import PROTECTION, PodGroup
from muster.api.v1alpha2.workload import Workload
from muster.kube.errors import Forbidden

Object = dict[str, Any]

NAMESPACE = "default"
LONG_AGO = "2026-01-01T00:00:00Z"


class Builder:
    """What all kinds share. A builder is used once; `build` copies, so that no test changes another's object."""

    def __init__(self, api_version: str, kind: str, name: str) -> None:
        metadata = {"name": name, "namespace": NAMESPACE, "uid": f"{name}-uid", "resourceVersion": "1"}
        self.raw: Object = {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": {}}

    @property
    def metadata(self) -> Object:
        return self.raw["metadata"]  # type: ignore[no-any-return]

    @property
    def spec(self) -> Object:
        return self.raw["spec"]  # type: ignore[no-any-return]

    @property
    def name(self) -> str:
        return str(self.metadata["name"])

    def build(self) -> Object:
        return copied(self.raw)

    def uid(self, uid: str) -> Self:
        self.metadata["uid"] = uid
        return self

    def version(self, resource_version: int) -> Self:
        self.metadata["resourceVersion"] = str(resource_version)
        return self

    def in_namespace(self, namespace: str) -> Self:
        self.metadata["namespace"] = namespace
        return self

    def labelled(self, **labels: str) -> Self:
        self.metadata.setdefault("labels", {}).update(labels)
        return self

    def annotated(self, **annotations: str) -> Self:
        self.metadata.setdefault("annotations", {}).update(annotations)
        return self

    def ours(self) -> Self:
        self.metadata.setdefault("labels", {})[MANAGED_BY_LABEL] = MANAGED_BY
        return self

    def created(self, when: str) -> Self:
        self.metadata["creationTimestamp"] = when
        return self

    def being_deleted(self) -> Self:
        self.metadata["deletionTimestamp"] = LONG_AGO
        return self

    def owned_by(self, api_version: str, kind: str, name: str, uid: str, controller: bool = True) -> Self:
        reference: Object = {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid}
        if controller:
            reference |= {"controller": True, "blockOwnerDeletion": True}
        self.metadata.setdefault("ownerReferences", []).append(reference)
        return self

    def controlled_by(self, job: "JobBuilder") -> Self:
        return self.owned_by("batch/v1", "Job", job.name, job.metadata["uid"])


class JobBuilder(Builder):
    def __init__(self, name: str) -> None:
        super().__init__("batch/v1", "Job", name)
        self.spec.update(parallelism=1, completions=1, completionMode="NonIndexed")
        self.spec["template"] = {"spec": {"containers": [{"name": "main", "image": "busybox"}]}}
        self.raw["status"] = {}

    @property
    def pod_spec(self) -> Object:
        return self.spec["template"]["spec"]  # type: ignore[no-any-return]

    def indexed(self, pods: int) -> Self:
        self.spec.update(parallelism=pods, completions=pods, completionMode="Indexed")
        return self

    def having(self, **fields: Any) -> Self:
        """Fields of the spec by their API names; None takes one away."""
        for field, value in fields.items():
            self.spec.pop(field, None)
            if value is not None:
                self.spec[field] = value
        return self

    def asking(self, intent: str) -> Self:
        """What the user wants, in the annotation."""
        return self.annotated(**{SCHEDULING_ANNOTATION: intent})

    def suspended(self) -> Self:
        return self.having(suspend=True)

    def with_pods(self, **fields: Any) -> Self:
        """Fields of the pod template's spec."""
        self.pod_spec.update(fields)
        return self

    def naming_group(self, group: str) -> Self:
        """The template names it by annotation."""
        self.spec["template"]["metadata"] = {"annotations": {POD_GROUP_ANNOTATION: group}}
        return self

    def with_status(self, **fields: Any) -> Self:
        self.raw["status"].update(fields)
        return self

    def finished(self, how: str = "Complete") -> Self:
        return self.with_status(conditions=[{"type": how, "status": "True"}])

    def view(self) -> JobView:
        return JobView.parse(self.build())

    @property
    def ref(self) -> JobRef:
        return JobRef(JobKey(self.metadata["namespace"], self.name), Uid(self.metadata["uid"]))


class PodBuilder(Builder):
    def __init__(self, name: str) -> None:
        super().__init__("v1", "Pod", name)
        self.spec["containers"] = [{"name": "main", "image": "busybox"}]
        self.raw["status"] = {"phase": "Pending"}

    def of(self, job: JobBuilder, index: int = 0) -> Self:
        self.metadata["namespace"] = job.metadata["namespace"]
        labels = {CONTROLLER_UID_LABEL: job.metadata["uid"], COMPLETION_INDEX_LABEL: str(index)}
        return self.labelled(**labels).controlled_by(job)

    def in_group(self, name: str) -> Self:
        self.spec["schedulingGroup"] = {"podGroupName": name}
        return self

    def naming_group(self, name: str) -> Self:
        """As pods do where the API server has no field for it."""
        return self.annotated(**{POD_GROUP_ANNOTATION: name}).labelled(**{GROUPED_LABEL: "true"})

    def bound(self, node: str = "node-1") -> Self:
        self.spec["nodeName"] = node
        return self

    def phase(self, phase: str) -> Self:
        self.raw["status"]["phase"] = phase
        return self

    def unschedulable(self, message: str) -> Self:
        """The scheduler looked at it, and found no node."""
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        self.raw["status"]["conditions"] = [condition]
        return self

    def view(self) -> PodView:
        return PodView.parse(self.build())


class WorkloadBuilder(Builder):
    def __init__(self, name: str) -> None:
        super().__init__(NATIVE.api_version, "Workload", name)
        self.templates({"name": "workers", "schedulingPolicy": {"gang": {"minCount": 4}}})

    def templates(self, *templates: Object) -> Self:
        self.spec["podGroupTemplates"] = list(templates)
        return self

    def gang(self, min_count: int) -> Self:
        self.spec["podGroupTemplates"][0]["schedulingPolicy"] = {"gang": {"minCount": min_count}}
        return self

    def basic(self) -> Self:
        self.spec["podGroupTemplates"][0]["schedulingPolicy"] = {"basic": {}}
        return self

    def describing(self, job: JobBuilder) -> Self:
        self.metadata["namespace"] = job.metadata["namespace"]
        return self.referring_to("batch", "Job", job.name)

    def referring_to(self, api_group: str, kind: str, name: str) -> Self:
        self.spec["controllerRef"] = {"apiGroup": api_group, "kind": kind, "name": name}
        return self

    def read(self) -> Workload:
        return NATIVE.read_workload(self.build())


class PodGroupBuilder(Builder):
    def __init__(self, name: str) -> None:
        super().__init__(NATIVE.api_version, "PodGroup", name)
        self.gang(4)

    def gang(self, min_count: int) -> Self:
        self.spec["schedulingPolicy"] = {"gang": {"minCount": min_count}}
        return self

    def basic(self) -> Self:
        self.spec["schedulingPolicy"] = {"basic": {}}
        return self

    def made_from(self, workload: WorkloadBuilder) -> Self:
        return self.naming_workload(workload.name, workload.spec["podGroupTemplates"][0]["name"])

    def naming_workload(self, workload: str, template: str = "workers") -> Self:
        ref = {"workloadName": workload, "podGroupTemplateName": template}
        self.spec["podGroupTemplateRef"] = {"workload": ref}
        return self

    def protected(self, *others: str) -> Self:
        self.metadata["finalizers"] = [*others, PROTECTION]
        return self

    def priority(self, name: str | None = None, value: int | None = None) -> Self:
        given = {"priorityClassName": name, "priority": value}
        self.spec.update({field: each for field, each in given.items() if each is not None})
        return self

    def reporting(self, *conditions: Object) -> Self:
        self.raw["status"] = {"conditions": list(conditions)}
        return self

    def scheduled(self, status: str = "True", message: str = "", when: str = LONG_AGO) -> Self:
        """The scheduler's word on the group."""
        reason = "Scheduled" if status == "True" else "Unschedulable"
        condition = {"status": status, "reason": reason, "message": message, "lastTransitionTime": when}
        return self.reporting({"type": "PodGroupScheduled", **condition})

    def read(self) -> PodGroup:
        return NATIVE.read_pod_group(self.build())


def a_job(name: str = "train") -> JobBuilder:
    return JobBuilder(name)


def a_gang(name: str = "train", pods: int = 4) -> JobBuilder:
    """The plainest Job that Muster forms into a gang."""
    return JobBuilder(name).indexed(pods)


def a_pod(name: str = "train-0-x") -> PodBuilder:
    return PodBuilder(name)


def a_workload(name: str = "a-workload") -> WorkloadBuilder:
    return WorkloadBuilder(name)


def a_pod_group(name: str = "a-group") -> PodGroupBuilder:
    return PodGroupBuilder(name)


def a_review(
    new: Object, *, old: Object | None = None, operation: str = "CREATE", namespace: str = NAMESPACE, dry: bool = False
) -> Object:
    """An AdmissionReview as the API server sends it."""
    request = {"uid": "review-1", "operation": operation, "namespace": namespace, "dryRun": dry, "object": new}
    if old is not None:
        request["oldObject"] = old
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def copied(raw: Object) -> Object:
    return orjson.loads(orjson.dumps(raw))  # type: ignore[no-any-return]


def missing_right(verb: str, plural: str) -> Forbidden:
    """As the API server answers an account that lacks the right."""
    where = 'in API group "scheduling.k8s.io" at the cluster scope'
    return Forbidden(f'{plural}.scheduling.k8s.io is forbidden: User "x" cannot {verb} resource "{plural}" {where}')
