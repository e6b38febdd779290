"""Ways in which the API server gets no answer from Muster, each for the time of a block; and who is not concerned."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial

from muster.serving.certificates import ServingCertificate, as_pem, new_leaf
from tests.clusters.api import Api, Object
from tests.clusters.https import pod_of
from tests.clusters.objects import all_pods, gang_job, group_of, is_bound, job
from tests.clusters.replicas import NAMESPACE, Replicas
from tests.clusters.service import Endpoint
from tests.clusters.vault import DAY, HOST, bundle
from tests.clusters.waiting import eventually

LATER_THAN_ANY_TIMEOUT = 3.0


@contextlib.contextmanager
def killed(api: Api, replicas: Replicas) -> Iterator[None]:
    for replica in replicas:
        replica.kill()
    try:
        yield
    finally:
        for replica in replicas:
            replica.start()
        replicas.wait_until_ready()


@contextlib.contextmanager
def black_holed(api: Api, replicas: Replicas) -> Iterator[None]:
    with replicas.relay.black_hole():
        yield


@contextlib.contextmanager
def slow(api: Api, replicas: Replicas) -> Iterator[None]:
    with replicas.relay.slow(LATER_THAN_ANY_TIMEOUT):
        yield


@contextlib.contextmanager
def expired(api: Api, replicas: Replicas) -> Iterator[None]:
    """In the place of the replicas stands somebody whose certificate is by the right authority, and too old."""
    authority = bundle(api).authority
    leaf, key = new_leaf(authority, [HOST], datetime.now(UTC) - 91 * DAY, 90 * DAY).pem()
    context = ServingCertificate(as_pem(authority.certificate), leaf, key).ssl_context()
    relay, known = replicas.relay, replicas.relay.endpoints
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        threading.Thread(target=_shake_hands, args=(listener, context), daemon=True).start()
        relay.endpoints = [Endpoint(listener.getsockname()[1], known[0].health_port, ready=True)]
        relay.cut_connections()
        try:
            yield
        finally:
            relay.endpoints = known
            relay.cut_connections()


def _shake_hands(listener: socket.socket, context: ssl.SSLContext) -> None:
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        client.settimeout(5)
        with contextlib.suppress(OSError), context.wrap_socket(client, server_side=True) as secure:
            secure.recv(1)


Outage = Callable[[Api, Replicas], contextlib.AbstractContextManager[None]]
OUTAGES: dict[str, Outage] = {
    "no replica is up": killed,
    "black-holed": black_holed,
    "slow": slow,
    "an expired certificate": expired,
}
NEVER_ASKED = ("kube-system", NAMESPACE)


def settings(policy: str) -> Object:
    return {
        "webhooks": {each: {"failurePolicy": policy} for each in ("pods", "parallelismGuard", "podGroups")},
        "leadership": {"durationSeconds": 3, "renewSeconds": 1},
    }


def assert_nothing_else_is_refused(api: Api, namespace: str) -> None:
    """Pods of other Jobs, pods of nobody, other objects; and nothing at all where Muster is never asked."""
    api.create("jobs", job("plain", parallelism=2, completions=2), namespace)
    api.create("pods", {"metadata": {"name": "alone"}, "spec": pod_spec()}, namespace)
    api.create("configmaps", {"metadata": {"name": "made-meanwhile"}}, namespace)
    api.patch("jobs", "indexed" if api.find("jobs", "indexed", namespace) else "train", NOTE, namespace)
    for place in NEVER_ASKED:
        made = api.create("jobs", gang_job(f"in-{place}", pod=restricted_pod()), place)
        try:
            by_hand = {**pod_of(made), "spec": made["spec"]["template"]["spec"]}
            api.create("pods", by_hand, place, dryRun="All")
            pods = eventually(partial(all_pods, api, place, f"in-{place}", 4), f"pods in {place}", 60)
            assert {group_of(pod) for pod in pods} == {None}
        finally:
            api.delete("jobs", f"in-{place}", place)
    eventually(lambda: all_pods(api, namespace, "plain", 2, is_bound), "pods of other Jobs are made", 60)


NOTE = {"metadata": {"annotations": {"changed": "meanwhile"}}}


def pod_spec() -> Object:
    return {"containers": [{"name": "c", "image": "c"}]}


def restricted_pod() -> Object:
    """As Pod Security wants it in Muster's own namespace."""
    contained = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    return {
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{"name": "worker", "image": "worker", "securityContext": contained}],
    }
