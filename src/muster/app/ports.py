"""The ports of `muster run`: admission and health."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from muster.admission.server import AdmissionServer
from muster.app.failure import Failure
from muster.app.modes import ServingMode
from muster.config.types import Settings
from muster.runtime.internal_errors import InternalErrors
from muster.runtime.supervisor import Supervisor
from muster.runtime.tasks import Task
from muster.serving.connections import Limits
from muster.serving.listener import Listening, Port, listen

logger = logging.getLogger("muster")

FEW = Limits(connections=64)
"""Kubelets and Prometheus are few, and file descriptors are for admission and the API server."""


@asynccontextmanager
async def open_ports(
    server: AdmissionServer, settings: Settings, mode: ServingMode, supervisor: Supervisor, errors: InternalErrors
) -> AsyncIterator[Listening]:
    """The admission port. The health port opens before it and closes after it, so that /readyz can report why admission
    fails."""
    host, number, health = settings.serving.address, settings.serving.port, settings.serving.health_port
    opened: list[Listening] = []
    try:
        if health:
            port = Port(Task.HEALTH_PORT, server.health_application(), host, health, limits=FEW)
            opened.append(await _open(port, supervisor, errors))
        port = Port(Task.ADMISSION_PORT, server.application(), host, number, mode.tls.context)
        opened.append(await _open(port, supervisor, errors))
        yield opened[-1]
    finally:
        for each in reversed(opened):
            await each.stop()


async def _open(port: Port, supervisor: Supervisor, errors: InternalErrors) -> Listening:
    what, scheme = port.task.removesuffix("-port"), "https" if port.context else "http"
    try:
        listening = await listen(port, supervisor, errors)
    except OSError as error:
        raise Failure(f"cannot serve {what} on {port.host}:{port.number}: {error.strerror or error}") from error
    logger.info("%s is served on %s://%s:%d", what, scheme, port.host, listening.port)
    return listening
