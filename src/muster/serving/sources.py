"""Where the serving certificate comes from: a Secret that the replicas share, or files that another tool writes."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from muster.api.meta import MANAGED_BY, MANAGED_BY_LABEL
from muster.api.wire import Raw, Unreadable, mapping
from muster.core import readiness
from muster.kube.client import KubeClient, Object
from muster.kube.errors import AlreadyExists, Conflict, NotFound, Rejected
from muster.kube.resources import SECRETS
from muster.serving.certificates import ServingCertificate
from muster.serving.rotation import (
    CA_CERTIFICATE,
    CERTIFICATE,
    KEY,
    Bundle,
    Need,
    Plan,
    Unusable,
    renewal_needed,
    renewed,
)

logger = logging.getLogger(__name__)

TRIES = 5


class Source(Protocol):
    async def read(self) -> ServingCertificate:
        """The current certificate. Raises a KubeError or `Unusable`."""
        ...


@dataclass(slots=True)
class SharedSecret:
    """A Secret that the replicas share. A replica that finds none creates it, and one that finds a bad one replaces it.

    Owns the last good bundle. It reads, creates and replaces the Secret. Two replicas that write at the same time meet
    in AlreadyExists or Conflict.
    """

    client: KubeClient
    namespace: str
    name: str
    plan: Plan
    clock: Callable[[], datetime]
    known: Bundle | None = None

    async def read(self) -> ServingCertificate:
        for _ in range(TRIES):
            found = await self._find()
            data = None if found is None else _data(found)
            now = self.clock()
            judgement = renewal_needed(data, self.known, now, self.plan)
            bundle = renewed(judgement, now, self.plan)
            if judgement.need is not Need.NOTHING and not await self._write(found, bundle):
                continue  # another replica was first: read again
            if judgement.need is not Need.NOTHING:
                logger.info("wrote the Secret %s/%s, because %s", self.namespace, self.name, judgement.why)
            self.known = bundle
            return bundle.serving()
        raise Conflict(readiness.secret_keeps_changing(f"{self.namespace}/{self.name}"))

    async def _find(self) -> Object | None:
        try:
            return await self.client.get(SECRETS, self.namespace, self.name)
        except NotFound:
            return None

    async def _write(self, found: Object | None, bundle: Bundle) -> bool:
        try:
            if found is None:
                await self._create(bundle)
            else:
                kept = {**found, "data": bundle.data()}  # the type of a Secret is immutable
                await self.client.replace(SECRETS, self.namespace, self.name, kept)
        except (AlreadyExists, Conflict, NotFound):
            return False
        return True

    async def _create(self, bundle: Bundle) -> None:
        try:
            await self.client.create(SECRETS, self.namespace, self._manifest(bundle))
        except NotFound as error:
            raise Rejected(readiness.namespace_missing(self.namespace)) from error

    def _manifest(self, bundle: Bundle) -> Object:
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": self.name,
                "namespace": self.namespace,
                "labels": {MANAGED_BY_LABEL: MANAGED_BY},
            },
            "type": "Opaque",
            "data": bundle.data(),
        }


def _data(secret: Object) -> Raw:
    """The data of the Secret; empty if it is malformed."""
    try:
        return mapping(secret, "data")
    except Unreadable:
        return {}


@dataclass(frozen=True, slots=True)
class Files:
    """A directory that another tool writes, such as the mounted Secret of cert-manager."""

    directory: Path
    host: str
    clock: Callable[[], datetime]

    async def read(self) -> ServingCertificate:
        return await asyncio.to_thread(self._read)

    def _read(self) -> ServingCertificate:
        try:
            authority, certificate, key = (
                (self.directory / name).read_bytes() for name in (CA_CERTIFICATE, CERTIFICATE, KEY)
            )
            given = ServingCertificate(authority, certificate, key)
            given.ssl_context()
            problem = given.problem(self.host, self.clock())
        except OSError as error:  # an SSLError is an OSError, too
            place = error.filename or self.directory
            raise Unusable(readiness.certificate_files_unusable(str(place), error.strerror or str(error))) from error
        except Exception as error:  # invalid data raises many kinds of errors
            raise Unusable(readiness.certificate_files_unreadable(str(self.directory))) from error
        if problem:
            raise Unusable(readiness.certificate_in_directory_unusable(str(self.directory), problem))
        return given
