"""`muster run`: reads the flags, opens the doors, and ends everything in order."""

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
from muster.admission.registration import Registration
from muster.admission.server import AdmissionServer, Listening
from muster.cli.lives import Cluster, live
from muster.cli.main import Failure
from muster.config.types import Settings
from muster.kube.credentials import Credentials, NoCredentials, load_credentials
from muster.kube.http import HttpClient
from muster.runtime.events import Recorder
from muster.runtime.health import API, Health
from muster.runtime.metrics import Metrics

logger = logging.getLogger("muster")

LOOPBACK = "127.0.0.1"
EVERYWHERE = "0.0.0.0"  # noqa: S104 - in a pod, the API server comes from outside
DEFAULT_PORT = 9443
LAST_EVENTS_SECONDS = 2.0
LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


@dataclass(frozen=True, slots=True)
class Serving:
    """Where and with what admission is served."""

    dev: bool
    """On loopback, with a certificate of its own, and webhooks that live as long as the process."""
    address: str | None
    port: int | None
    certificate: Path | None
    key: Path | None


@dataclass(frozen=True, slots=True)
class Options:
    kubeconfig: Path | None
    context: str | None
    serving: Serving
    log_level: str


def run(options: Options) -> None:
    level = LEVELS.get(options.log_level.lower())
    if level is None:
        raise Failure(f"--log-level is one of {', '.join(LEVELS)}, not {options.log_level!r}")
    certificate = _certificate(options.serving)
    _log_to_stderr(level)
    try:
        credentials = load_credentials(options.kubeconfig, options.context)
    except NoCredentials as problem:
        raise Failure(str(problem)) from problem
    uvloop.run(_serve(options.serving, certificate, credentials, Settings()))


def _certificate(serving: Serving) -> ServingCertificate:
    if serving.dev:
        return self_signed(serving.address or LOOPBACK)
    if serving.certificate is None or serving.key is None:
        raise Failure("give --tls-certificate and --tls-key to serve admission with, or --dev, which makes its own")
    try:
        given = ServingCertificate(b"", serving.certificate.read_bytes(), serving.key.read_bytes())
        given.ssl_context()
    except OSError as error:  # an SSLError is one, too
        raise Failure(
            f"cannot serve with {serving.certificate} and {serving.key}: {error.strerror or error}"
        ) from error
    return given


async def _serve(
    serving: Serving, certificate: ServingCertificate, credentials: Credentials, settings: Settings
) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    health = Health()
    health.announce(API, "the API server has not been asked yet")
    metrics = Metrics()
    server = AdmissionServer(health, metrics=metrics)
    async with HttpClient(credentials) as client, _listening(server, serving, certificate) as listening:
        base_url = f"https://{serving.address or LOOPBACK}:{listening.port}"
        registration = Registration(client, base_url, certificate.authority, settings) if serving.dev else None
        recorder = Recorder(client, f"{socket.gethostname()}-{os.getpid()}", metrics)
        cluster = Cluster(client, credentials, settings, health, server, registration, recorder)
        work, posting = asyncio.create_task(live(cluster)), asyncio.create_task(recorder.run())
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait({work, posting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        # The webhooks go first: from then on nobody asks a server that is about to end.
        if registration is not None:
            await registration.remove()
        await recorder.drain(LAST_EVENTS_SECONDS)
        for task in (work, posting):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


@asynccontextmanager
async def _listening(
    server: AdmissionServer, serving: Serving, certificate: ServingCertificate
) -> AsyncIterator[Listening]:
    host = serving.address or (LOOPBACK if serving.dev else EVERYWHERE)
    port = serving.port if serving.port is not None else (0 if serving.dev else DEFAULT_PORT)
    try:
        listening = await server.start(host, port, certificate)
    except OSError as error:
        raise Failure(f"cannot serve admission on {host}:{port}: {error.strerror or error}") from error
    logger.info("admission is served on https://%s:%d", host, listening.port)
    try:
        yield listening
    finally:
        await listening.stop()


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
