"""What each serving mode starts behind the open port."""

from typing import cast

from muster.app.modes import Dev, InCluster, ServingMode, StaticCertificate
from muster.config.types import Settings
from muster.runtime.health import CERTIFICATE, SERVING, TRUST, Health
from muster.runtime.leader_election import Alone
from muster.runtime.metrics import Metrics
from muster.serving.listener import Address, Listening
from muster.serving.tls import ReloadingTls
from muster.webhooks.dev import DevWebhooks
from muster.webhooks.reconciler import WebhookReconciler
from tests.fake_cluster import FakeClient, FakeCluster


class Opened:
    address = Address("127.0.0.1", 4443)
    port = 4443


def started(mode: ServingMode, health: Health) -> object:
    client = FakeClient(FakeCluster())
    return mode.start(client, cast("Listening", Opened()), health, Metrics(), Alone()).webhooks


def test_a_developer_s_webhooks_point_at_the_open_port() -> None:
    health = Health()
    mode = Dev.make(Settings())
    webhooks = started(mode, health)
    assert isinstance(webhooks, DevWebhooks)
    assert webhooks.base_url.endswith(":4443")
    assert webhooks.authority == mode.certificate.authority
    assert health.ready


def test_with_a_given_certificate_somebody_else_registers_the_webhooks() -> None:
    health = Health()
    assert started(StaticCertificate(ReloadingTls()), health) is None
    assert health.ready


def test_an_installed_muster_is_not_ready_before_it_has_a_certificate_that_is_trusted_and_served() -> None:
    health = Health()
    webhooks = started(InCluster.make(Settings()), health)
    assert isinstance(webhooks, WebhookReconciler)
    assert [part for part in (CERTIFICATE, TRUST, SERVING) if health.is_well(part)] == []
