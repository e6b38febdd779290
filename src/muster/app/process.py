"""The process of `muster run`: opens the doors, starts the long-lived tasks, and ends everything in order."""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from muster.admission.server import AdmissionServer
from muster.app.failure import Failure
from muster.app.generation import run_generations
from muster.app.modes import InCluster, ServingMode
from muster.app.wiring import Cluster
from muster.config.types import Settings
from muster.controllers.profile.agreement import Agreement, LeaseAgreement, OwnAgreement
from muster.core.election import Terms
from muster.kube.client import KubeClient
from muster.kube.credentials import Credentials
from muster.kube.errors import plain_text
from muster.kube.http import HttpClient
from muster.runtime.background import BackgroundTasks
from muster.runtime.event_recorder import EventRecorder
from muster.runtime.health import API, STAYING, Health
from muster.runtime.internal_errors import InternalErrors
from muster.runtime.leader_election import Alone, Lead, Leadership
from muster.runtime.metrics import Metrics
from muster.runtime.supervisor import Supervisor, Work
from muster.runtime.tasks import Task
from muster.serving.connections import Limits
from muster.serving.listener import Listening, Port, listen

logger = logging.getLogger("muster")

LAST_EVENTS_SECONDS = 2.0
LAST_TASKS_SECONDS = 5.0
FEW = Limits(connections=64)
"""Kubelets and Prometheus are few, and file descriptors are for admission and the API server."""


async def serve(mode: ServingMode, credentials: Credentials, settings: Settings) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    health = Health()
    health.announce(API, "the API server has not been asked yet")
    metrics = Metrics()
    server = AdmissionServer(health, metrics=metrics)
    client = HttpClient(credentials, metrics.count_call)
    recorder = EventRecorder(client, identity(), metrics)
    supervisor = Supervisor(health, recorder.errors)
    async with client, BackgroundTasks() as background, _listening(server, settings, mode, supervisor) as listening:
        lead = _lead(mode, client, settings, metrics)
        mode.begin(client, listening, health, metrics, lead)
        asyncio.get_running_loop().set_exception_handler(partial(_on_loop_error, recorder.errors))
        work = recorder, background, supervisor, lead, _agreement(lead, client, settings)
        cluster = Cluster(client, credentials, settings, health, server, mode.webhooks, *work)
        works: dict[Task, Work] = {
            Task.GENERATION: partial(run_generations, cluster),
            Task.EVENTS: recorder.run,
            Task.CERTIFICATES: mode.run,
            Task.LEADER_ELECTION: lead.run,
        }
        tasks = [asyncio.create_task(supervisor.run(task, work), name=task.value) for task, work in works.items()]
        await stop.wait()
        # Another can lead at once, while this one still answers.
        releasing = asyncio.create_task(_last("release the Lease", lead.release(), recorder.errors))
        await _drain(health, settings.serving.drain_seconds)
        await releasing
        await _last("leave the webhooks in order", mode.end(), recorder.errors)
        await recorder.drain(LAST_EVENTS_SECONDS)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=LAST_TASKS_SECONDS)


def _on_loop_error(errors: InternalErrors, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What no task waits for. A connection that breaks while it closes is no bug, though uvloop calls it fatal."""
    error, message = context.get("exception"), plain_text(str(context.get("message")))
    if isinstance(error, Exception) and not {"transport", "protocol"} & context.keys():
        errors.note(Task.EVENT_LOOP, message, error)
    else:
        logger.debug("in the event loop: %s: %s", message, plain_text(str(error)))


async def _last(what: str, step: Awaitable[None], errors: InternalErrors) -> None:
    """One step of the shutdown. If it fails, the next ones are made all the same."""
    try:
        await step
    except Exception as error:  # noqa: BLE001
        errors.note(Task.SHUTDOWN, what, error)


def _lead(mode: ServingMode, client: KubeClient, settings: Settings, metrics: Metrics) -> Lead:
    """Only where there are others: a developer's Muster is alone, and one with a given certificate knows of none."""
    chosen = settings.leadership
    if not isinstance(mode, InCluster) or not chosen.enabled:
        metrics.leader.set(1)
        return Alone()
    terms = Terms(identity(), chosen.duration_seconds, chosen.renew_seconds)
    return Leadership(client, settings.service.namespace, chosen.lease_name, terms, metrics)


def _agreement(lead: Lead, client: KubeClient, settings: Settings) -> Agreement:
    if isinstance(lead, Alone):
        return OwnAgreement()
    return LeaseAgreement(client, settings.service.namespace, settings.leadership.lease_name)


def identity() -> str:
    """Who this replica is among the others."""
    return os.environ.get("POD_NAME") or f"{socket.gethostname()}-{os.getpid()}"


async def _drain(health: Health, seconds: float) -> None:
    """Not ready any more, and answering still: it takes a while until nobody is sent here."""
    health.announce(STAYING, "Muster is shutting down")
    logger.info("shutting down; admission is answered for %g s more", seconds)
    await asyncio.sleep(seconds)


@asynccontextmanager
async def _listening(
    server: AdmissionServer, settings: Settings, mode: ServingMode, supervisor: Supervisor
) -> AsyncIterator[Listening]:
    """Admission, and health beside it. Health comes first and goes last: somebody may want to know why."""
    host, number, health = settings.serving.address, settings.serving.port, settings.serving.health_port
    open_doors: list[Listening] = []
    try:
        if health:
            port = Port(Task.HEALTH_PORT, server.health_application(), host, health, limits=FEW)
            open_doors.append(await _open(port, supervisor))
        port = Port(Task.ADMISSION_PORT, server.application(), host, number, mode.tls.context)
        open_doors.append(await _open(port, supervisor))
        yield open_doors[-1]
    finally:
        for each in reversed(open_doors):
            await each.stop()


async def _open(port: Port, supervisor: Supervisor) -> Listening:
    what, scheme = port.task.removesuffix("-port"), "https" if port.context else "http"
    try:
        listening = await listen(port, supervisor)
    except OSError as error:
        raise Failure(f"cannot serve {what} on {port.host}:{port.number}: {error.strerror or error}") from error
    logger.info("%s is served on %s://%s:%d", what, scheme, port.host, listening.port)
    return listening
