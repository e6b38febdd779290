"""A relay between Muster and the API server, which a test can make slow, broken or absent.

It uses plain HTTP towards Muster and passes Muster's own token on, so the API server sees Muster's account and rights.
"""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

import urllib3
import yaml
from kubernetes import client, config


@dataclass(frozen=True)
class Call:
    method: str
    path: str
    query: dict[str, list[str]]

    @property
    def is_watch(self) -> bool:
        return "watch" in self.query

    @property
    def plural(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class Answer:
    """What the relay says instead of the API server."""

    status: int
    body: dict[str, Any]


Meddle = Callable[[Call], Answer | None]
"""May sleep. None: let the call pass."""


def let_pass(_: Call) -> Answer | None:
    return None


def failure(status: int) -> Answer:
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status, "message": "made up by the test"}
    return Answer(status, body)


def error_in_stream(status: int) -> Answer:
    """A watch that begins well, and then reports an error."""
    return Answer(200, {"type": "ERROR", "object": failure(status).body})


class Relay:
    def __init__(self, kubeconfig: Path) -> None:
        settings = client.Configuration()
        config.load_kube_config(config_file=str(kubeconfig), client_configuration=settings)  # type: ignore[no-untyped-call]
        self.upstream = settings.host.rstrip("/")
        self.pool = urllib3.PoolManager(maxsize=64, ca_certs=settings.ssl_ca_cert, retries=False)
        self.meddle: Meddle = let_pass
        self.open_watches: set[urllib3.BaseHTTPResponse] = set()
        self._source = kubeconfig
        self._server: _Server | None = None
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port: int = probe.getsockname()[1]

    def listen(self) -> Self:
        """Until then, nothing answers at the relay's address."""
        self._server = _Server(self, self.port)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def close(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
        self.cut_watches()

    def cut_watches(self) -> None:
        """Every stream that is open ends now."""
        for stream in list(self.open_watches):
            with contextlib.suppress(Exception):
                stream.shutdown()

    def kubeconfig(self, folder: Path) -> Path:
        """Muster's own, with the relay in the place of the API server."""
        content = yaml.safe_load(self._source.read_text())
        for entry in content["clusters"]:
            entry["cluster"] = {"server": f"http://127.0.0.1:{self.port}"}
        file = folder / "through-the-relay.kubeconfig"
        file.write_text(yaml.safe_dump(content))
        return file

    @contextlib.contextmanager
    def meddling(self, how: Meddle) -> Iterator[None]:
        self.meddle = how
        try:
            yield
        finally:
            self.meddle = let_pass


def slow(seconds: float, plural: str) -> Meddle:
    """Every call about these objects takes that much longer."""

    def meddle(call: Call) -> Answer | None:
        if call.plural == plural:
            time.sleep(seconds)
        return None

    return meddle


def far_away(seconds: float) -> Meddle:
    """Every call takes that much longer; open streams continue."""

    def meddle(call: Call) -> Answer | None:
        if not call.is_watch:
            time.sleep(seconds)
        return None

    return meddle


@dataclass
class DeadWatches:
    """Every watch gets this answer and no other; `refused` tells whose streams are known to be dead."""

    answer: Answer
    of_workloads: Answer | None = None
    """What the watch of Workloads gets instead."""
    refused: set[str] = field(default_factory=set)
    probed: set[str] = field(default_factory=set)
    """Whose watch was tried out by Muster, in vain."""

    def __call__(self, call: Call) -> Answer | None:
        if not call.is_watch:
            return None
        plurals = self.probed if "fieldSelector" in call.query else self.refused  # a probe looks for one name only
        plurals.add(call.plural)
        return (self.of_workloads if call.plural == "workloads" else None) or self.answer


def blind_to_jobs(call: Call) -> Answer | None:
    """No list and no stream shows a Job. One that is asked for by name is found."""
    return failure(500) if call.path == "/apis/batch/v1/jobs" else None


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, relay: Relay, port: int) -> None:
        self.relay = relay
        super().__init__(("127.0.0.1", port), _Handler)

    def handle_error(self, *_: object) -> None:
        """Muster went away between two requests, which is none of the test's business."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        call = Call(self.command, url.path, parse_qs(url.query))
        try:
            answer = self.server.relay.meddle(call)
            self._say(answer) if answer is not None else self._pass_on(call, body)
        except (OSError, urllib3.exceptions.HTTPError):
            self.close_connection = True  # either side went away in the middle: let the other one see it

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the library's names

    def _say(self, answer: Answer) -> None:
        content = json.dumps(answer.body).encode() + b"\n"
        self._begin(answer.status, "application/json", {"Content-Length": str(len(content))})
        self.wfile.write(content)

    def _pass_on(self, call: Call, body: bytes) -> None:
        relay = self.server.relay
        kept = {
            name: self.headers[name] for name in ("Authorization", "Content-Type", "User-Agent") if name in self.headers
        }
        answer = relay.pool.request(
            self.command, relay.upstream + self.path, body=body or None, headers=kept, preload_content=False
        )
        if call.is_watch:
            relay.open_watches.add(answer)
        try:
            kind = answer.headers.get("Content-Type", "application/json")
            self._begin(answer.status, kind, {"Transfer-Encoding": "chunked"})
            for chunk in answer.stream(65536):
                self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
            self.wfile.write(b"0\r\n\r\n")
        finally:
            relay.open_watches.discard(answer)
            answer.close()

    def _begin(self, status: int, kind: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass
