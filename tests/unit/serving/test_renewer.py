"""A new certificate is served when the API server trusts it: not before, and at once if the old one is no good."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from muster.kube.errors import Forbidden, KubeError
from muster.runtime.health import CERTIFICATE, SERVING, TRUST, Health
from muster.runtime.metrics import Metrics
from muster.serving.certificates import ServingCertificate, Signed, as_pem, new_authority, new_leaf
from muster.serving.renewer import CertificateRenewer
from muster.serving.rotation import Unusable
from muster.serving.tls import ReloadingTls
from muster.serving.trust_bundle import REMEMBERED, TrustBundle

HOST = "muster.muster-system.svc"
START = datetime(2026, 6, 1, 12, tzinfo=UTC)
LIFE = timedelta(days=90)


def leaf_of(authority: Signed, *old: Signed, issued: datetime = START) -> ServingCertificate:
    everybody = as_pem(authority.certificate, *(each.certificate for each in old))
    return ServingCertificate(everybody, *new_leaf(authority, [HOST], issued, LIFE).pem())


OLD, NEW = new_authority(START, 10 * LIFE), new_authority(START, 10 * LIFE)


@dataclass
class World:
    """What the replica meets: a source, a clock, an API server, and its own port."""

    offered: ServingCertificate | Exception
    registered: frozenset[x509.Certificate] | None = None
    wrong_with_port: str = ""
    now: datetime = START
    asked: int = 0
    health: Health = field(default_factory=Health)

    def __post_init__(self) -> None:
        self.trust_bundle = TrustBundle(lambda: self.now)
        self.renewal = CertificateRenewer(
            source=self,
            tls=ReloadingTls(),
            host=HOST,
            health=self.health,
            trust_bundle=self.trust_bundle,
            registered=self.look,
            ask_self=self.answer,
            every_seconds=15,
            clock=lambda: self.now,
            uninstalled=lambda: False,
            metrics=Metrics(),
        )

    async def read(self) -> ServingCertificate:
        if isinstance(self.offered, Exception):
            raise self.offered
        return self.offered

    async def look(self) -> frozenset[x509.Certificate] | None:
        self.asked += 1
        return self.registered

    async def answer(self, served: ServingCertificate) -> str:
        return self.wrong_with_port

    @property
    def served(self) -> ServingCertificate | None:
        return self.renewal.tls.certificate

    def trust(self, *authorities: Signed) -> None:
        self.registered = frozenset(each.certificate for each in authorities)


async def test_without_registered_webhooks_the_first_certificate_is_enough() -> None:
    world = World(leaf_of(OLD))
    assert await world.renewal.once()
    assert world.served == world.offered
    assert world.health.ready
    page = world.renewal.metrics.page().decode()
    (until,) = [line.split()[1] for line in page.splitlines() if line.startswith("muster_certificate_expiry_timestamp")]
    assert float(until) == (START + LIFE).timestamp()


async def test_a_new_leaf_of_a_trusted_authority_is_served_without_a_request() -> None:
    world = World(leaf_of(OLD))
    await world.renewal.once()
    world.trust(OLD)
    world.offered, asked = leaf_of(OLD), world.asked
    assert await world.renewal.once()
    assert (world.served, world.asked) == (world.offered, asked)


async def test_a_leaf_of_a_new_authority_waits_until_the_authority_is_trusted() -> None:
    first, second = leaf_of(OLD), leaf_of(NEW, OLD)
    world = World(first)
    world.trust(OLD)
    await world.renewal.once()
    world.offered = second
    for _ in range(3):
        assert not await world.renewal.once(), "look again soon"
        assert world.served == first
        assert world.health.ready, "it is still trusted"
    assert world.trust_bundle.pem() == as_pem(*_sorted(OLD, NEW)), "the leader registers both"
    world.trust(OLD, NEW)
    assert not await world.renewal.once()
    assert world.served == first, "another API server may not have heard of it yet"
    assert await world.renewal.once()
    assert world.served == second


async def test_a_fresh_replica_is_not_ready_before_it_is_trusted() -> None:
    world = World(leaf_of(NEW))
    world.trust(OLD)
    assert not await world.renewal.once()
    assert world.health.sentence == "not ready: the API server does not trust the certificate yet"
    assert world.health.is_well(CERTIFICATE), "so that the leader registers it"
    world.trust(OLD, NEW)
    for settled in (False, True):
        assert await world.renewal.once() is settled
    assert world.health.ready


async def test_a_replica_that_was_trusted_stays_ready_when_the_bundle_is_emptied() -> None:
    world = World(leaf_of(OLD))
    await world.renewal.once()
    world.trust()
    assert await world.renewal.once()
    assert world.health.ready, "the leader restores the bundle; until then, being not ready helps nobody"


async def test_an_expired_certificate_is_replaced_at_once_trusted_or_not() -> None:
    world = World(leaf_of(OLD))
    world.trust(OLD)
    await world.renewal.once()
    world.now += LIFE + timedelta(seconds=1)
    assert not await world.renewal.once()
    assert "the certificate cannot be used: it expired at" in world.health.sentence
    world.offered = leaf_of(NEW, issued=world.now)
    await world.renewal.once()
    assert world.served == world.offered
    assert world.health.sentence == "not ready: the API server does not trust the certificate yet"


TROUBLE: dict[str, KubeError | Unusable] = {
    "the API server is away": Forbidden("secrets is forbidden"),
    "the files are bad": Unusable("the certificates in /x cannot be read"),
}


@pytest.mark.parametrize("trouble", TROUBLE.values(), ids=list(TROUBLE))
async def test_on_errors_the_renewer_keeps_its_certificate_and_logs_once(
    trouble: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(leaf_of(OLD))
    await world.renewal.once()
    served, world.offered = world.served, trouble
    for _ in range(3):
        assert not await world.renewal.once()
    assert (world.served, world.health.ready) == (served, True)
    assert [str(trouble) in each.message for each in caplog.records if each.levelname == "WARNING"] == [True]


@pytest.mark.parametrize("trouble", TROUBLE.values(), ids=list(TROUBLE))
async def test_with_errors_from_the_start_the_replica_is_not_ready(trouble: Exception) -> None:
    world = World(trouble)
    assert not await world.renewal.once()
    assert str(trouble) in world.health.sentence
    assert not world.health.is_well(TRUST)


async def test_a_port_that_does_not_answer_is_reported_and_recovers() -> None:
    world = World(leaf_of(OLD), wrong_with_port="connection refused")
    assert not await world.renewal.once()
    assert world.health.sentence == "not ready: admission does not answer on its own port: connection refused"
    assert not world.health.is_well(SERVING)
    world.wrong_with_port = ""
    assert await world.renewal.once()
    assert world.health.ready


async def test_the_bundle_keeps_an_authority_for_a_while_after_its_last_use() -> None:
    world = World(leaf_of(OLD))
    await world.renewal.once()
    world.offered = leaf_of(NEW)
    await world.renewal.once()
    assert world.trust_bundle.pem() == as_pem(*_sorted(OLD, NEW))
    world.now += REMEMBERED + timedelta(seconds=1)
    await world.renewal.once()
    assert world.trust_bundle.pem() == as_pem(NEW.certificate)


async def test_the_bundle_takes_over_registered_authorities_and_drops_them_later() -> None:
    world = World(leaf_of(NEW))
    leaf = new_leaf(OLD, [HOST], START, LIFE).certificate
    world.trust_bundle.recall([OLD.certificate, leaf])
    world.trust_bundle.recall([OLD.certificate])
    await world.renewal.once()
    assert world.trust_bundle.pem() == as_pem(*_sorted(OLD, NEW))
    world.now += REMEMBERED + timedelta(seconds=1)
    await world.renewal.once()
    assert world.trust_bundle.pem() == as_pem(NEW.certificate)


def _sorted(*authorities: Signed) -> list[x509.Certificate]:
    return sorted((each.certificate for each in authorities), key=lambda each: each.serial_number)
