"""Ways in which the API server does not get an answer from Muster, each for the time of a block."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from muster.admission.certificates import ServingCertificate, as_pem, new_leaf
from tests.e2e.support.api import Api
from tests.e2e.support.replicas import Replicas
from tests.e2e.support.service import Endpoint
from tests.e2e.support.vault import DAY, HOST, bundle

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
