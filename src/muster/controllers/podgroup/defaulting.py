"""Completes new PodGroups of the CRD profiles: reads what `core.podgroup_rules` has to know, and asks it."""

from dataclasses import dataclass

from muster.api.v1alpha2.podgroup import PodGroup
from muster.api.wire import flag, integer, mapping, text
from muster.controllers.job.observer import Observer
from muster.core.podgroup_rules import Completed, PriorityClass, Refused, check_template, resolve_priority
from muster.kube.client import every_item
from muster.kube.errors import NotFound
from muster.kube.resources import PRIORITY_CLASSES


@dataclass(slots=True)
class PodGroupDefaulting:
    observer: Observer

    async def review(self, group: PodGroup) -> Completed | Refused:
        ref = group.spec.pod_group_template_ref
        workload = None
        if ref is not None and ref.workload is not None:
            workload = await self.observer.workload(group.metadata.namespace, ref.workload.workload_name)
        if (refused := check_template(group, workload)) is not None:
            return refused
        classes = await self._priority_classes()
        if classes is None:  # a server without PriorityClass has no priorities to resolve
            return Completed(group.spec.priority_class_name or "", group.spec.priority)
        return resolve_priority(group, classes)

    async def _priority_classes(self) -> list[PriorityClass] | None:
        try:
            found = [raw async for raw in every_item(self.observer.client, PRIORITY_CLASSES)]
        except NotFound:
            return None
        return [
            PriorityClass(
                text(mapping(raw, "metadata"), "name"), integer(raw, "value") or 0, flag(raw, "globalDefault")
            )
            for raw in found
        ]
