"""Where the serving certificate comes from: a Secret that the replicas share, or files that somebody else keeps."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from muster.api.meta import MANAGED_BY, MANAGED_BY_LABEL
from muster.api.wire import Raw, Unreadable, mapping
from muster.kube.client import KubeClient, Object
from muster.kube.errors import AlreadyExists, Conflict, NotFound, Rejected
from muster.kube.resources import SECRETS
from muster.serving.certificates import ServingCertificate
from muster.serving.rotation import CA_CERTIFICATE, CERTIFICATE, KEY, Bundle, Need, Plan, Unusable, decide, renewed

logger = logging.getLogger(__name__)

TRIES = 5


class Source(Protocol):
    async def read(self) -> ServingCertificate:
        """The certificate as it is now. Raises a KubeError or Unusable."""
        ...


@dataclass(slots=True)
class SharedSecret:
    """Whoever finds none makes it; whoever finds a bad one replaces it. They meet in AlreadyExists and Conflict."""

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
            judgement = decide(data, self.known, now, self.plan)
            bundle = renewed(judgement, now, self.plan)
            if judgement.need is not Need.NOTHING and not await self._write(found, bundle):
                continue  # somebody else was first: look what they made
            if judgement.need is not Need.NOTHING:
                logger.info("wrote the Secret %s/%s anew: %s", self.namespace, self.name, judgement.why)
            self.known = bundle
            return bundle.serving()
        raise Conflict(f"the Secret {self.namespace}/{self.name} keeps changing under us")

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
                kept = {**found, "data": bundle.data()}  # its type cannot change
                await self.client.replace(SECRETS, self.namespace, self.name, kept)
        except (AlreadyExists, Conflict, NotFound):
            return False
        return True

    async def _create(self, bundle: Bundle) -> None:
        try:
            await self.client.create(SECRETS, self.namespace, self._manifest(bundle))
        except NotFound as error:
            raise Rejected(f"namespace {self.namespace} does not exist: create it") from error

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
    """What is in it; nothing, if that is no data of a Secret."""
    try:
        return mapping(secret, "data")
    except Unreadable:
        return {}


@dataclass(frozen=True, slots=True)
class Files:
    """A directory that somebody else keeps, as a mounted Secret of cert-manager is."""

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
        except OSError as error:  # an SSLError is one, too
            place = error.filename or self.directory
            raise Unusable(f"{place} cannot be used: {error.strerror or error}") from error
        except Exception as error:  # each kind of garbage has its own error
            raise Unusable(f"the certificates in {self.directory} cannot be read") from error
        if problem:
            raise Unusable(f"the certificate in {self.directory} cannot be used: {problem}")
        return given
