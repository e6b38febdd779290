"""What the replicas share: an authority, and one serving certificate by it. What to do about it is decided here, pure.

Nothing is renewed in a hurry: a leaf or an authority in the last third of its life gets a successor, and the old
authority stays in `ca.crt`, and so in the webhooks' caBundle, for an overlap: replicas may still serve its leaf.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key

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
"""How long an old authority is still vouched for at least. Every replica reads the new one within minutes."""
MOST_OLD_AUTHORITIES = 3


class Unusable(Exception):
    """Why this cannot be served with, as the end of a sentence."""


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
    """TrustBundle before this one, which may still be met."""

    @property
    def authorities(self) -> tuple[x509.Certificate, ...]:
        return self.authority.certificate, *self.old

    def serving(self) -> ServingCertificate:
        return ServingCertificate(as_pem(*self.authorities), *self.leaf.pem())

    def data(self) -> dict[str, str]:
        """As a Secret carries it."""
        certificate, key = self.leaf.pem()
        _, authority_key = self.authority.pem()
        plain = {CA_CERTIFICATE: as_pem(*self.authorities), CA_KEY: authority_key, CERTIFICATE: certificate, KEY: key}
        return {name: base64.b64encode(value).decode() for name, value in plain.items()}


class Need(Enum):
    NOTHING = "nothing"
    PUT_BACK = "put back"
    """What this process has is good, and what was found is not."""
    LEAF = "leaf"
    AUTHORITY = "authority"


@dataclass(frozen=True, slots=True)
class Judgement:
    need: Need
    why: str = ""
    bundle: Bundle | None = None
    """What is good enough to build on."""


def read_bundle(data: Mapping[str, str] | None) -> Bundle:
    """From a Secret's data, which anybody may have written."""
    try:
        pem = {name: base64.b64decode((data or {})[name], validate=True) for name in (CA_CERTIFICATE, CA_KEY)}
        first, *old = x509.load_pem_x509_certificates(pem[CA_CERTIFICATE])
        authority = Signed(first, load_pem_private_key(pem[CA_KEY], None))
    except KeyError as error:
        raise Unusable(f"it has no {error.args[0]}") from error
    except Exception as error:  # each kind of garbage has its own error
        raise Unusable("its ca.crt and ca.key cannot be read") from error
    return Bundle(authority, _read_leaf(data or {}) or authority, tuple(old[:MOST_OLD_AUTHORITIES]))


def _read_leaf(data: Mapping[str, str]) -> Signed | None:
    try:
        pem = {name: base64.b64decode(data[name], validate=True) for name in (CERTIFICATE, KEY)}
        return Signed(x509.load_pem_x509_certificates(pem[CERTIFICATE])[0], load_pem_private_key(pem[KEY], None))
    except Exception:  # noqa: BLE001 - whatever is wrong with it, another one is made
        return None


def decide(found: Mapping[str, str] | None, known: Bundle | None, now: datetime, plan: Plan) -> Judgement:
    """What the shared Secret needs, given what is in it (None: there is no Secret) and what this process has."""
    judgement = Judgement(Need.AUTHORITY, "there is none") if found is None else _judge_found(found, now, plan)
    if judgement.need is not Need.AUTHORITY or known is None:
        return judgement
    own = judge(known, now, plan).need
    need = {Need.NOTHING: Need.PUT_BACK}.get(own, own)  # an authority of ours that is still good goes on
    return Judgement(need, judgement.why, judgement.bundle if need is Need.AUTHORITY and judgement.bundle else known)


def _judge_found(found: Mapping[str, str], now: datetime, plan: Plan) -> Judgement:
    """Total: certificates are parsed lazily, and one that somebody else made can fail at any of its parts."""
    try:
        return judge(read_bundle(found), now, plan)
    except Unusable as error:
        return Judgement(Need.AUTHORITY, str(error))
    except Exception:  # noqa: BLE001 - each kind of garbage has its own error
        return Judgement(Need.AUTHORITY, "its certificates cannot be read")


def judge(bundle: Bundle, now: datetime, plan: Plan) -> Judgement:
    if why := _wrong_with_authority(bundle.authority, now):
        return Judgement(Need.AUTHORITY, why)
    if _is_due(bundle.authority.certificate, now):
        return Judgement(Need.AUTHORITY, "its authority is in the last third of its life", bundle)
    if why := _wrong_with_leaf(bundle, now, plan):
        return Judgement(Need.LEAF, why, bundle)
    return Judgement(Need.NOTHING, bundle=bundle)


def renewed(judgement: Judgement, now: datetime, plan: Plan) -> Bundle:
    """What the Secret should have in it instead."""
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
        return "its authority is not one of ours"
    if not authority.matches:
        return "its authority's key belongs to another certificate"
    if now >= certificate.not_valid_after_utc:
        return "its authority has expired"
    return "its authority is not valid yet" if now < certificate.not_valid_before_utc else ""


def _wrong_with_leaf(bundle: Bundle, now: datetime, plan: Plan) -> str:
    leaf = bundle.leaf.certificate
    if bundle.leaf is bundle.authority or not bundle.leaf.matches:
        return "its certificate and key cannot be read, or are not a pair"
    if not is_issued_by(leaf, bundle.authority.certificate):
        return "its certificate is by another authority"
    if missing := set(plan.hosts) - hosts_of(leaf):
        return f"its certificate is not for {', '.join(sorted(missing))}"
    if now >= leaf.not_valid_after_utc:
        return "its certificate has expired"
    if now < leaf.not_valid_before_utc:
        return "its certificate is not valid yet"
    return "its certificate is in the last third of its life" if _is_due(leaf, now) else ""


def _is_due(certificate: x509.Certificate, now: datetime) -> bool:
    begin, end = _issued(certificate), certificate.not_valid_after_utc
    return now >= begin + (end - begin) * 2 / 3


def _issued(certificate: x509.Certificate) -> datetime:
    return certificate.not_valid_before_utc + CLOCK_SKEW
