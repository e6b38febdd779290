"""Requests to one API server: create Jobs, count objects on a watch stream, remove a namespace.

The streams are counted by the first bytes of each line: decoding them would cost CPU that the control plane needs.
"""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bench_run.cluster import BenchError, Side
from local_cluster.api import AdminClient, admin_context

SUBMITTERS = 8
ERROR = b'{"type":"ERROR"'
ADDED = b'{"type":"ADDED"'
REVISION = re.compile(rb'"resourceVersion":"([0-9]+)"')
BOUND = "/api/v1/namespaces/{}/pods?watch=1&fieldSelector=spec.nodeName!="
POD_GROUPS = "/apis/scheduling.k8s.io/v1alpha2/namespaces/{}/podgroups?watch=1"
GONE_SECONDS = 300


def _unnamed(_: bytes) -> str:
    return ""


class Stream:
    """A watch stream that is read in a thread. Owns the connection; keeps when each object was added.

    The API server ends a stream that it cannot write to fast enough, which happens on two busy cores: the stream then
    continues where it ended.
    """

    def __init__(self, side: Side, path: str, name_of: Callable[[bytes], str] = _unnamed) -> None:
        self.added: list[tuple[float, str]] = []
        self._side, self._path, self._revision, self._closed, self._ended = side, path, "", False, ""
        self._arrived = threading.Condition()
        self._name_of = name_of
        self._answer = self._connect()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _connect(self) -> http.client.HTTPResponse:
        context = admin_context(self._side.layout)
        self._connection = http.client.HTTPSConnection("127.0.0.1", self._side.port, context=context)
        since = f"&resourceVersion={self._revision}" if self._revision else ""
        self._connection.request("GET", self._path + since)
        answer = self._connection.getresponse()
        if answer.status != 200:
            raise BenchError(f"The API server answered {answer.status} to {self._path}.")
        return answer

    def _read(self) -> None:
        try:
            while not self._closed:
                for line in self._lines():
                    self._take(line)
                if not self._closed:
                    self._answer = self._connect()
        except (OSError, ValueError, http.client.HTTPException, BenchError) as error:
            with self._arrived:
                self._ended = str(error) or type(error).__name__
                self._arrived.notify()

    def _lines(self) -> Iterator[bytes]:
        rest = b""
        while chunk := self._answer.read1(1 << 16):
            *lines, rest = (rest + chunk).split(b"\n")
            yield from lines

    def _take(self, line: bytes) -> None:
        if line.startswith(ERROR):
            raise BenchError(line.decode(errors="replace")[:300])
        if found := REVISION.search(line):
            self._revision = found[1].decode()
        if line.startswith(ADDED):
            with self._arrived:
                self.added.append((time.monotonic(), self._name_of(line)))
                self._arrived.notify()

    def wait_for(self, count: int, seconds: float) -> float:
        """When the object of this number came."""
        with self._arrived:
            self._arrived.wait_for(lambda: len(self.added) >= count or self._ended, seconds)
            if len(self.added) < count:
                ended = f" The watch stream ended: {self._ended}." if self._ended else ""
                raise BenchError(
                    f"After {seconds:.0f} s at most, there are {len(self.added)} of {count} objects.{ended}"
                )
            return self.added[count - 1][0]

    def close(self) -> None:
        self._closed = True
        if self._connection.sock is not None:
            self._connection.sock.shutdown(socket.SHUT_RDWR)  # this ends the read that the thread waits in
        self._thread.join(5)
        self._connection.close()


def owner_of(line: bytes) -> str:
    """The name of the Job that controls the object."""
    owners = json.loads(line)["object"]["metadata"].get("ownerReferences", [])
    return next((str(owner["name"]) for owner in owners if owner["kind"] == "Job"), "")


def submit(side: Side, namespace: str, manifests: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Create the Jobs, several at a time. When each request was sent, by name."""
    local = threading.local()

    def create(manifest: dict[str, Any]) -> tuple[str, float]:
        if not hasattr(local, "client"):
            local.client = AdminClient(side.layout, side.port)
        sent = time.monotonic()
        _accepted(local.client.request("POST", f"/apis/batch/v1/namespaces/{namespace}/jobs", manifest))
        return manifest["metadata"]["name"], sent

    with ThreadPoolExecutor(SUBMITTERS) as pool:
        return dict(pool.map(create, manifests))


def make_namespace(side: Side, name: str) -> None:
    client = AdminClient(side.layout, side.port)
    _accepted(client.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}}))
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    deadline = time.monotonic() + 30
    while client.request("GET", account)[0] != 200:
        if time.monotonic() > deadline:
            raise BenchError(f"Namespace {name} has no default ServiceAccount.")
        time.sleep(0.05)


def remove_namespace(side: Side, name: str) -> None:
    """And wait until all that was in it is gone, so that it costs the next measurement nothing."""
    client, path = AdminClient(side.layout, side.port), f"/api/v1/namespaces/{name}"
    _accepted(client.request("DELETE", path))
    deadline = time.monotonic() + GONE_SECONDS
    while client.request("GET", path)[0] != 404:
        if time.monotonic() > deadline:
            raise BenchError(f"Namespace {name} is still there after {GONE_SECONDS} s.")
        time.sleep(0.5)


def _accepted(answer: tuple[int, Any]) -> None:
    status, body = answer
    if status >= 300:
        raise BenchError(f"The API server answered {status}: {str(body)[:300]}")
