"""What a Service does for an installed Muster, where no kube-proxy does it: a TCP relay in front of the replicas.

The API server resolves a webhook's Service of type ExternalName to that host, at the port that the webhook names, and
still asks for a certificate of `<name>.<namespace>.svc`. So the relay listens there, and takes the next replica that
is ready for each new connection. A test can make it slow, let it swallow everything, or cut it.
"""

import contextlib
import http.client
import itertools
import selectors
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

LOOKS_EVERY_SECONDS = 0.1
"""How often a replica is asked whether it is ready."""


@dataclass(eq=False)
class Endpoint:
    """One replica: where it serves admission, and where it tells whether it is ready."""

    port: int
    health_port: int
    ready: bool = False


class ServiceRelay:
    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port: int = self._socket.getsockname()[1]
        self.endpoints: list[Endpoint] = []
        self.connections = 0
        """How many were accepted so far."""
        self._turn = itertools.count()
        self._delay_seconds = 0.0
        self._swallows = self._refuses = self._ended = False
        self._open: set[socket.socket] = set()

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, name="service", daemon=True).start()
        threading.Thread(target=self._look, name="service-readiness", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = True
        self._socket.close()
        self.cut_connections()

    @contextlib.contextmanager
    def black_hole(self) -> Iterator[None]:
        """Connections are accepted, and nothing ever comes back: also on those that are open."""
        self._swallows = True
        try:
            yield
        finally:
            self._swallows = False
            self.cut_connections()

    @contextlib.contextmanager
    def slow(self, seconds: float) -> Iterator[None]:
        """Whatever comes back comes that much later."""
        self._delay_seconds = seconds
        try:
            yield
        finally:
            self._delay_seconds = 0.0

    @contextlib.contextmanager
    def cut(self) -> Iterator[None]:
        """As if no replica were ready: every connection ends at once."""
        self._refuses = True
        self.cut_connections()
        try:
            yield
        finally:
            self._refuses = False

    def cut_connections(self) -> None:
        """Every connection that is open ends now."""
        for each in list(self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def ready(self) -> list[Endpoint]:
        return [each for each in self.endpoints if each.ready]

    def _look(self) -> None:
        while not self._ended:
            for each in list(self.endpoints):
                each.ready = readyz(each.health_port)[0] == 200
            time.sleep(LOOKS_EVERY_SECONDS)

    def _accept(self) -> None:
        while not self._ended:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def _relay(self, client: socket.socket) -> None:
        self._open.add(client)
        upstream: socket.socket | None = None
        try:
            upstream = self._connect()
            if upstream is not None:
                self._open.add(upstream)
                self._pump(client, upstream)
        except OSError:
            pass  # either side went away: the other one sees it below
        finally:
            for each in (client, upstream):
                if each is not None:
                    self._open.discard(each)
                    each.close()

    def _connect(self) -> socket.socket | None:
        """The next one that is ready. As kube-proxy, it does not try another one after that."""
        if self._refuses:
            return None
        ready = self.ready()
        if not ready and not self._swallows:
            return None
        if not ready:
            time.sleep(60)
            return None
        return socket.create_connection(("127.0.0.1", ready[next(self._turn) % len(ready)].port), 5)

    def _pump(self, client: socket.socket, upstream: socket.socket) -> None:
        for each in (client, upstream):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with selectors.DefaultSelector() as selector:
            selector.register(client, selectors.EVENT_READ, upstream)
            selector.register(upstream, selectors.EVENT_READ, client)
            while True:
                for key, _ in selector.select():
                    source, target = key.fileobj, key.data
                    assert isinstance(source, socket.socket)
                    data = source.recv(65536)
                    if not data:
                        return
                    if source is upstream and self._delay_seconds:
                        time.sleep(self._delay_seconds)
                    if not self._swallows:
                        target.sendall(data)


def readyz(health_port: int, path: str = "/readyz") -> tuple[int, str]:
    """What a kubelet hears; 0 if nobody answers."""
    connection = http.client.HTTPConnection("127.0.0.1", health_port, timeout=2)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode().strip()
    except (OSError, http.client.HTTPException) as error:
        return 0, str(error)
    finally:
        connection.close()
