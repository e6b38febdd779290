"""Decides, as pure functions, what the shared Secret needs: its authority, and the serving certificate signed by it.

Renewal is early: a leaf or an authority in the last third of its lifetime gets a successor. The old authority stays in
`ca.crt`, and so in the caBundle of the webhooks, for an overlap, because replicas may still serve its leaf.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from muster.core import readiness
from muster.serving.certificates import (
    CLOCK_SKEW,
    ServingCertificate,
    Signed,
    as_pem,
    hosts_of,
    is_authority,
    is_issued_by,
    new_authority,
    new_leaf,
)

CA_CERTIFICATE, CA_KEY, CERTIFICATE, KEY = "ca.crt", "ca.key", "tls.crt", "tls.key"
OVERLAP = timedelta(days=7)
"""The minimum time that an old authority stays trusted. Every replica reads the new one within minutes."""
MOST_OLD_AUTHORITIES = 3


class Unusable(Exception):
    """Why the certificate cannot be used, as the end of a sentence."""


@dataclass(frozen=True, slots=True)
class Plan:
    hosts: tuple[str, ...]
    authority_life: timedelta
    leaf_life: timedelta


@dataclass(frozen=True, slots=True)
class Bundle:
    authority: Signed
    leaf: Signed
    old: tuple[x509.Certificate, ...] = ()
    """Earlier authorities, whose certificates may still be in use."""

    @property
    def authorities(self) -> tuple[x509.Certificate, ...]:
        return self.authority.certificate, *self.old

    def serving(self) -> ServingCertificate:
        return ServingCertificate(as_pem(*self.authorities), *self.leaf.pem())

    def data(self) -> dict[str, str]:
        """The data of the Secret."""
        certificate, key = self.leaf.pem()
        _, authority_key = self.authority.pem()
        plain = {CA_CERTIFICATE: as_pem(*self.authorities), CA_KEY: authority_key, CERTIFICATE: certificate, KEY: key}
        return {name: base64.b64encode(value).decode() for name, value in plain.items()}


class Need(Enum):
    NOTHING = "nothing"
    PUT_BACK = "put back"
    """This process has a valid bundle, and the Secret does not."""
    LEAF = "leaf"
    AUTHORITY = "authority"


@dataclass(frozen=True, slots=True)
class Judgement:
    need: Need
    why: str = ""
    bundle: Bundle | None = None
    """The valid part to build on."""


def read_bundle(data: Mapping[str, str] | None) -> Bundle:
    """Parse the data of a Secret, which another client may have written."""
    try:
        pem = {name: base64.b64decode((data or {})[name], validate=True) for name in (CA_CERTIFICATE, CA_KEY)}
        first, *old = x509.load_pem_x509_certificates(pem[CA_CERTIFICATE])
        authority = Signed(first, load_pem_private_key(pem[CA_KEY], None))
    except KeyError as error:
        raise Unusable(readiness.secret_lacks(error.args[0])) from error
    except Exception as error:  # invalid data raises many kinds of errors
        raise Unusable(readiness.AUTHORITY_UNREADABLE) from error
    return Bundle(authority, _read_leaf(data or {}) or authority, tuple(old[:MOST_OLD_AUTHORITIES]))


def _read_leaf(data: Mapping[str, str]) -> Signed | None:
    try:
        pem = {name: base64.b64decode(data[name], validate=True) for name in (CERTIFICATE, KEY)}
        return Signed(x509.load_pem_x509_certificates(pem[CERTIFICATE])[0], load_pem_private_key(pem[KEY], None))
    except Exception:  # noqa: BLE001 - an invalid leaf is replaced in any case
        return None


def renewal_needed(found: Mapping[str, str] | None, known: Bundle | None, now: datetime, plan: Plan) -> Judgement:
    """What the shared Secret needs, given its data (None: there is no Secret) and the bundle of this process."""
    judgement = Judgement(Need.AUTHORITY, readiness.NOTHING_STORED) if found is None else _judge_found(found, now, plan)
    if judgement.need is not Need.AUTHORITY or known is None:
        return judgement
    own = judge(known, now, plan).need
    need = {Need.NOTHING: Need.PUT_BACK}.get(own, own)  # keep this process's authority if it is still valid
    return Judgement(need, judgement.why, judgement.bundle if need is Need.AUTHORITY and judgement.bundle else known)


def _judge_found(found: Mapping[str, str], now: datetime, plan: Plan) -> Judgement:
    """Never raises: certificates are parsed lazily, and a foreign certificate can fail at any field."""
    try:
        return judge(read_bundle(found), now, plan)
    except Unusable as error:
        return Judgement(Need.AUTHORITY, str(error))
    except Exception:  # noqa: BLE001 - invalid data raises many kinds of errors
        return Judgement(Need.AUTHORITY, readiness.CERTIFICATES_UNREADABLE)


def judge(bundle: Bundle, now: datetime, plan: Plan) -> Judgement:
    if why := _wrong_with_authority(bundle.authority, now):
        return Judgement(Need.AUTHORITY, why)
    if _is_due(bundle.authority.certificate, now):
        return Judgement(Need.AUTHORITY, readiness.AUTHORITY_DUE, bundle)
    if why := _wrong_with_leaf(bundle, now, plan):
        return Judgement(Need.LEAF, why, bundle)
    return Judgement(Need.NOTHING, bundle=bundle)


def renewed(judgement: Judgement, now: datetime, plan: Plan) -> Bundle:
    """The new content of the Secret."""
    built_on = judgement.bundle
    if judgement.need in {Need.NOTHING, Need.PUT_BACK} and built_on is not None:
        return built_on
    if judgement.need is Need.LEAF and built_on is not None:
        authority = built_on.authority
        overlaps = now < _issued(authority.certificate) + OVERLAP
        old = tuple(each for each in built_on.old if overlaps and now < each.not_valid_after_utc)
        return Bundle(authority, new_leaf(authority, plan.hosts, now, plan.leaf_life), old)
    old = tuple(each for each in (built_on.authorities if built_on else ()) if now < each.not_valid_after_utc)
    authority = new_authority(now, plan.authority_life)
    return Bundle(authority, new_leaf(authority, plan.hosts, now, plan.leaf_life), old[:MOST_OLD_AUTHORITIES])


def _wrong_with_authority(authority: Signed, now: datetime) -> str:
    certificate = authority.certificate
    if not isinstance(authority.key, ec.EllipticCurvePrivateKey) or not is_authority(certificate):
        return readiness.AUTHORITY_FOREIGN
    if not authority.matches:
        return readiness.AUTHORITY_KEY_FOREIGN
    if now >= certificate.not_valid_after_utc:
        return readiness.AUTHORITY_EXPIRED
    return readiness.AUTHORITY_NOT_YET_VALID if now < certificate.not_valid_before_utc else ""


def _wrong_with_leaf(bundle: Bundle, now: datetime, plan: Plan) -> str:
    leaf = bundle.leaf.certificate
    if bundle.leaf is bundle.authority or not bundle.leaf.matches:
        return readiness.LEAF_UNREADABLE
    if not is_issued_by(leaf, bundle.authority.certificate):
        return readiness.LEAF_FOREIGN
    if missing := set(plan.hosts) - hosts_of(leaf):
        return readiness.leaf_lacks(sorted(missing))
    if now >= leaf.not_valid_after_utc:
        return readiness.LEAF_EXPIRED
    if now < leaf.not_valid_before_utc:
        return readiness.LEAF_NOT_YET_VALID
    return readiness.LEAF_DUE if _is_due(leaf, now) else ""


def _is_due(certificate: x509.Certificate, now: datetime) -> bool:
    begin, end = _issued(certificate), certificate.not_valid_after_utc
    return now >= begin + (end - begin) * 2 / 3


def _issued(certificate: x509.Certificate) -> datetime:
    return certificate.not_valid_before_utc + CLOCK_SKEW
