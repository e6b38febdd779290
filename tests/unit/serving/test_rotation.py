"""What the shared certificates need, given what is in the Secret and what this process has. No clock, no cluster."""

import base64
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from muster.serving.certificates import Signed, new_authority, new_leaf, self_signed
from muster.serving.rotation import (
    CA_CERTIFICATE,
    CA_KEY,
    CERTIFICATE,
    KEY,
    MOST_OLD_AUTHORITIES,
    OVERLAP,
    Bundle,
    Judgement,
    Need,
    Plan,
    read_bundle,
    renewal_needed,
    renewed,
)

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
HOST = "muster.muster-system.svc"
DAY = timedelta(days=1)
PLAN = Plan((HOST,), 300 * DAY, 90 * DAY)
Data = dict[str, str]


def made(issued: datetime = NOW, leaf_issued: datetime | None = None, host: str = HOST) -> Bundle:
    authority = new_authority(issued, PLAN.authority_life)
    return Bundle(authority, new_leaf(authority, [host], leaf_issued or issued, PLAN.leaf_life))


GOOD = made()
OTHER = made()


def having(**parts: str) -> Data:
    """The good one, with some parts replaced; an empty part is missing."""
    names = {"ca": CA_CERTIFICATE, "ca_key": CA_KEY, "leaf": CERTIFICATE, "key": KEY}
    data = {**GOOD.data(), **{names[part]: value for part, value in parts.items()}}
    return {name: value for name, value in data.items() if value}


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def of_an_rsa_authority() -> Data:
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(65537, 2048)
    return replace(GOOD, authority=Signed(GOOD.authority.certificate, key)).data()


@dataclass(frozen=True)
class Row:
    found: Data | None
    need: Need
    why: str = ""
    known: Bundle | None = None
    later: timedelta = timedelta()


LEAF, AUTHORITY, PUT_BACK = Need.LEAF, Need.AUTHORITY, Need.PUT_BACK
ROWS: dict[str, Row] = {
    "there is none, and nobody knows one": Row(None, AUTHORITY, "it did not exist"),
    "it is good": Row(GOOD.data(), Need.NOTHING),
    "it is good, and another one than ours": Row(OTHER.data(), Need.NOTHING, known=GOOD),
    "it is empty": Row({}, AUTHORITY, "it has no ca.crt"),
    "the authority's key is missing": Row(having(ca_key=""), AUTHORITY, "it has no ca.key"),
    "garbage that is not base64": Row(having(ca="%%%"), AUTHORITY, "its ca.crt and ca.key cannot be read"),
    "garbage": Row(having(ca=encoded("hello")), AUTHORITY, "its ca.crt and ca.key cannot be read"),
    "a key that is none": Row(having(ca_key=encoded("hello")), AUTHORITY, "its ca.crt and ca.key cannot be read"),
    "not even text": Row({**GOOD.data(), CA_CERTIFICATE: 3}, AUTHORITY, "cannot be read"),  # type: ignore[dict-item]
    "another authority's key": Row(having(ca_key=OTHER.data()[CA_KEY]), AUTHORITY, "its authority's key belongs to"),
    "a leaf for an authority": Row(
        having(ca=GOOD.data()[CERTIFICATE], ca_key=GOOD.data()[KEY]), AUTHORITY, "Muster did not create its authority"
    ),
    "an authority with a key of another kind": Row(
        of_an_rsa_authority(), AUTHORITY, "Muster did not create its authority"
    ),
    "the leaf is missing": Row(having(leaf=""), LEAF, "its certificate and key cannot be read"),
    "the leaf is garbage": Row(having(leaf=encoded("hello")), LEAF, "its certificate and key cannot be read"),
    "the key is another's": Row(having(key=OTHER.data()[KEY]), LEAF, "or are not a pair"),
    "the leaf is by another authority": Row(
        having(leaf=OTHER.data()[CERTIFICATE], key=OTHER.data()[KEY]), LEAF, "another authority signed its certificate"
    ),
    "the leaf is for another host": Row(made(host="muster.elsewhere.svc").data(), LEAF, f"is not for {HOST}"),
    "the leaf is young": Row(GOOD.data(), Need.NOTHING, later=59 * DAY),
    "the leaf is in its last third": Row(GOOD.data(), LEAF, "its certificate is in the last third", later=61 * DAY),
    "the leaf has expired": Row(GOOD.data(), LEAF, "its certificate has expired", later=91 * DAY),
    "the leaf is not valid yet": Row(made(leaf_issued=NOW + DAY).data(), LEAF, "its certificate is not valid yet"),
    "the authority is in its last third": Row(
        GOOD.data(), AUTHORITY, "its authority is in the last third", later=201 * DAY
    ),
    "the authority has expired": Row(GOOD.data(), AUTHORITY, "its authority has expired", later=301 * DAY),
    "the authority is not valid yet": Row(GOOD.data(), AUTHORITY, "its authority is not valid yet", later=-DAY),
    "it was deleted, and ours is good": Row(None, PUT_BACK, "it did not exist", known=GOOD),
    "it was spoiled, and ours is good": Row({}, PUT_BACK, "it has no ca.crt", known=GOOD),
    "an expired one was put there, and ours is good": Row(
        made(NOW - 400 * DAY).data(), PUT_BACK, "its authority has expired", known=GOOD
    ),
    "it was deleted, and our leaf is old": Row(None, LEAF, "it did not exist", known=GOOD, later=61 * DAY),
    "it was deleted, and our authority is old": Row(None, AUTHORITY, "it did not exist", known=GOOD, later=201 * DAY),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_the_secret_determines_what_has_to_be_renewed(row: Row) -> None:
    now = NOW + row.later
    judgement = renewal_needed(row.found, row.known, now, PLAN)
    assert judgement.need is row.need
    assert row.why in judgement.why
    assert bool(judgement.why) is (row.need is not Need.NOTHING)


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_after_a_renewal_nothing_is_due_for_two_thirds_of_a_leaf_s_life(row: Row) -> None:
    now = NOW + row.later
    fresh = renewed(renewal_needed(row.found, row.known, now, PLAN), now, PLAN)
    assert read_bundle(fresh.data()).data() == fresh.data(), "it is written as it is read"
    assert renewal_needed(fresh.data(), None, now, PLAN).need is Need.NOTHING
    if row.need in {LEAF, AUTHORITY}:
        assert renewal_needed(fresh.data(), fresh, now + 59 * DAY, PLAN).need is Need.NOTHING
    assert fresh.serving().problem(HOST, now) == ""


def test_a_new_leaf_keeps_the_authority() -> None:
    now = NOW + 61 * DAY
    fresh = renewed(renewal_needed(GOOD.data(), None, now, PLAN), now, PLAN)
    assert fresh.authorities == GOOD.authorities
    assert fresh.leaf != GOOD.leaf


def test_a_deleted_secret_is_restored_unchanged() -> None:
    assert renewed(renewal_needed(None, GOOD, NOW, PLAN), NOW, PLAN).data() == GOOD.data()


def test_an_old_authority_stays_until_a_leaf_is_renewed_after_the_overlap() -> None:
    now = NOW + 201 * DAY
    rotated = renewed(renewal_needed(GOOD.data(), GOOD, now, PLAN), now, PLAN)
    assert rotated.old == GOOD.authorities
    assert rotated.leaf.certificate.issuer == rotated.authority.certificate.subject

    def after(time: timedelta) -> Bundle:
        return renewed(Judgement(Need.LEAF, "asked for", rotated), now + time, PLAN)

    assert after(OVERLAP / 2).old == GOOD.authorities
    assert after(OVERLAP).old == ()


def test_an_expired_authority_is_dropped() -> None:
    now = NOW + 301 * DAY
    rotated = renewed(renewal_needed(GOOD.data(), GOOD, now, PLAN), now, PLAN)
    assert rotated.old == ()


def test_the_number_of_old_authorities_is_bounded() -> None:
    bundle, now = GOOD, NOW
    for _ in range(MOST_OLD_AUTHORITIES + 3):
        now += timedelta(hours=1)
        bundle = renewed(Judgement(Need.AUTHORITY, "asked for", bundle), now, PLAN)
    assert len(bundle.authorities) == 1 + MOST_OLD_AUTHORITIES
    assert renewal_needed(bundle.data(), None, now, PLAN).need is Need.NOTHING


PROBLEMS: dict[str, tuple[Callable[[], Bundle], timedelta, str]] = {
    "it is good": (lambda: GOOD, timedelta(), ""),
    "it has expired": (lambda: GOOD, 91 * DAY, "it expired at 2026-08-30 12:00:00 UTC"),
    "it is not valid yet": (lambda: GOOD, -DAY, "it is not valid before 2026-06-01 11:50:00 UTC"),
    "it is for somebody else": (lambda: made(host="x"), timedelta(), f"it is not for {HOST}"),
    "it is by somebody else": (
        lambda: replace(GOOD, leaf=OTHER.leaf),
        timedelta(),
        "it is not signed by the authority in ca.crt",
    ),
    "it is by the authority before": (
        lambda: replace(OTHER, leaf=GOOD.leaf, old=GOOD.authorities),
        timedelta(),
        "",
    ),
}


@pytest.mark.parametrize(("bundle", "later", "problem"), PROBLEMS.values(), ids=list(PROBLEMS))
def test_a_certificate_that_the_api_server_would_refuse_is_a_problem(
    bundle: Callable[[], Bundle], later: timedelta, problem: str
) -> None:
    assert bundle().serving().problem(HOST, NOW + later) == problem


def test_the_host_can_be_an_address() -> None:
    assert self_signed("127.0.0.1").problem("127.0.0.1", datetime.now(UTC)) == ""
