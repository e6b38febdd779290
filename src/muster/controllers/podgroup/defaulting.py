"""Defaults new PodGroups of the CRD profiles: reads the PriorityClasses and applies `core.podgroup_rules`."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from muster.api.v1alpha2.podgroup import PodGroup
from muster.api.v1alpha2.workload import Workload
from muster.api.wire import flag, integer, mapping, text
from muster.core.podgroup_rules import Completed, PriorityClass, Refused, check_template, resolve_priority
from muster.kube.client import KubeClient, every_item
from muster.kube.errors import NotFound
from muster.kube.resources import PRIORITY_CLASSES


@dataclass(slots=True)
class PodGroupDefaulting:
    """Owns nothing. It reads the PodGroup's Workload and the PriorityClasses, and writes nothing."""

    client: KubeClient
    read_workload: Callable[[str, str], Awaitable[Workload | None]]
    """Reads a Workload from the API server, by namespace and name; None if there is none."""

    async def review(self, group: PodGroup) -> Completed | Refused:
        ref = group.spec.pod_group_template_ref
        workload = None
        if ref is not None and ref.workload is not None:
            workload = await self.read_workload(group.metadata.namespace, ref.workload.workload_name)
        if (refused := check_template(group, workload)) is not None:
            return refused
        classes = await self._priority_classes()
        if classes is None:  # without the PriorityClass API there are no priorities to resolve
            return Completed(group.spec.priority_class_name or "", group.spec.priority)
        return resolve_priority(group, classes)

    async def _priority_classes(self) -> list[PriorityClass] | None:
        try:
            found = [raw async for raw in every_item(self.client, PRIORITY_CLASSES)]
        except NotFound:
            return None
        return [
            PriorityClass(
                text(mapping(raw, "metadata"), "name"), integer(raw, "value") or 0, flag(raw, "globalDefault")
            )
            for raw in found
        ]
