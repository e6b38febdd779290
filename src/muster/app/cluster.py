"""What outlives a change of the API: the client, the ports, leader election, health and metrics."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from muster.admission.server import AdmissionServer
from muster.app.leadership import agreement_of, identity, lead_of
from muster.app.modes import Serving, ServingMode
from muster.app.ports import open_ports
from muster.config.types import Settings
from muster.controllers.profile.agreement import Agreement
from muster.core import readiness
from muster.kube.credentials import Credentials
from muster.kube.http import HttpClient
from muster.runtime.background import BackgroundTasks
from muster.runtime.event_recorder import EventRecorder
from muster.runtime.health import API, Health
from muster.runtime.internal_errors import InternalErrors
from muster.runtime.leader_election import Lead
from muster.runtime.metrics import Metrics
from muster.runtime.supervisor import Supervisor


@dataclass(frozen=True, slots=True)
class Cluster:
    """What outlives a change of the API."""

    client: HttpClient
    credentials: Credentials
    settings: Settings
    health: Health
    metrics: Metrics
    errors: InternalErrors
    server: AdmissionServer
    serving: Serving
    recorder: EventRecorder
    background: BackgroundTasks
    supervisor: Supervisor
    lead: Lead
    agreement: Agreement


@asynccontextmanager
async def open_cluster(mode: ServingMode, credentials: Credentials, settings: Settings) -> AsyncIterator[Cluster]:
    """Open until the end of the process. The ports close first, and the connections to the API server last."""
    health, metrics = Health(), Metrics()
    health.announce(API, readiness.API_NOT_ASKED)
    errors, client = InternalErrors(metrics), HttpClient(credentials, metrics.count_call)
    server, supervisor = AdmissionServer(health, metrics, errors), Supervisor(health, errors)
    recorder = EventRecorder(client, identity(), metrics, errors)
    ports = open_ports(server, settings, mode, supervisor, errors)
    async with client, BackgroundTasks() as background, ports as listening:
        lead = lead_of(mode, client, settings, metrics)
        yield Cluster(
            client=client,
            credentials=credentials,
            settings=settings,
            health=health,
            metrics=metrics,
            errors=errors,
            server=server,
            serving=mode.start(client, listening, health, metrics, lead),
            recorder=recorder,
            background=background,
            supervisor=supervisor,
            lead=lead,
            agreement=agreement_of(lead, client, settings),
        )
