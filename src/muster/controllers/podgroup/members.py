"""The members of each PodGroup, where pods name their PodGroup in an annotation. A reflector fills the index."""

import logging
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from muster.api.keys import ObjectKey
from muster.api.pod import PodView
from muster.api.wire import Unreadable, mapping, text
from muster.kube.client import Object
from muster.runtime.internal_errors import InternalErrors, name_of
from muster.runtime.tasks import Task

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Members:
    """The pods of each PodGroup, from the pod reflector.

    Owns the index. The reflector writes it; the PodGroup protection and the gang status read it. It sends no request.
    """

    on_change: Callable[[ObjectKey], None]
    """Called with the key of each PodGroup whose members change."""
    errors: InternalErrors
    has_synced: bool = False
    """Everything was listed and the stream is up: a pod that is missing here does not exist."""
    _pods: dict[ObjectKey, PodView] = field(default_factory=dict)
    _groups: defaultdict[ObjectKey, set[ObjectKey]] = field(default_factory=lambda: defaultdict(set))

    def of(self, group: ObjectKey) -> list[PodView]:
        return [self._pods[key] for key in self._groups.get(group, ())]

    def read(self, item: Object) -> PodView | None:
        try:
            return PodView.parse(item)
        except Unreadable as error:
            logger.warning("skipped a pod that cannot be read: %s", error)
        except Exception as error:  # noqa: BLE001 - a bug on one pod must not hide all others
            self.errors.note(Task.POD_REFLECTOR, name_of(item), error)
        return None

    def replaced(self, views: list[PodView]) -> None:
        listed = {(pod.namespace, pod.name) for pod in views}
        for key in [key for key in self._pods if key not in listed]:
            self._drop(key)
        for pod in views:
            self.changed(pod)
        self.has_synced = True

    def changed(self, pod: PodView) -> None:
        try:
            self._put(pod)
        except Exception as error:  # noqa: BLE001 - as above
            self.errors.note(Task.POD_REFLECTOR, f"{pod.namespace}/{pod.name}", error)

    def _put(self, pod: PodView) -> None:
        key = (pod.namespace, pod.name)
        if self._pods.get(key) == pod:
            return
        self._drop(key)
        if pod.annotated_group:
            group = (pod.namespace, pod.annotated_group)
            self._pods[key] = pod
            self._groups[group].add(key)
            self.on_change(group)

    def deleted(self, item: Object) -> None:
        with suppress(Unreadable):
            metadata = mapping(item, "metadata")
            self._drop((text(metadata, "namespace"), text(metadata, "name")))

    def lost(self) -> None:
        self.has_synced = False

    def _drop(self, key: ObjectKey) -> None:
        pod = self._pods.pop(key, None)
        if pod is None:
            return
        group = (pod.namespace, pod.annotated_group)
        self._groups[group].discard(key)
        if not self._groups[group]:
            del self._groups[group]
        self.on_change(group)
