"""The three ways to serve admission: for a developer, with a given certificate, and as an installed product.

A mode is fixed before the port opens. Its `start` builds what runs behind the open port.
"""

import asyncio
import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Protocol, Self

from muster.app.failure import Failure
from muster.config.types import Service, Settings
from muster.core import readiness
from muster.kube.client import KubeClient
from muster.runtime.health import CERTIFICATE, SERVING, TRUST, Health
from muster.runtime.leader_election import Lead
from muster.runtime.metrics import Metrics
from muster.runtime.supervisor import Work
from muster.serving.certificates import ServingCertificate, self_signed
from muster.serving.listener import Address, Listening, ask
from muster.serving.renewer import CertificateRenewer
from muster.serving.rotation import Plan
from muster.serving.sources import Files, SharedSecret, Source
from muster.serving.tls import ClientCA, ReloadingTls
from muster.serving.trust_bundle import TrustBundle
from muster.webhooks.dev import DevWebhooks
from muster.webhooks.reconciler import WebhookReconciler, registered_authorities

Webhooks = DevWebhooks | WebhookReconciler


@dataclass(frozen=True, slots=True)
class Serving:
    """What runs behind the open port of one mode."""

    webhooks: Webhooks | None
    """None if the administrator registers the webhooks."""
    run: Work
    """Runs as long as the process."""
    end: Work
    """Called before the port closes."""


class ServingMode(Protocol):
    @property
    def tls(self) -> ReloadingTls:
        """The certificate of the port."""

    def start(self, client: KubeClient, listening: Listening, health: Health, metrics: Metrics, lead: Lead) -> Serving:
        """Called once, when the port is open and the client can reach the API server."""


@dataclass(frozen=True, slots=True)
class Dev:
    """Creates a certificate and webhooks that exist only while the process runs."""

    settings: Settings
    certificate: ServingCertificate
    tls: ReloadingTls

    @classmethod
    def make(cls, settings: Settings, client_ca: ClientCA | None = None) -> Self:
        certificate = self_signed(settings.serving.address)
        return cls(settings, certificate, ReloadingTls(certificate, client_ca))

    def start(
        self,
        client: KubeClient,
        listening: Listening,
        health: Health,  # noqa: ARG002
        metrics: Metrics,  # noqa: ARG002
        lead: Lead,  # noqa: ARG002
    ) -> Serving:
        base_url = f"https://{self.settings.serving.address}:{listening.port}"
        webhooks = DevWebhooks(client, base_url, self.certificate.authority, self.settings)
        # The webhooks go before the port closes: the API server must not call a server that is about to end.
        return Serving(webhooks, run=_idle, end=webhooks.remove)


@dataclass(frozen=True, slots=True)
class StaticCertificate:
    """Uses a certificate from the command line. The user registers the webhooks."""

    tls: ReloadingTls

    @classmethod
    def read(cls, certificate: Path, key: Path, client_ca: ClientCA | None = None) -> Self:
        try:
            given = ServingCertificate(b"", certificate.read_bytes(), key.read_bytes())
            return cls(ReloadingTls(given, client_ca))
        except OSError as error:  # an SSLError is one, too
            why = error.strerror or str(error)
            raise Failure(readiness.flags_unusable(str(certificate), str(key), why)) from error

    def start(
        self,
        client: KubeClient,  # noqa: ARG002
        listening: Listening,  # noqa: ARG002
        health: Health,  # noqa: ARG002
        metrics: Metrics,  # noqa: ARG002
        lead: Lead,  # noqa: ARG002
    ) -> Serving:
        return Serving(None, run=_idle, end=_nothing)


@dataclass(frozen=True, slots=True)
class InCluster:
    """One of the replicas behind a Service. They share the certificate; the leader updates the webhooks."""

    settings: Settings
    tls: ReloadingTls

    @classmethod
    def make(cls, settings: Settings, client_ca: ClientCA | None = None) -> Self:
        return cls(settings, ReloadingTls(client_ca=client_ca))

    def start(self, client: KubeClient, listening: Listening, health: Health, metrics: Metrics, lead: Lead) -> Serving:
        settings, tls, host = self.settings, self.tls, self.settings.service.host
        health.announce(CERTIFICATE, readiness.NO_CERTIFICATE_YET)
        health.announce(TRUST, readiness.CERTIFICATE_NOT_TRUSTED)
        health.announce(SERVING, readiness.PORT_NOT_TRIED)
        trust_bundle = TrustBundle(_now)
        webhooks = WebhookReconciler(
            client,
            settings,
            trust_bundle,
            lead.leads,
            lead.uninstalled,
            service_answers=partial(_answers_through_service, settings.service, tls),
        )
        renewer = CertificateRenewer(
            source=_source(client, settings),
            tls=tls,
            host=host,
            health=health,
            trust_bundle=trust_bundle,
            registered=partial(registered_authorities, client),
            ask_self=partial(ask, listening.address, host, handshake_only=tls.wants_certificates),
            every_seconds=settings.probe_seconds,
            clock=_now,
            metrics=metrics,
            uninstalled=lead.uninstalled,
        )
        # Keep the webhooks: other replicas, or the next pod, answer them.
        return Serving(webhooks, run=renewer.run, end=_nothing)


async def _answers_through_service(service: Service, tls: ReloadingTls) -> bool:
    """Kubernetes puts the addresses of Services into a pod's environment. Without one there is no address to ask."""
    served = tls.certificate
    prefix = f"{service.name.upper().replace('-', '_')}_SERVICE"
    host, port = os.environ.get(f"{prefix}_HOST"), os.environ.get(f"{prefix}_PORT", "")
    if not host or not port.isdecimal() or served is None:
        return True
    return not await ask(Address(host, int(port)), service.host, served, handshake_only=tls.wants_certificates)


def _source(client: KubeClient, settings: Settings) -> Source:
    chosen, service = settings.certificates, settings.service
    if chosen.mode == "files":
        return Files(Path(chosen.directory), service.host, _now)
    plan = Plan((service.host,), timedelta(days=chosen.authority_days), timedelta(days=chosen.leaf_days))
    return SharedSecret(client, service.namespace, chosen.secret_name, plan, _now)


async def _idle() -> None:
    await asyncio.Event().wait()


async def _nothing() -> None:
    pass


def _now() -> datetime:
    return datetime.now(UTC)
