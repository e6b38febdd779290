"""Which pods belong to which PodGroup, where pods say so by annotation. Kept by a reflector."""

import logging
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from muster.api.pod import PodView
from muster.api.wire import Unreadable, mapping, text
from muster.kube.client import Object
from muster.runtime.internal_errors import InternalErrors, name_of
from muster.runtime.metrics import Metrics
from muster.runtime.tasks import Task

logger = logging.getLogger(__name__)

Place = tuple[str, str]
"""Namespace and name: of a pod, or of a PodGroup."""


@dataclass(slots=True)
class Members:
    on_change: Callable[[Place], None]
    """Told the PodGroup whose members changed."""
    errors: InternalErrors = field(default_factory=lambda: InternalErrors(Metrics()))
    complete: bool = False
    """Everything was listed and the stream is up: who is not here does not exist."""
    _pods: dict[Place, PodView] = field(default_factory=dict)
    _groups: defaultdict[Place, set[Place]] = field(default_factory=lambda: defaultdict(set))

    def of(self, group: Place) -> list[PodView]:
        return [self._pods[place] for place in self._groups.get(group, ())]

    def read(self, item: Object) -> PodView | None:
        try:
            return PodView.parse(item)
        except Unreadable as error:
            logger.warning("passed over a pod that cannot be read: %s", error)
        except Exception as error:  # noqa: BLE001 - a bug that one pod meets must not hide all the others
            self.errors.note(Task.POD_REFLECTOR, name_of(item), error)
        return None

    def replaced(self, views: list[PodView]) -> None:
        listed = {(pod.namespace, pod.name) for pod in views}
        for place in [place for place in self._pods if place not in listed]:
            self._drop(place)
        for pod in views:
            self.changed(pod)
        self.complete = True

    def changed(self, pod: PodView) -> None:
        try:
            self._put(pod)
        except Exception as error:  # noqa: BLE001 - likewise
            self.errors.note(Task.POD_REFLECTOR, f"{pod.namespace}/{pod.name}", error)

    def _put(self, pod: PodView) -> None:
        place = (pod.namespace, pod.name)
        if self._pods.get(place) == pod:
            return
        self._drop(place)
        if pod.annotated_group:
            group = (pod.namespace, pod.annotated_group)
            self._pods[place] = pod
            self._groups[group].add(place)
            self.on_change(group)

    def deleted(self, item: Object) -> None:
        with suppress(Unreadable):
            metadata = mapping(item, "metadata")
            self._drop((text(metadata, "namespace"), text(metadata, "name")))

    def lost(self) -> None:
        self.complete = False

    def _drop(self, place: Place) -> None:
        pod = self._pods.pop(place, None)
        if pod is None:
            return
        group = (pod.namespace, pod.annotated_group)
        self._groups[group].discard(place)
        if not self._groups[group]:
            del self._groups[group]
        self.on_change(group)
