"""Strangers at the webhook port: beside each of them the API server asks 100 times a second, and loses nothing."""

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.clusters.api import Api, Object
from tests.clusters.cluster import ACCOUNT, Cluster
from tests.clusters.https import pod_of
from tests.clusters.muster import Muster
from tests.clusters.namespaces import own_namespace
from tests.clusters.objects import all_pods, gang_job, is_bound
from tests.clusters.waiting import eventually
from tests.e2e.support.honest import ROOT, Honest, Outcome
from tests.e2e.support.strangers import CASES, http

pytestmark = pytest.mark.quiet

P99_SECONDS = 0.25
PEAK_MIB, AFTER_MIB = 100, 30
SAMPLE = ["quadratic query strings", "JSON bombs", "slow bodies", "idle connections", "made-up Jobs"]
LEAD_SECONDS = 0.3


@pytest.fixture(scope="module")
def gang(api: Api) -> Iterator[Object]:
    """A Job that Muster knows, with all its pods on nodes."""
    with contextmanager(own_namespace)(api) as namespace:
        made = api.create("jobs", gang_job("honest", size=2, cpu="10m"), namespace)
        eventually(lambda: all_pods(api, namespace, "honest", 2, is_bound), "the gang runs", 60)
        yield made


@pytest.fixture(scope="module")
def request_bytes(gang: Object) -> bytes:
    request = {
        "uid": "honest",
        "operation": "CREATE",
        "namespace": gang["metadata"]["namespace"],
        "object": pod_of(gang),
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return http("/pods?timeout=2s", json.dumps(review).encode())


@pytest.fixture(scope="module")
def port(local: Cluster, muster: Muster) -> int:
    assert local
    return int(re.findall(r"admission is served on https://\S+:(\d+)", muster.log())[-1])


class Resident:
    """The process's memory in MiB, before and at its peak."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.before = self.peak = self.now()

    def now(self) -> float:
        (line,) = [line for line in Path(f"/proc/{self._pid}/status").read_text().splitlines() if "VmRSS" in line]
        return int(line.split()[1]) / 1024

    @contextmanager
    def watched(self) -> Iterator[None]:
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(0.02):
                self.peak = max(self.peak, self.now())

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        yield
        ended.set()
        thread.join()


def abused(case: str, port: int, seconds: float, request: bytes) -> Outcome:
    """What the API server got while strangers did that, and a moment longer."""
    command = [sys.executable, "-m", "tests.e2e.support.strangers", case, str(port), str(seconds)]
    strangers = subprocess.Popen(command, cwd=ROOT)
    time.sleep(LEAD_SECONDS)
    try:
        return Honest(port, seconds, request).outcome(seconds + 60)
    finally:
        assert strangers.wait(60) == 0


def check(case: str, muster: Muster, port: int, seconds: float, request: bytes) -> None:
    memory = Resident(muster.pid)
    with memory.watched():
        outcome = abused(case, port, seconds, request)
    print(
        f"{case}: {len(outcome.seconds)} answered, {len(outcome.lost)} lost, p99 {outcome.p99 * 1000:.0f} ms, "
        f"max {max(outcome.seconds) * 1000:.0f} ms, "
        f"memory {memory.before:.0f} MiB, peak +{memory.peak - memory.before:.0f}, "
        f"after +{memory.now() - memory.before:.0f}; load {Path('/proc/loadavg').read_text().split()[0]}"
    )
    assert outcome.lost == []
    assert len(outcome.seconds) == int(seconds * 100)
    assert outcome.p99 <= P99_SECONDS
    assert memory.peak - memory.before < PEAK_MIB
    eventually(lambda: memory.now() - memory.before < AFTER_MIB, f"the memory after {case} is given back", 20)


@pytest.mark.parametrize("case", SAMPLE)
def test_no_request_is_lost_beside_some_abusive_clients(
    case: str, muster: Muster, port: int, request_bytes: bytes
) -> None:
    check(case, muster, port, 2, request_bytes)


@pytest.mark.full
@pytest.mark.parametrize("case", CASES)
def test_no_request_is_lost_beside_abusive_clients(case: str, muster: Muster, port: int, request_bytes: bytes) -> None:
    check(case, muster, port, 10, request_bytes)


def test_a_made_up_job_costs_one_read_and_only_so_many_are_read(
    local: Cluster, muster: Muster, port: int, request_bytes: bytes
) -> None:
    began, position = time.monotonic(), local.audit_position()
    abused("made-up Jobs", port, 2, request_bytes)
    seconds = time.monotonic() - began
    with local.audit_log.open("rb") as log:
        log.seek(position)
        lines = [json.loads(line) for line in log.read().splitlines()]
    uris = [
        line["requestURI"] for line in lines if line["user"]["username"] == ACCOUNT and "default" in line["requestURI"]
    ]
    reads = [uri for uri in uris if uri.endswith("/namespaces/default/jobs/made-up")]
    assert 100 <= len(reads) <= 400 + 200 * (seconds + 2)
    assert uris == reads, "nothing else is asked for a Job that is not there"
