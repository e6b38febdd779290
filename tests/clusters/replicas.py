"""Muster as it is installed: N processes behind one Service, each with a settings file of its own.

    with Replicas(cluster, folder, count=2) as replicas:
        replicas.wait_until_ready()
        replicas[0].terminate()          # or .kill(), .start(), .readyz(), .log()
        with replicas.relay.black_hole():
            ...

The processes are logged in as Muster's ServiceAccount. `settings` is merged into the settings file of each.
"""

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import yaml

from local_cluster.ports import free_loopback_ports
from tests.clusters.api import Api, ApiError, Object
from tests.clusters.cluster import Cluster
from tests.clusters.muster import MUSTER, webhook_is_called
from tests.clusters.service import Endpoint, ServiceRelay, readyz
from tests.clusters.waiting import eventually

NAMESPACE = "muster-system"
STARTING_SECONDS = 60
WEBHOOKS = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
QUICK: Object = {"probeSeconds": 1, "serving": {"drainSeconds": 1}}


class Replica:
    """One process. It can be started again; it is another pod then, with the same ports."""

    def __init__(
        self, name: str, kubeconfig: Path, folder: Path, settings: Object, program: Sequence[str] = (MUSTER,)
    ) -> None:
        self.name = name
        self.endpoint = Endpoint(free_port(), free_port())
        self.log_file = folder / f"{name}.log"
        self.config = folder / f"{name}.yaml"
        self.configure(settings)
        self._command = [
            *program,
            *("run", "--config", str(self.config), "--kubeconfig", str(kubeconfig)),
        ]
        self.process: subprocess.Popen[bytes] | None = None
        self._lives = 0

    def configure(self, settings: Object) -> None:
        """Settings that count from the next start on."""
        self._service_port = settings["service"]["port"]
        ports = {"address": "127.0.0.1", "port": self.endpoint.port, "healthPort": self.endpoint.health_port}
        self.config.write_text(yaml.safe_dump(merged(settings, {"serving": ports})))

    def start(self) -> Self:
        assert not self.running, f"{self.name} runs already"
        self._lives += 1
        service = {"MUSTER_SERVICE_HOST": "127.0.0.1", "MUSTER_SERVICE_PORT": str(self._service_port)}
        environment = {**os.environ, **service, "POD_NAMESPACE": NAMESPACE, "POD_NAME": self.identity}
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(self._command, stdout=log, stderr=log, env=environment)
        return self

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def identity(self) -> str:
        """What its pod would be called."""
        return f"{self.name}-{self._lives}"

    def readyz(self) -> tuple[int, str]:
        return readyz(self.endpoint.health_port)

    def livez(self) -> tuple[int, str]:
        return readyz(self.endpoint.health_port, "/livez")

    def metrics(self) -> str:
        return readyz(self.endpoint.health_port, "/metrics")[1]

    def log(self) -> str:
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        assert self.process is not None
        self.process.wait(10)

    def terminate(self, seconds: float = 30) -> int:
        """SIGTERM, as the kubelet does; the exit code."""
        if self.process is None:
            return 0
        if self.running:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def wait_until_ready(self, seconds: float = STARTING_SECONDS) -> None:
        def ready() -> bool:
            assert self.running, f"{self.name} ended: {self.log()[-2000:]}"
            assert self.readyz()[0] == 200, self.readyz()[1]
            return True

        eventually(ready, f"{self.name} is ready", seconds, every=0.05)


class Replicas:
    def __init__(
        self,
        cluster: Cluster,
        folder: Path,
        count: int = 2,
        settings: Object | None = None,
        kubeconfig: Path | None = None,
        *,
        program: Sequence[str] = (MUSTER,),
        others: Sequence[Path] = (),
    ) -> None:
        """Replicas with the same login, and one more for each other login, which the test starts itself."""
        self.api: Api = cluster.api
        self.relay = ServiceRelay()
        self.settings = merged(merged(QUICK, settings or {}), {"service": {"port": self.relay.port}})
        login = kubeconfig or cluster.muster_kubeconfig()
        logins = [*[login] * count, *others]
        self._all = [Replica(f"muster-{n}", each, folder, self.settings, program) for n, each in enumerate(logins)]
        self._at_once = count
        self.relay.endpoints = [replica.endpoint for replica in self._all]

    def __enter__(self) -> Self:
        put_service(self.api)
        self.relay.__enter__()
        for replica in self._all[: self._at_once]:
            replica.start()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.stop()
        finally:
            self.relay.__exit__()
            clean_up(self.api)

    def __getitem__(self, number: int) -> Replica:
        return self._all[number]

    def __iter__(self) -> Iterator[Replica]:
        return iter(self._all)

    def wait_until_ready(self, seconds: float = STARTING_SECONDS) -> None:
        """Every running one is, the API server asks the webhook, and the webhook answers."""
        for replica in self._all:
            if replica.running:
                replica.wait_until_ready(seconds)
        eventually(lambda: webhook_is_called(self.api), "the API server asks the webhook", seconds, every=0.05)

    def stop(self) -> list[int]:
        """All at once. The webhooks stay, as they do in a cluster."""
        for replica in self._all:
            if replica.running:
                replica.signal(signal.SIGTERM)
        return [replica.terminate() for replica in self._all]

    def logs(self) -> str:
        return "".join(replica.log() for replica in self._all)


def put_service(api: Api) -> None:
    """Of a type that leads to loopback: there is no kube-proxy."""
    body = {"metadata": {"name": "muster"}, "spec": {"type": "ExternalName", "externalName": "localhost"}}
    try:
        api.create("services", body, NAMESPACE)
    except ApiError as error:
        if error.status != 409:
            raise


def registered(api: Api) -> list[str]:
    """The kinds of webhook configurations of Muster that have webhooks in them."""
    return [kind for kind in WEBHOOKS if (api.find(kind, "muster") or {}).get("webhooks")]


def clean_up(api: Api) -> None:
    """What an uninstall takes away, so that the next test begins anew."""
    for kind in registered(api):
        api.patch(kind, "muster", {"webhooks": []})  # the objects themselves are the chart's
    places = [
        ("secrets", "muster-certificates", NAMESPACE),
        ("leases", "muster", NAMESPACE),
        ("services", "muster", NAMESPACE),
    ]
    for kind, name, namespace in places:
        if api.find(kind, name, namespace) is not None:
            api.delete(kind, name, namespace)


def merged(base: Object, change: Object) -> Object:
    result: dict[str, Any] = {**base}
    for key, value in change.items():
        known = result.get(key)
        result[key] = merged(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return result


_given_out: set[int] = set()


def free_port() -> int:
    """One that nobody uses, that was not given out before, and that no outgoing connection takes during a restart."""
    port = next(each for each in free_loopback_ports() if each not in _given_out)
    _given_out.add(port)
    return port
