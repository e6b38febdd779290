"""A PodGroup: one running instance of a Workload's template, with the scheduler's verdict on it."""

from muster.api.meta import ObjectMeta, Wire
from muster.api.scheduling import GangPolicy, SchedulingSpec


class WorkloadTemplateRef(Wire):
    workload_name: str
    pod_group_template_name: str


class PodGroupTemplateRef(Wire):
    workload: WorkloadTemplateRef | None = None


class PodGroupSpec(SchedulingSpec):
    pod_group_template_ref: PodGroupTemplateRef | None = None


class Condition(Wire):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    observed_generation: int | None = None


class PodGroupStatus(Wire):
    conditions: tuple[Condition, ...] = ()


class PodGroup(Wire):
    metadata: ObjectMeta
    spec: PodGroupSpec
    status: PodGroupStatus | None = None

    @property
    def workload_name(self) -> str:
        """Name of the Workload that it was made from; empty for a free-standing group."""
        ref = self.spec.pod_group_template_ref
        return ref.workload.workload_name if ref and ref.workload else ""

    @property
    def gang(self) -> GangPolicy | None:
        return self.spec.scheduling_policy.gang

    @property
    def scheduled(self) -> Condition | None:
        conditions = self.status.conditions if self.status else ()
        return next((c for c in conditions if c.type == "PodGroupScheduled"), None)
