"""The certificate that admission is served with."""

import asyncio
import ssl
from collections.abc import AsyncIterator

import pytest

from muster.serving.certificates import ServingCertificate, self_signed


@pytest.fixture(scope="module")
def certificate() -> ServingCertificate:
    return self_signed("127.0.0.1")


@pytest.fixture
async def port(certificate: ServingCertificate) -> AsyncIterator[int]:
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0, ssl=certificate.ssl_context())
    async with server:
        yield server.sockets[0].getsockname()[1]


async def greeted(port: int, authority: bytes, name: str) -> bytes:
    trust = ssl.create_default_context(cadata=authority.decode())
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust, server_hostname=name)
    try:
        return await reader.read()
    finally:
        writer.close()


async def test_the_certificate_verifies_against_its_authority(port: int, certificate: ServingCertificate) -> None:
    assert await greeted(port, certificate.authority, "127.0.0.1") == b"hello"


async def test_the_certificate_is_for_one_address_only(port: int, certificate: ServingCertificate) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
        await greeted(port, certificate.authority, "localhost")


async def test_another_authority_does_not_verify_the_certificate(port: int) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        await greeted(port, self_signed("127.0.0.1").authority, "127.0.0.1")


async def test_the_certificate_can_be_for_a_dns_name() -> None:
    made = self_signed("muster.muster-system.svc")
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=made.ssl_context())
    async with server:
        port = server.sockets[0].getsockname()[1]
        assert await greeted(port, made.authority, "muster.muster-system.svc") == b""
