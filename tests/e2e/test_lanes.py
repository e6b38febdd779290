"""A slow API server and a long queue: the Lease, the webhooks and the probes have connections of their own."""

import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.clusters.api import Api, Object
from tests.clusters.cluster import Cluster
from tests.clusters.muster import webhook_is_called
from tests.clusters.objects import gang_job
from tests.clusters.replicas import NAMESPACE, Replica, Replicas
from tests.clusters.waiting import eventually
from tests.e2e.support.relay import Relay, far_away

pytestmark = pytest.mark.quiet

LATENCY_SECONDS = 2.0
ANSWER_SECONDS = 4.0
"""Muster answers after 80 % of the webhook's two seconds; the rest is this machine's."""


def lease_of(api: Api) -> Object:
    spec: Object = api.get("leases", "muster", NAMESPACE)["spec"]
    return spec


def metric(replica: Replica, name: str, labels: str = "") -> float:
    found = re.search(rf"^{name}{re.escape(labels)} (\S+)$", replica.metrics(), re.MULTILINE)
    return float(found[1]) if found else 0.0


@pytest.mark.parametrize(
    ("jobs", "duration"), [(200, 12), pytest.param(5000, 15, marks=[pytest.mark.full, pytest.mark.timeout(900)])]
)
def test_a_flood_of_eager_work_costs_neither_the_lead_nor_an_answer(
    local: Cluster, namespace: str, tmp_path: Path, jobs: int, duration: int
) -> None:
    api, relay = local.api, Relay(local.muster_kubeconfig()).listen()
    settings = {"leadership": {"durationSeconds": duration, "renewSeconds": duration / 3}}
    with Replicas(local, tmp_path, 2, settings, relay.kubeconfig(tmp_path)) as replicas:
        replicas.wait_until_ready()
        holder = eventually(lambda: lease_of(api)["holderIdentity"], "somebody leads")
        (leader,) = [each for each in replicas if each.identity == holder]
        begun = lease_of(api)["renewTime"]
        eventually(lambda: lease_of(api)["renewTime"] != begun, "the start is over")
        before, changes = lease_of(api), metric(leader, "muster_leader_transitions_total")
        with relay.meddling(far_away(LATENCY_SECONDS)):
            many(lambda n: api.create("jobs", gang_job(f"gang-{n}", size=2, cpu="10m"), namespace), jobs)
            queued = eventually(lambda: metric(leader, "muster_queue_depth", '{queue="jobs"}'), "Jobs are queued")
            renewed, answers, sentences = set(), [], set()
            until = time.monotonic() + 2 * duration + 2
            while time.monotonic() < until:
                lease = lease_of(api)
                assert (lease["holderIdentity"], lease["leaseTransitions"]) == (holder, before["leaseTransitions"])
                renewed.add(lease["renewTime"])
                answers.append(seconds_of(lambda: webhook_is_called(api, namespace)))
                sentences |= {each.readyz() for each in replicas}
                time.sleep(0.5)
        still_queued = metric(leader, "muster_queue_depth", '{queue="jobs"}')
        print(
            f"{jobs} Jobs, {queued:.0f} to {still_queued:.0f} queued, {len(renewed)} renewals, "
            f"{len(answers)} answers in at most {max(answers):.2f} s"
        )
        assert metric(leader, "muster_leader_transitions_total") == changes, "it led all the time"
        assert max(answers) < ANSWER_SECONDS
        assert sentences == {(200, "ready")}, "slow is not broken"
    relay.close()
    assert "Traceback" not in replicas.logs()


def seconds_of(asked: Callable[[], bool]) -> float:
    began = time.monotonic()
    assert asked(), "the webhook answers for itself"
    return time.monotonic() - began


def many(make: Callable[[int], object], count: int) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(make, range(count)))
