"""Workload: the immutable scheduling policy of one application."""

from typing import Annotated

from muster.api.keys import JobKey
from muster.api.meta import ObjectMeta, Wire
from muster.api.schema import DNS_LABEL, DNS_SUBDOMAIN_OR_EMPTY, IMMUTABLE, PATH_SEGMENT, REQUIRED, by_key
from muster.api.v1alpha2.scheduling import SchedulingSpec


class ControllerRef(Wire):
    """Names the object that the Workload describes. It is only a name and does not prove ownership."""

    api_group: Annotated[str, DNS_SUBDOMAIN_OR_EMPTY] = ""
    """API group of the object; empty for the core group."""
    kind: Annotated[str, PATH_SEGMENT]
    """Kind of the object, such as Job."""
    name: Annotated[str, PATH_SEGMENT]
    """Name of the object, in the namespace of the Workload."""


class PodGroupTemplate(SchedulingSpec):
    """A kind of group that the application has, with the policy of its PodGroups."""

    name: Annotated[str, DNS_LABEL]
    """Identifies the template inside the Workload. A DNS label."""


class WorkloadSpec(Wire):
    """What the application needs from the scheduler."""

    controller_ref: Annotated[ControllerRef | None, IMMUTABLE] = None
    """The object that the Workload describes, such as a Job. Immutable."""
    pod_group_templates: Annotated[
        tuple[PodGroupTemplate, ...], by_key("name", minItems=1, maxItems=8), REQUIRED, IMMUTABLE
    ] = ()
    """The groups that the application consists of. At least 1, at most 8, with unique names. Immutable."""


class Workload(Wire):
    """The scheduling policy of one application: templates from which its PodGroups are created."""

    metadata: ObjectMeta
    spec: WorkloadSpec
    """What the application needs from the scheduler. Immutable."""

    @property
    def job_key(self) -> JobKey | None:
        """The Job that the Workload names in controllerRef."""
        ref = self.spec.controller_ref
        if ref is None or ref.kind != "Job" or ref.api_group != "batch":
            return None
        return JobKey(self.metadata.namespace, ref.name)
