"""Parts of the machinery with metrics of their own."""

from typing import Any

from muster.admission.server import AdmissionServer, WebhookHandlers
from muster.kube.client import KubeClient
from muster.runtime.event_recorder import EventRecorder
from muster.runtime.health import Health
from muster.runtime.internal_errors import InternalErrors
from muster.runtime.metrics import Metrics


def a_recorder(client: KubeClient, instance: str = "test", **further: Any) -> EventRecorder:
    metrics = Metrics()
    return EventRecorder(client, instance, metrics, InternalErrors(metrics), **further)


def a_server(health: Health | None = None, handlers: WebhookHandlers | None = None) -> AdmissionServer:
    metrics = Metrics()
    return AdmissionServer(health or Health(), metrics, InternalErrors(metrics), handlers)
