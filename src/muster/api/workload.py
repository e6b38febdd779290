"""A Workload: the scheduling policy of one application, written once and never changed."""

from muster.api.keys import JobKey
from muster.api.meta import ObjectMeta, Wire
from muster.api.scheduling import SchedulingSpec


class ControllerRef(Wire):
    """Names the object that the Workload describes. A name only: it proves nothing about ownership."""

    api_group: str = ""
    kind: str
    name: str


class PodGroupTemplate(SchedulingSpec):
    name: str


class WorkloadSpec(Wire):
    controller_ref: ControllerRef | None = None
    pod_group_templates: tuple[PodGroupTemplate, ...] = ()


class Workload(Wire):
    metadata: ObjectMeta
    spec: WorkloadSpec

    @property
    def job_key(self) -> JobKey | None:
        """The Job that the Workload says it describes."""
        ref = self.spec.controller_ref
        if ref is None or ref.kind != "Job" or ref.api_group != "batch":
            return None
        return JobKey(self.metadata.namespace, ref.name)
