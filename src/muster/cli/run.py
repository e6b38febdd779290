"""`muster run`: reads the flags and the settings, opens the doors, and ends everything in order."""

import asyncio
import gc
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import uvloop

from muster.admission.connections import Limits
from muster.admission.door import ClientCA
from muster.admission.listening import Listening, Port, listen
from muster.admission.server import AdmissionServer
from muster.cli.config import read_settings
from muster.cli.lives import Cluster, live
from muster.cli.logs import log_to_stderr
from muster.cli.main import Failure, Misuse
from muster.cli.roles import Dev, Given, Installed, Role
from muster.config.types import Settings
from muster.core.election import Terms
from muster.kube.client import KubeClient
from muster.kube.credentials import Credentials, NoCredentials, load_credentials
from muster.kube.errors import plain_text
from muster.kube.http import HttpClient
from muster.runtime.agreement import Agreement, LeaseAgreement, OwnAgreement
from muster.runtime.errands import Errands
from muster.runtime.events import Recorder
from muster.runtime.health import API, STAYING, Health
from muster.runtime.internal_errors import InternalErrors
from muster.runtime.leadership import Alone, Lead, Leadership
from muster.runtime.metrics import Metrics
from muster.runtime.supervisor import Supervisor, Work
from muster.runtime.tasks import Task

logger = logging.getLogger("muster")

LOOPBACK = "127.0.0.1"
LAST_EVENTS_SECONDS = 2.0
LAST_TASKS_SECONDS = 5.0
FEW = Limits(connections=64)
"""Kubelets and Prometheus are few, and file descriptors are for admission and the API server."""
LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True, slots=True)
class Serving:
    """Where and with what admission is served, as far as flags say so."""

    dev: bool
    """On loopback, with a certificate of its own, and webhooks that live as long as the process."""
    address: str | None
    port: int | None
    certificate: Path | None
    key: Path | None


@dataclass(frozen=True, slots=True)
class Options:
    config: Path | None
    kubeconfig: Path | None
    context: str | None
    serving: Serving
    log_level: str | None


def run(options: Options) -> None:
    settings = _settings(options)
    role = _role(options.serving, settings)
    log_to_stderr(settings.logging)
    try:
        credentials = load_credentials(options.kubeconfig, options.context)
    except NoCredentials as problem:
        raise Failure(str(problem)) from problem
    _import_all()
    uvloop.run(_serve(role, credentials, settings))


def _import_all() -> None:
    """Before the loop runs: kopf takes a tenth of a second. And no collection of garbage looks at modules again.

    A full collection with them blocked the loop for 62 to 88 ms, whenever it came.
    """
    import muster.watching.thread  # noqa: F401

    gc.collect()
    gc.freeze()


def _settings(options: Options) -> Settings:
    """The file's, and what flags and the way to run say on top."""
    level = options.log_level.lower() if options.log_level is not None else None
    if level is not None and level not in LEVELS:
        raise Misuse(f"--log-level is one of {', '.join(LEVELS)}, not {options.log_level!r}")
    settings, serving = read_settings(options.config), options.serving
    changes: dict[str, object] = {}
    if serving.dev:
        changes = {"address": LOOPBACK, "port": 0, "health_port": 0, "drain_seconds": 0.0}
    elif serving.certificate is not None and options.config is None:
        changes = {"health_port": 0}
    changes |= {
        name: value for name, value in (("address", serving.address), ("port", serving.port)) if value is not None
    }
    return settings.model_copy(
        update={
            "serving": settings.serving.model_copy(update=changes),
            "logging": settings.logging.model_copy(update={"level": level} if level else {}),
        }
    )


def _role(serving: Serving, settings: Settings) -> Role:
    client_ca = _client_ca(settings.serving.client_ca)
    if serving.dev:
        return Dev(settings, client_ca)
    if serving.certificate is None and serving.key is None:
        return Installed(settings, client_ca)
    if serving.certificate is None or serving.key is None:
        raise Misuse("--tls-certificate and --tls-key belong together")
    return Given.read(serving.certificate, serving.key, client_ca)


def _client_ca(file: str) -> ClientCA | None:
    try:
        return ClientCA(Path(file)) if file else None
    except OSError as error:  # an SSLError is one, too
        raise Failure(f"cannot use {file} as serving.clientCA: {error.strerror or error}") from error


async def _serve(role: Role, credentials: Credentials, settings: Settings) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    health = Health()
    health.announce(API, "the API server has not been asked yet")
    metrics = Metrics()
    server = AdmissionServer(health, metrics=metrics)
    client = HttpClient(credentials, metrics.count_call)
    recorder = Recorder(client, identity(), metrics)
    supervisor = Supervisor(health, recorder.errors)
    async with client, Errands() as errands, _listening(server, settings, role, supervisor) as listening:
        role.begin(client, listening, health, metrics)
        lead = _lead(role, client, settings, metrics)
        asyncio.get_running_loop().set_exception_handler(partial(_on_loop_error, recorder.errors))
        work = recorder, errands, supervisor, lead, _agreement(lead, client, settings)
        cluster = Cluster(client, credentials, settings, health, server, role.registration, *work)
        works: dict[Task, Work] = {
            Task.GENERATION: partial(live, cluster),
            Task.EVENTS: recorder.run,
            Task.CERTIFICATES: role.run,
            Task.LEADER_ELECTION: lead.run,
        }
        tasks = [asyncio.create_task(supervisor.run(task, work), name=task.value) for task, work in works.items()]
        await stop.wait()
        # Another can lead at once, while this one still answers.
        releasing = asyncio.create_task(_last("release the Lease", lead.release(), recorder.errors))
        await _drain(health, settings.serving.drain_seconds)
        await releasing
        await _last("leave the webhooks in order", role.end(), recorder.errors)
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


def _lead(role: Role, client: KubeClient, settings: Settings, metrics: Metrics) -> Lead:
    """Only where there are others: a developer's Muster is alone, and one with a given certificate knows of none."""
    chosen = settings.leadership
    if not isinstance(role, Installed) or not chosen.enabled:
        metrics.leader.set(1)
        return Alone()
    terms = Terms(identity(), chosen.duration_seconds, chosen.renew_seconds)
    lead = Leadership(client, settings.service.namespace, chosen.lease_name, terms, metrics)
    role.heed(lead)
    return lead


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
    server: AdmissionServer, settings: Settings, role: Role, supervisor: Supervisor
) -> AsyncIterator[Listening]:
    """Admission, and health beside it. Health comes first and goes last: somebody may want to know why."""
    host, number, health = settings.serving.address, settings.serving.port, settings.serving.health_port
    open_doors: list[Listening] = []
    try:
        if health:
            port = Port(Task.HEALTH_PORT, server.health_application(), host, health, limits=FEW)
            open_doors.append(await _open(port, supervisor))
        port = Port(Task.ADMISSION_PORT, server.application(), host, number, role.door.context)
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
