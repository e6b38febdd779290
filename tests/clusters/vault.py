"""Certificates as somebody else would put them where Muster looks: old, expired, foreign, broken."""

import base64
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509

from muster.serving.certificates import new_authority, new_leaf
from muster.serving.rotation import Bundle, read_bundle
from tests.clusters.api import Api, ApiError, Object
from tests.clusters.replicas import NAMESPACE, WEBHOOKS, Replica, Replicas
from tests.clusters.waiting import eventually

SECRET = "muster-certificates"
HOST = "muster.muster-system.svc"
DAY = timedelta(days=1)


def secret(api: Api) -> Object:
    return api.get("secrets", SECRET, NAMESPACE)


def bundle(api: Api) -> Bundle:
    return read_bundle(secret(api)["data"])


def fresh(age: timedelta = timedelta(), authority_age: timedelta = timedelta(), host: str = HOST) -> Bundle:
    """By an authority that nobody has seen before."""
    now = datetime.now(UTC)
    authority = new_authority(now - authority_age, 3650 * DAY)
    return Bundle(authority, new_leaf(authority, [host], now - age, 90 * DAY))


def aged(known: Bundle) -> Bundle:
    """The same authority, and a leaf in the last third of its life."""
    leaf = new_leaf(known.authority, [HOST], datetime.now(UTC) - 70 * DAY, 90 * DAY)
    return Bundle(known.authority, leaf, known.old)


def put(api: Api, data: dict[str, str]) -> None:
    """Whatever Muster does at the same time."""
    body = {"metadata": {"name": SECRET}, "type": "Opaque", "data": data}
    try:
        api.create("secrets", body, NAMESPACE)
    except ApiError as error:
        if error.status != 409:
            raise
        api.replace("secrets", {**secret(api), "data": data, "metadata": {"name": SECRET}}, NAMESPACE)


def served_by(replica: Replica) -> x509.Certificate:
    pem = ssl.get_server_certificate(("127.0.0.1", replica.endpoint.port), timeout=10)
    return x509.load_pem_x509_certificate(pem.encode())


def all_serve(replicas: Replicas, leaf: x509.Certificate) -> bool:
    return all(served_by(replica) == leaf for replica in replicas if replica.running)


def trusted(api: Api) -> list[set[x509.Certificate]]:
    """The authorities in each webhook's caBundle."""
    webhooks = [webhook for kind in WEBHOOKS for webhook in api.get(kind, "muster")["webhooks"]]
    bundles = [base64.b64decode(webhook["clientConfig"].get("caBundle", "")) for webhook in webhooks]
    return [set(x509.load_pem_x509_certificates(each)) if each else set() for each in bundles]


def write_files(directory: Path, made: Bundle) -> None:
    """As a kubelet updates a mounted Secret, nearly: one file after the other."""
    for name, value in made.data().items():
        if name != "ca.key":
            (directory / name).write_bytes(base64.b64decode(value))


def rotate_leaf(api: Api, replicas: Replicas) -> x509.Certificate:
    """Once, from a leaf that is due to one that Muster made, served by all."""
    before = bundle(api)
    put(api, aged(before).data())
    return wait_for_another(api, replicas, before.leaf.certificate)


def wait_for_another(api: Api, replicas: Replicas, *old: x509.Certificate) -> x509.Certificate:
    def renewed() -> x509.Certificate | None:
        leaf = bundle(api).leaf.certificate
        young = datetime.now(UTC) - leaf.not_valid_before_utc < DAY
        return leaf if leaf not in old and young and all_serve(replicas, leaf) else None

    return eventually(renewed, "every replica serves a new leaf", 60, every=0.05)
