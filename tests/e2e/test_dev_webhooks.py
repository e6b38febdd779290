"""`muster run --dev`: admission that lives and dies with the process on a developer's machine."""

import base64
import signal
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.clusters.api import Api, Object
from tests.clusters.cluster import Cluster
from tests.clusters.muster import Muster, webhook_is_called
from tests.clusters.objects import all_pods, gang_job, group_of, is_running, job, pods_of
from tests.clusters.pairs import assert_one_pair
from tests.clusters.waiting import always, eventually

NAME = "muster-dev"
KINDS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
SIZE = 3
ENDING_SECONDS = 5


@pytest.fixture
def one(local: Cluster, tmp_path: Path) -> Iterator[Muster]:
    yield from not_started(local, tmp_path / "one.log")


@pytest.fixture
def another(local: Cluster, tmp_path: Path) -> Iterator[Muster]:
    yield from not_started(local, tmp_path / "another.log")


def not_started(cluster: Cluster, log: Path) -> Iterator[Muster]:
    process = Muster(cluster.muster_kubeconfig(), cluster.api, log)
    yield process
    process.terminate()
    assert "Traceback" not in (log.read_text() if log.exists() else ""), f"Muster logged a traceback: {log}"


def test_a_dev_run_serves_on_a_free_loopback_port_and_registers_itself_by_url(api: Api, one: Muster) -> None:
    with one:
        mutating, guard = (webhook(api, kind) for kind in KINDS)
        assert address(mutating)[0] == "127.0.0.1"
        assert address(mutating) == address(guard)
        assert listening_addresses(one.pid) >= {address(mutating)}
        assert {host for host, _port in listening_addresses(one.pid)} == {"127.0.0.1"}
        for hook in (mutating, guard):
            assert "service" not in hook["clientConfig"]
            assert_serves_a_certificate_of_this_authority(hook)


def test_two_dev_runs_share_neither_a_certificate_nor_a_port_in_use(api: Api, one: Muster) -> None:
    with one:
        hook = webhook(api, KINDS[0])
        first = hook["clientConfig"]
        one.kill()
        with socket.create_server(address(hook)):
            one.start()
            one.wait_until_ready()
        second = webhook(api, KINDS[0])["clientConfig"]
    assert first["caBundle"] != second["caBundle"]
    assert first["url"] != second["url"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "Ctrl-C"])
def test_a_dev_run_removes_its_webhooks_when_it_ends(
    api: Api, one: Muster, namespace: str, number: signal.Signals
) -> None:
    one.start()
    one.wait_until_ready()
    asked = time.monotonic()
    one.signal(number)
    assert one.wait(15) == 0
    assert time.monotonic() - asked < ENDING_SECONDS
    assert not registered(api)
    api.create("jobs", gang_job("after", SIZE), namespace)
    eventually(
        lambda: all_pods(api, namespace, "after", SIZE, is_running), "a gang Job made after that runs, without a gang"
    )
    assert {group_of(pod) for pod in pods_of(api, namespace, "after")} == {None}


def test_a_killed_dev_run_leaves_its_webhooks_and_gangs_wait_for_the_next_start(
    api: Api, one: Muster, another: Muster, namespace: str
) -> None:
    with one:
        before = registered(api)
        one.kill()
        assert registered(api) == before
        assert set(before) == set(KINDS)
        gang = api.create("jobs", gang_job("gang", SIZE), namespace)
        api.create("jobs", job("plain", parallelism=SIZE, completions=SIZE), namespace)
        api.create("pods", lone_pod("lone"), namespace)
        eventually(lambda: all_pods(api, namespace, "plain", SIZE, is_running), "a Job that is not Indexed runs")
        eventually(lambda: is_running(api.get("pods", "lone", namespace)), "a pod of no Job runs")
        always(lambda: not pods_of(api, namespace, "gang"), "the gang waits, without a pod", 3)
        with another:
            eventually(lambda: all_pods(api, namespace, "gang", SIZE, is_running), "the gang that waited runs", 60)
            assert_one_pair(api, namespace, gang, SIZE)
            taken_over = registered(api)
            assert set(taken_over) == set(KINDS)
            assert not set(before.values()) & set(taken_over.values())
        assert not registered(api)


def test_a_second_dev_run_takes_over_the_webhooks_and_keeps_them(api: Api, one: Muster, another: Muster) -> None:
    with one:
        of_the_first = registered(api)
        with another:
            of_the_second = registered(api)
            assert set(of_the_second) == set(KINDS)
            assert not set(of_the_first.values()) & set(of_the_second.values())
            assert one.terminate() == 0
            assert registered(api) == of_the_second
            assert webhook_is_called(api)
        assert not registered(api)


def registered(api: Api) -> dict[str, str]:
    """Which of the two configurations exist, and in which version."""
    found = {kind: api.find(kind, NAME) for kind in KINDS}
    return {kind: str(thing["metadata"]["resourceVersion"]) for kind, thing in found.items() if thing is not None}


def webhook(api: Api, kind: str) -> Object:
    hook: Object = api.get(kind, NAME)["webhooks"][0]
    return hook


def address(hook: Object) -> tuple[str, int]:
    url = urlsplit(hook["clientConfig"]["url"])
    assert url.scheme == "https"
    assert url.hostname is not None
    assert url.port is not None
    return url.hostname, url.port


def listening_addresses(pid: int) -> set[tuple[str, int]]:
    """Every address on which this process listens, from the kernel's own tables."""
    inodes = {link.readlink().name for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()}
    found = set()
    for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
            host, port = fields[1].split(":")
            found.add((socket.inet_ntoa(bytes.fromhex(host)[::-1]), int(port, 16)))
    assert "0A" not in {line.split()[3] for line in own_ipv6(pid, inodes)}, "it listens on IPv6 too"
    return found


def own_ipv6(pid: int, inodes: set[str]) -> list[str]:
    table = Path(f"/proc/{pid}/net/tcp6")
    lines = table.read_text().splitlines()[1:] if table.exists() else []
    return [line for line in lines if f"socket:[{line.split()[9]}]" in inodes]


def assert_serves_a_certificate_of_this_authority(hook: Object) -> None:
    authority = base64.b64decode(hook["clientConfig"]["caBundle"]).decode()
    trust = ssl.create_default_context(cadata=authority)
    host, port = address(hook)
    with socket.create_connection((host, port), 5) as plain, trust.wrap_socket(plain, server_hostname=host) as secure:
        assert secure.getpeercert()


def lone_pod(name: str) -> Object:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "c"}]}}
