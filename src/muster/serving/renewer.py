"""Keeps admission served with a certificate that the API server trusts, for as long as the process lives."""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

from cryptography import x509

from muster.kube.errors import KubeError
from muster.kube.lanes import Lane, in_lane
from muster.runtime.health import CERTIFICATE, SERVING, TRUST, Health
from muster.runtime.metrics import Metrics
from muster.serving.certificates import ServingCertificate
from muster.serving.rotation import Unusable
from muster.serving.sources import Source
from muster.serving.tls import ReloadingTls
from muster.serving.trust_bundle import TrustBundle

logger = logging.getLogger(__name__)

SOON_SECONDS = 1.0
"""How soon to look again while something is wrong or about to change."""


def never() -> bool:
    return False


@dataclass(slots=True)
class CertificateRenewer:
    """Keeps the serving certificate valid, and switches to a new one once the API server trusts it.

    Reads the source of certificates and the registered CA bundle. It changes `tls` and `trust_bundle`.
    """

    source: Source
    tls: ReloadingTls
    host: str
    health: Health
    trust_bundle: TrustBundle
    registered: Callable[[], Awaitable[frozenset[x509.Certificate] | None]]
    """The authorities that the API server trusts for every webhook of ours; None while there are no webhooks."""
    ask_self: Callable[[ServingCertificate], Awaitable[str]]
    """What is wrong with an answer of our own listener, if anything."""
    every_seconds: float
    clock: Callable[[], datetime]
    uninstalled: Callable[[], bool] = never
    """From then on the Secret is not made again."""
    metrics: Metrics = field(default_factory=Metrics)
    _trusted: ServingCertificate | None = None
    """The last one that the API server was seen to trust. It is not asked again and again."""
    _trusted_since_last: ServingCertificate | None = None
    """The one that was found trusted when it was last looked for."""
    _told: str = ""

    @in_lane(Lane.CONTROL)
    async def run(self) -> None:
        while not self.uninstalled():
            settled = await self.once()
            await asyncio.sleep(self.every_seconds if settled else min(SOON_SECONDS, self.every_seconds))
        await asyncio.Event().wait()

    async def once(self) -> bool:
        """False if something is wrong, or is about to change."""
        trouble, offered = "", None
        try:
            offered = await self.source.read()
            self.trust_bundle.note(offered.authorities)
            await self._exchange(offered)
        except Unusable as error:
            trouble = str(error)
        except KubeError as error:
            trouble = f"the certificates cannot be read or written: {error}"
        served = self.tls.certificate
        if served is not None:
            self.trust_bundle.note(served.authorities)
        self._tell(trouble, served)
        answers = await self._answers(served)
        return (
            not trouble
            and answers
            and served == offered
            and self.health.is_well(CERTIFICATE)
            and self.health.is_well(TRUST)
        )

    async def _exchange(self, offered: ServingCertificate) -> None:
        """A new certificate is served once the API server trusts it, and not before, unless the old one is no good."""
        served, trusted = self.tls.certificate, await self._is_trusted(offered)
        if offered != served and (trusted or served is None or served.problem(self.host, self.clock())):
            try:
                self.tls.use(offered)
            except ssl.SSLError as error:
                raise Unusable(f"the certificate cannot be served: {error}") from error
            until = offered.chain[0].not_valid_after_utc
            self.metrics.certificate_expires.set(until.timestamp())
            logger.info("serving with a certificate that is valid until %s", f"{until:%Y-%m-%d %H:%M:%S} UTC")
        if trusted:
            self._trusted = offered

    async def _is_trusted(self, offered: ServingCertificate) -> bool:
        if self._trusted is not None and offered.authorities <= self._trusted.authorities:
            return True
        registered = await self.registered()
        if registered is None or not offered.authorities <= registered:
            self._trusted_since_last = None
            return registered is None
        # Not every API server has heard of it yet. Whoever serves nothing has nothing to lose.
        twice, self._trusted_since_last = self._trusted_since_last == offered, offered
        return twice or self.tls.certificate is None

    def _tell(self, trouble: str, served: ServingCertificate | None) -> None:
        if served is None:
            self.health.problem(CERTIFICATE, trouble or "there is no certificate to serve admission with")
        elif problem := served.problem(self.host, self.clock()):
            self.health.problem(CERTIFICATE, f"the certificate cannot be used: {problem}")
        else:
            self.health.well(CERTIFICATE)
        if served is not None and served == self._trusted:
            self.health.well(TRUST)
        else:
            self.health.problem(TRUST, "the API server does not trust the certificate yet")
        if served is not None and trouble not in {"", self._told}:
            logger.warning("admission goes on with the certificate that it has: %s", trouble)
        self._told = trouble

    async def _answers(self, served: ServingCertificate | None) -> bool:
        if served is None:
            return False
        if problem := await self.ask_self(served):
            self.health.problem(SERVING, f"admission does not answer on its own port: {problem}")
            return False
        self.health.well(SERVING)
        return True
