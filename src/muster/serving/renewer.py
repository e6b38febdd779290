"""Keeps admission served with a valid certificate that the API server trusts."""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from cryptography import x509

from muster.core import readiness
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
"""The interval while something is wrong or about to change."""


@dataclass(slots=True)
class CertificateRenewer:
    """Renews the serving certificate, and switches to a new one once the API server trusts it.

    Owns which certificate the API server trusts. It reads the source of certificates and the registered CA bundle. It
    changes `tls` and `trust_bundle`, and reports to `health`.
    """

    source: Source
    tls: ReloadingTls
    host: str
    health: Health
    trust_bundle: TrustBundle
    registered: Callable[[], Awaitable[frozenset[x509.Certificate] | None]]
    """The authorities in the caBundle of all Muster's webhooks; None while there are no webhooks."""
    ask_self: Callable[[ServingCertificate], Awaitable[str]]
    """Connects to Muster's own listener. Returns the problem, or an empty string."""
    every_seconds: float
    clock: Callable[[], datetime]
    uninstalled: Callable[[], bool]
    """From then on the Secret is not made again."""
    metrics: Metrics
    _trusted: ServingCertificate | None = None
    """The last certificate that the API server was seen to trust, so that it is not checked all the time."""
    _trusted_since_last: ServingCertificate | None = None
    """The certificate that was trusted at the previous check."""
    _logged: str = ""

    @in_lane(Lane.CONTROL)
    async def run(self) -> None:
        while not self.uninstalled():
            settled = await self.once()
            await asyncio.sleep(self.every_seconds if settled else min(SOON_SECONDS, self.every_seconds))
        await asyncio.Event().wait()

    async def once(self) -> bool:
        """One pass. False if something is wrong or about to change."""
        trouble, offered = "", None
        try:
            offered = await self.source.read()
            self.trust_bundle.note(offered.authorities)
            await self._exchange(offered)
        except Unusable as error:
            trouble = str(error)
        except KubeError as error:
            trouble = readiness.certificates_unusable(str(error))
        served = self.tls.certificate
        if served is not None:
            self.trust_bundle.note(served.authorities)
        self._report(trouble, served)
        answers = await self._answers(served)
        return (
            not trouble
            and answers
            and served == offered
            and self.health.is_well(CERTIFICATE)
            and self.health.is_well(TRUST)
        )

    async def _exchange(self, offered: ServingCertificate) -> None:
        """Serve a new certificate only once the API server trusts it, unless the current one is missing or invalid."""
        served, trusted = self.tls.certificate, await self._is_trusted(offered)
        if offered != served and (trusted or served is None or served.problem(self.host, self.clock())):
            try:
                self.tls.use(offered)
            except ssl.SSLError as error:
                raise Unusable(readiness.certificate_not_servable(str(error))) from error
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
        # Other API servers may not have the new caBundle yet, so wait for one more check, unless nothing is served so
        # far.
        twice, self._trusted_since_last = self._trusted_since_last == offered, offered
        return twice or self.tls.certificate is None

    def _report(self, trouble: str, served: ServingCertificate | None) -> None:
        if served is None:
            self.health.problem(CERTIFICATE, trouble or readiness.NO_CERTIFICATE)
        elif problem := served.problem(self.host, self.clock()):
            self.health.problem(CERTIFICATE, readiness.certificate_unusable(problem))
        else:
            self.health.well(CERTIFICATE)
        if served is not None and served == self._trusted:
            self.health.well(TRUST)
        else:
            self.health.problem(TRUST, readiness.CERTIFICATE_NOT_TRUSTED)
        if served is not None and trouble not in {"", self._logged}:
            logger.warning("admission keeps the current certificate: %s", trouble)
        self._logged = trouble

    async def _answers(self, served: ServingCertificate | None) -> bool:
        if served is None:
            return False
        if problem := await self.ask_self(served):
            self.health.problem(SERVING, readiness.port_silent(problem))
            return False
        self.health.well(SERVING)
        return True
