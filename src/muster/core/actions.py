"""The writes that a decision may ask for."""

from dataclasses import dataclass

from muster.api.v1alpha2.podgroup import PodGroup
from muster.api.v1alpha2.workload import Workload
from muster.core.suspension import DeleteObject


@dataclass(frozen=True, slots=True)
class CreateWorkload:
    workload: Workload

    @property
    def name(self) -> str:
        return self.workload.metadata.name


@dataclass(frozen=True, slots=True)
class CreatePodGroup:
    pod_group: PodGroup

    @property
    def name(self) -> str:
        return self.pod_group.metadata.name


Action = CreateWorkload | CreatePodGroup | DeleteObject
