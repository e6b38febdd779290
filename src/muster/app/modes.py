"""The three ways to serve admission: for a developer, with a given certificate, and as an installed product."""

import asyncio
import os
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Protocol, Self

from muster.app.failure import Failure
from muster.config.types import Settings
from muster.kube.client import KubeClient
from muster.runtime.health import CERTIFICATE, SERVING, TRUST, Health
from muster.runtime.leader_election import Lead
from muster.runtime.metrics import Metrics
from muster.serving.certificates import ServingCertificate, self_signed
from muster.serving.listener import Address, Listening, ask
from muster.serving.renewer import CertificateRenewer
from muster.serving.rotation import Plan
from muster.serving.sources import Files, SharedSecret, Source
from muster.serving.tls import ClientCA, ReloadingTls
from muster.serving.trust_bundle import TrustBundle
from muster.webhooks.dev import DevWebhooks
from muster.webhooks.reconciler import WebhookReconciler, registered_authorities


class ServingMode(Protocol):
    tls: ReloadingTls
    webhooks: DevWebhooks | WebhookReconciler | None

    def begin(self, client: KubeClient, listening: Listening, health: Health, metrics: Metrics, lead: Lead) -> None:
        """The port is open, and the API server can be asked."""

    async def run(self) -> None:
        """What goes on for as long as the process lives."""

    async def end(self) -> None:
        """Before the port closes."""


class Dev:
    """A certificate and webhooks that live as long as the process."""

    def __init__(self, settings: Settings, client_ca: ClientCA | None = None) -> None:
        self._settings = settings
        self._certificate = self_signed(settings.serving.address)
        self.tls = ReloadingTls(self._certificate, client_ca)
        self.webhooks: DevWebhooks | WebhookReconciler | None = None

    def begin(
        self,
        client: KubeClient,
        listening: Listening,
        health: Health,  # noqa: ARG002
        metrics: Metrics,  # noqa: ARG002
        lead: Lead,  # noqa: ARG002
    ) -> None:
        base_url = f"https://{self._settings.serving.address}:{listening.port}"
        self._own = DevWebhooks(client, base_url, self._certificate.authority, self._settings)
        self.webhooks = self._own

    async def run(self) -> None:
        await asyncio.Event().wait()

    async def end(self) -> None:
        """The webhooks go first: from then on nobody asks a server that is about to end."""
        await self._own.remove()


class StaticCertificate:
    """A certificate from the command line; somebody else registers the webhooks."""

    def __init__(self, certificate: ServingCertificate, client_ca: ClientCA | None = None) -> None:
        self.tls = ReloadingTls(certificate, client_ca)
        self.webhooks: DevWebhooks | WebhookReconciler | None = None

    @classmethod
    def read(cls, certificate: Path, key: Path, client_ca: ClientCA | None = None) -> Self:
        try:
            return cls(ServingCertificate(b"", certificate.read_bytes(), key.read_bytes()), client_ca)
        except OSError as error:  # an SSLError is one, too
            raise Failure(f"cannot serve with {certificate} and {key}: {error.strerror or error}") from error

    def begin(self, client: KubeClient, listening: Listening, health: Health, metrics: Metrics, lead: Lead) -> None:
        pass

    async def run(self) -> None:
        await asyncio.Event().wait()

    async def end(self) -> None:
        pass


class InCluster:
    """One of the replicas behind a Service. They share the certificate; the leader keeps the webhooks up to date."""

    def __init__(self, settings: Settings, client_ca: ClientCA | None = None) -> None:
        self._settings = settings
        self.tls = ReloadingTls(client_ca=client_ca)
        self.webhooks: DevWebhooks | WebhookReconciler | None = None

    def begin(self, client: KubeClient, listening: Listening, health: Health, metrics: Metrics, lead: Lead) -> None:
        settings, host = self._settings, self._settings.service.host
        health.announce(CERTIFICATE, "there is no certificate to serve admission with yet")
        health.announce(TRUST, "the API server does not trust the certificate yet")
        health.announce(SERVING, "admission has not answered on its own port yet")
        trust_bundle = TrustBundle(_now)
        self.webhooks = WebhookReconciler(
            client, settings, trust_bundle, lead.leads, lead.uninstalled, service_answers=self._through_service
        )
        self._renewer = CertificateRenewer(
            source=_source(client, settings),
            tls=self.tls,
            host=host,
            health=health,
            trust_bundle=trust_bundle,
            registered=partial(registered_authorities, client),
            ask_self=partial(ask, listening.address, host, handshake_only=self.tls.wants_certificates),
            every_seconds=settings.probe_seconds,
            clock=_now,
            metrics=metrics,
            uninstalled=lead.uninstalled,
        )

    async def run(self) -> None:
        await self._renewer.run()

    async def _through_service(self) -> bool:
        """A pod is told where the Services of its namespace are. Where nobody told, nobody can ask."""
        service, served = self._settings.service, self.tls.certificate
        prefix = f"{service.name.upper().replace('-', '_')}_SERVICE"
        host, port = os.environ.get(f"{prefix}_HOST"), os.environ.get(f"{prefix}_PORT", "")
        if not host or not port.isdecimal() or served is None:
            return True
        address = Address(host, int(port))
        return not await ask(address, service.host, served, handshake_only=self.tls.wants_certificates)

    async def end(self) -> None:
        """The webhooks stay: other replicas answer them, and so will the next one in this place."""


def _source(client: KubeClient, settings: Settings) -> Source:
    chosen, service = settings.certificates, settings.service
    if chosen.mode == "files":
        return Files(Path(chosen.directory), service.host, _now)
    plan = Plan((service.host,), timedelta(days=chosen.authority_days), timedelta(days=chosen.leaf_days))
    return SharedSecret(client, service.namespace, chosen.secret_name, plan, _now)


def _now() -> datetime:
    return datetime.now(UTC)
