"""The certificate of a listener is exchanged while it listens."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import ClientError, ClientSession, TCPConnector, web

from local_cluster.certificates import CertificateAuthority, KeyPair
from muster.runtime.tasks import Task
from muster.serving.certificates import ServingCertificate, self_signed
from muster.serving.listener import Address, Listening, Port, ask, listen
from muster.serving.tls import ClientCA, ReloadingTls
from tests.unit.controllers.parts import a_supervisor

HOST, LOOPBACK = "muster.muster-system.svc", "127.0.0.1"


async def hello(_: web.Request) -> web.Response:
    return web.Response(text="hello")


@pytest.fixture
def tls() -> ReloadingTls:
    return ReloadingTls()


@pytest.fixture
async def listening(tls: ReloadingTls) -> AsyncIterator[Listening]:
    app = web.Application()
    app.router.add_get("/livez", hello)
    port, supervisor = Port(Task.ADMISSION_PORT, app, LOOPBACK, 0, tls.context), a_supervisor()
    opened = await listen(port, supervisor, supervisor.errors)
    yield opened
    await opened.stop()


def session(certificate: ServingCertificate) -> ClientSession:
    trust = ssl.create_default_context(cadata=certificate.authority.decode())
    return ClientSession(connector=TCPConnector(ssl=trust, limit=1))


async def get(session: ClientSession, address: Address, name: str = HOST) -> str:
    async with session.get(f"{address.url}/livez", server_hostname=name) as answer:
        return await answer.text()


async def test_without_a_certificate_no_client_is_answered(listening: Listening) -> None:
    assert await ask(listening.address, HOST, self_signed(HOST)) != ""


async def test_new_connections_get_the_new_certificate_and_open_ones_stay_open(
    tls: ReloadingTls, listening: Listening
) -> None:
    old, new = self_signed(HOST), self_signed(HOST)
    tls.use(old)
    async with session(old) as kept:
        assert await get(kept, listening.address) == "hello"
        tls.use(new)
        assert await get(kept, listening.address) == "hello", "the connection that was open"
        assert await ask(listening.address, HOST, new) == ""
        assert "certificate verify failed" in await ask(listening.address, HOST, old)
        assert await get(kept, listening.address) == "hello"


async def test_a_client_without_a_server_name_gets_the_certificate(tls: ReloadingTls, listening: Listening) -> None:
    """A client that connects by address sends no server name."""
    by_address = self_signed(LOOPBACK)
    tls.use(by_address)
    async with session(by_address) as client:
        assert await get(client, listening.address, LOOPBACK) == "hello"


async def test_an_invalid_certificate_changes_nothing(tls: ReloadingTls, listening: Listening) -> None:
    good, other = self_signed(HOST), self_signed(HOST)
    tls.use(good)
    for bad in (
        ServingCertificate(good.authority, b"garbage", good.private_key),
        ServingCertificate(good.authority, good.certificate, other.private_key),
    ):
        with pytest.raises(ssl.SSLError):
            tls.use(bad)
    assert tls.certificate == good
    assert await ask(listening.address, HOST, good) == ""


async def test_a_key_of_another_kind_takes_the_place_of_the_old_one(tls: ReloadingTls, listening: Listening) -> None:
    """OpenSSL keeps one certificate for each kind of key in a context, and may serve either."""
    elliptic, rsa = self_signed(HOST), _rsa_certificate()
    for served, gone in ((elliptic, rsa), (rsa, elliptic), (elliptic, rsa)):
        tls.use(served)
        assert await ask(listening.address, HOST, served) == ""
        assert await ask(listening.address, HOST, gone) != ""


async def test_many_new_certificates_under_load_lose_no_request(tls: ReloadingTls, listening: Listening) -> None:
    certificates = [self_signed(HOST) for _ in range(20)]
    tls.use(certificates[0])
    everybody = ServingCertificate(b"".join(each.authority for each in certificates), b"", b"")
    ended = asyncio.Event()

    async def load(kept_alive: bool) -> int:
        count = 0
        while not ended.is_set():
            async with session(everybody) as client:
                for _ in range(20 if kept_alive else 1):
                    assert await get(client, listening.address) == "hello"
                    count += 1
        return count

    clients = [asyncio.create_task(load(number % 2 == 0)) for number in range(4)]
    for each in certificates:
        tls.use(each)
        await asyncio.sleep(0.02)
    ended.set()
    counts = await asyncio.gather(*clients)
    assert min(counts) > 0


def client_of(directory: Path) -> Path:
    """A new authority in `ca.crt`, and a client's certificate by it with its key in one file."""
    directory.mkdir()
    CertificateAuthority(directory).issue_client("client", "an API server", None)
    pair, both = KeyPair.at(directory, "client"), directory / "both.pem"
    both.write_bytes(pair.key.read_bytes() + pair.certificate.read_bytes())
    return both


async def served(address: Address, served_with: ServingCertificate, client: Path | None) -> bool:
    trust = ssl.create_default_context(cadata=served_with.authority.decode())
    if client is not None:
        trust.load_cert_chain(client)
    async with ClientSession(connector=TCPConnector(ssl=trust)) as session:
        try:
            return await get(session, address) == "hello"
        except ClientError:
            return False


async def test_with_a_client_ca_only_its_clients_are_answered(tmp_path: Path) -> None:
    ours, theirs = client_of(tmp_path / "ours"), client_of(tmp_path / "theirs")
    certificate, file = self_signed(HOST), tmp_path / "ca.pem"
    file.write_bytes((tmp_path / "ours" / "ca.crt").read_bytes())
    tls = ReloadingTls(certificate, ClientCA(file))
    app = web.Application()
    app.router.add_get("/livez", hello)
    port, supervisor = Port(Task.ADMISSION_PORT, app, LOOPBACK, 0, tls.context), a_supervisor()
    opened = await listen(port, supervisor, supervisor.errors)
    try:

        async def who_is_served() -> list[bool]:
            return [await served(opened.address, certificate, client) for client in (ours, theirs, None)]

        assert await who_is_served() == [True, False, False]
        assert await ask(opened.address, HOST, certificate, handshake_only=True) == ""
        assert "verify failed" in await ask(opened.address, HOST, self_signed(HOST), handshake_only=True)
        tls.use(certificate := self_signed(HOST))
        assert await who_is_served() == [True, False, False], "also with the next certificate"
        file.write_bytes((tmp_path / "theirs" / "ca.crt").read_bytes() + b"\n")
        assert await who_is_served() == [False, True, False], "the file is read again"
        file.write_text("no certificate")
        assert await who_is_served() == [False, True, False], "what cannot be read changes nothing"
        file.unlink()
        assert await who_is_served() == [False, True, False]
    finally:
        await opened.stop()


@pytest.mark.parametrize(
    "content", [None, b"", b"no certificate", b"\xff\xfe"], ids=["no file", "empty", "text", "binary"]
)
def test_an_invalid_client_ca_is_an_error(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "ca.pem").write_bytes(content)
    with pytest.raises(OSError):
        ClientCA(tmp_path / "ca.pem")


def _rsa_certificate() -> ServingCertificate:
    from datetime import UTC, datetime, timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import rsa

    from muster.serving.certificates import Signed, as_pem

    key, name = rsa.generate_private_key(65537, 2048), x509.Name([])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=True)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return ServingCertificate(as_pem(certificate), *Signed(certificate, key).pem())
