"""`muster run`: wires the parts together, starts them, and ends them in order."""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import uvloop

from muster.admission.certificates import ServingCertificate, self_signed
from muster.admission.gate import PodGate
from muster.admission.guard import ParallelismGuard
from muster.admission.registration import Registration
from muster.admission.server import AdmissionServer, Listening
from muster.api.dialect import NATIVE
from muster.api.keys import JobKey
from muster.cli.main import Failure
from muster.config.types import Settings
from muster.core.decide import Rules
from muster.core.eligibility import Policy
from muster.kube.credentials import Credentials, NoCredentials, load_credentials
from muster.kube.errors import KubeError
from muster.kube.http import HttpClient
from muster.runtime.cache import Cache
from muster.runtime.checking import Resync, keep_probing
from muster.runtime.events import Recorder
from muster.runtime.executor import Executor
from muster.runtime.formation import Formation
from muster.runtime.health import ADMISSION, API, WATCHING, Health
from muster.runtime.observer import Observer
from muster.runtime.queue import WorkQueue
from muster.runtime.reconciler import Reconciler

logger = logging.getLogger("muster")

LOOPBACK = "127.0.0.1"
EVERYWHERE = "0.0.0.0"  # noqa: S104 - in a pod, the API server comes from outside
DEFAULT_PORT = 9443
LAST_EVENTS_SECONDS = 2.0
REGISTER_AGAIN_SECONDS = 2.0
LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


@dataclass(frozen=True, slots=True)
class Options:
    kubeconfig: Path | None
    context: str | None
    dev: bool
    port: int | None
    log_level: str


def run(options: Options) -> None:
    level = LEVELS.get(options.log_level.lower())
    if level is None:
        raise Failure(f"--log-level is one of {', '.join(LEVELS)}, not {options.log_level!r}")
    if not options.dev:
        raise Failure("serving in a cluster needs a certificate that is shared by all replicas; for now use --dev")
    _log_to_stderr(level)
    try:
        credentials = load_credentials(options.kubeconfig, options.context)
    except NoCredentials as problem:
        raise Failure(str(problem)) from problem
    uvloop.run(_serve(options, credentials, Settings()))


async def _serve(options: Options, credentials: Credentials, settings: Settings) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with HttpClient(credentials) as client:
        parts = build(client, settings)
        certificate = self_signed(LOOPBACK)
        async with _listening(parts, options, certificate) as listening:
            registration = Registration(client)
            base_url = f"https://{LOOPBACK}:{listening.port}"
            work = asyncio.create_task(_work(parts, credentials, settings))
            register = asyncio.create_task(
                _register(registration, parts.health, base_url, certificate.authority, settings)
            )
            stopping = asyncio.create_task(stop.wait())
            await asyncio.wait({work, stopping}, return_when=asyncio.FIRST_COMPLETED)
            register.cancel()
            with suppress(asyncio.CancelledError):
                await register
            # The webhooks go first: from then on nobody asks a server that is about to end.
            await registration.remove()
            await parts.recorder.drain(LAST_EVENTS_SECONDS)
            work.cancel()
            with suppress(asyncio.CancelledError):
                await work


@dataclass(frozen=True, slots=True)
class Parts:
    health: Health
    cache: Cache
    queue: WorkQueue[JobKey]
    observer: Observer
    recorder: Recorder
    reconciler: Reconciler
    server: AdmissionServer
    resync: Resync


def build(client: HttpClient, settings: Settings) -> Parts:
    rules = Rules(NATIVE, Policy(settings.excluded_namespaces, settings.scheduler_names))
    health, cache, queue = Health(), Cache(), WorkQueue[JobKey]()
    health.announce(API, "the API server has not been asked yet")
    health.announce(WATCHING, "watching has not started yet")
    health.announce(ADMISSION, "the webhooks are not registered yet")
    observer = Observer(client, rules.dialect, cache)
    recorder = Recorder(client, f"{socket.gethostname()}-{os.getpid()}")
    formation = Formation(observer, Executor(observer), rules, recorder, health)
    server = AdmissionServer(PodGate(formation), ParallelismGuard(observer, rules), rules.dialect, health)
    reconciler = Reconciler(cache, queue, formation, rules)
    return Parts(
        health,
        cache,
        queue,
        observer,
        recorder,
        reconciler,
        server,
        Resync(observer, queue, rules, settings.resync_seconds),
    )


async def _work(parts: Parts, credentials: Credentials, settings: Settings) -> None:
    from muster.watching.handlers import Inbox
    from muster.watching.supervisor import Supervisor

    inbox = Inbox(parts.cache, parts.queue, parts.reconciler.formation)
    supervisor = Supervisor(inbox, parts.observer.dialect, credentials, parts.resync, parts.health)
    async with asyncio.TaskGroup() as group:
        group.create_task(parts.recorder.run())
        group.create_task(parts.reconciler.run(settings.workers))
        group.create_task(keep_probing(parts.observer, parts.health, settings.probe_seconds))
        group.create_task(parts.resync.run(parts.health))
        group.create_task(supervisor.run())


@asynccontextmanager
async def _listening(parts: Parts, options: Options, certificate: ServingCertificate) -> AsyncIterator[Listening]:
    host = LOOPBACK if options.dev else EVERYWHERE
    port = options.port if options.port is not None else (0 if options.dev else DEFAULT_PORT)
    try:
        listening = await parts.server.start(host, port, certificate)
    except OSError as error:
        raise Failure(f"cannot serve admission on {host}:{port}: {error.strerror or error}") from error
    logger.info("admission is served on https://%s:%d", host, listening.port)
    try:
        yield listening
    finally:
        await listening.stop()


async def _register(
    registration: Registration, health: Health, base_url: str, authority: bytes, settings: Settings
) -> None:
    """Once Muster can do its work, and not before: until then pods pass as if it were not there."""
    await health.wait_until_well(API, WATCHING)
    while True:
        try:
            await registration.register(base_url, authority, settings)
        except KubeError as error:
            health.problem(ADMISSION, f"the webhooks cannot be registered: {error}")
            await asyncio.sleep(REGISTER_AGAIN_SECONDS)
        else:
            health.well(ADMISSION)
            return


def _log_to_stderr(level: int) -> None:
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    # kopf tells of every call of every handler, which at ten thousand Jobs is a megabyte a minute.
    logging.getLogger("kopf").setLevel(max(level, logging.WARNING))
    logging.getLogger("kopf._core.reactor.running").setLevel(logging.ERROR)  # signals are ours, and it warns of that
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)
    for handler in logging.getLogger().handlers:
        handler.addFilter(_in_one_line)


def _in_one_line(record: logging.LogRecord) -> bool:
    """kopf's end is no surprise: it is told with its reason and started again. Its traces would only look like one."""
    if record.name.startswith("kopf"):
        record.exc_info = None
    return True
