"""Certificates: Muster's own authority and the certificates that it signs. Storage is elsewhere (`sources`)."""

import ipaddress
import os
import ssl
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from muster.core import readiness

LIFETIME = timedelta(days=365)
CLOCK_SKEW = timedelta(minutes=10)
"""Certificates are valid from a time in the past, because clocks in a cluster may differ."""


@dataclass(frozen=True, slots=True)
class ServingCertificate:
    """A certificate with its key and the CA that signed it, in PEM. A value: it reads and writes nothing."""

    authority: bytes
    """The CA, which the API server must trust."""
    certificate: bytes
    private_key: bytes

    def ssl_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        with _as_file(self.private_key + b"\n" + self.certificate) as chain:
            context.load_cert_chain(chain)
        return context

    @property
    def chain(self) -> list[x509.Certificate]:
        """The leaf and its intermediate certificates."""
        return x509.load_pem_x509_certificates(self.certificate)

    @property
    def authorities(self) -> frozenset[x509.Certificate]:
        return frozenset(x509.load_pem_x509_certificates(self.authority))

    def problem(self, host: str, now: datetime) -> str:
        """Why the API server would reject the certificate, as the end of a sentence; empty if it is valid."""
        leaf, *between = self.chain
        if now >= leaf.not_valid_after_utc:
            return readiness.expired_at(leaf.not_valid_after_utc)
        if now < leaf.not_valid_before_utc:
            return readiness.not_valid_before(leaf.not_valid_before_utc)
        if host not in hosts_of(leaf):
            return readiness.not_for_host(host)
        if not any(is_issued_by(leaf, each) for each in (*self.authorities, *between)):
            return readiness.NOT_SIGNED_BY_AUTHORITY
        return ""


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """OpenSSL reads keys only from files. Use a file in memory where possible, because the disk may be read-only."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("muster-tls")
        try:
            os.write(descriptor, content)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
    else:
        with tempfile.NamedTemporaryFile(prefix="muster-") as file:
            file.write(content)
            file.flush()
            yield file.name


@dataclass(frozen=True, slots=True)
class Signed:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: PrivateKeyTypes

    @property
    def matches(self) -> bool:
        return self.certificate.public_key() == self.key.public_key()

    def pem(self) -> tuple[bytes, bytes]:
        private = self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return as_pem(self.certificate), private


def self_signed(host: str) -> ServingCertificate:
    """A certificate for one address. Its authority's key is discarded, so that nothing else can be signed with it."""
    now = datetime.now(UTC)
    authority = new_authority(now, LIFETIME)
    certificate, private_key = new_leaf(authority, [host], now, LIFETIME).pem()
    return ServingCertificate(as_pem(authority.certificate), certificate, private_key)


def new_authority(now: datetime, life: timedelta) -> Signed:
    key, name = ec.generate_private_key(ec.SECP256R1()), _name(f"muster CA {x509.random_serial_number():x}"[:40])
    certificate = (
        _builder(name, name, key.public_key(), now, life)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_only(key_cert_sign=True), critical=True)  # strict verifiers require it of an authority
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Signed(certificate, key)


def new_leaf(authority: Signed, hosts: Sequence[str], now: datetime, life: timedelta) -> Signed:
    key, issuer = ec.generate_private_key(ec.SECP256R1()), authority.certificate
    signing_key = authority.key
    if not isinstance(signing_key, ec.EllipticCurvePrivateKey):
        raise TypeError("Muster's authorities have elliptic-curve keys")
    certificate = (
        _builder(_name("muster"), issuer.subject, key.public_key(), now, life)
        .add_extension(x509.SubjectAlternativeName([_alternative(host) for host in hosts]), critical=False)
        .add_extension(_only(digital_signature=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key()), critical=False)
        .sign(signing_key, hashes.SHA256())
    )
    return Signed(certificate, key)


def as_pem(*certificates: x509.Certificate) -> bytes:
    return b"".join(each.public_bytes(serialization.Encoding.PEM) for each in certificates)


def is_issued_by(leaf: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        leaf.verify_directly_issued_by(authority)
    except Exception:  # noqa: BLE001 - each kind of key raises another error
        return False
    return True


def hosts_of(certificate: x509.Certificate) -> set[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return set()
    return {*names.get_values_for_type(x509.DNSName), *map(str, names.get_values_for_type(x509.IPAddress))}


def is_authority(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (x509.ExtensionNotFound, ValueError):
        return False


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, life: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + life)
    )


def _only(key_cert_sign: bool = False, digital_signature: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=key_cert_sign,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
