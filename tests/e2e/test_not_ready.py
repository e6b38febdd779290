"""What Muster lacks makes it not ready, with one clear sentence; it recovers by itself when the cause is gone."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.clusters.api import Api
from tests.clusters.cluster import Cluster, start_cluster
from tests.clusters.https import readyz
from tests.clusters.muster import Muster
from tests.clusters.objects import all_pods, gang_job, group_of, is_bound
from tests.clusters.pairs import pair_of
from tests.clusters.rights import without_right
from tests.clusters.waiting import always, eventually
from tests.e2e.support.relay import Relay

NOTICED_SECONDS = 30
"""A right that goes missing is noticed at the next probe, which is 15 s away at most."""

RIGHTS = ["list jobs", "list pods", "list workloads", "watch podgroups", "create workloads", "create podgroups"]
IN_EVERY_RUN = {"create workloads", "create podgroups"}


@pytest.fixture
def stock() -> Iterator[Cluster]:
    """Plain Kubernetes, as it comes: Workload and PodGroup are not served."""
    cluster = start_cluster("stock", "--profile", "stock", "--nodes", "2")
    yield cluster
    cluster.down()


@pytest.mark.full
def test_muster_reports_a_missing_api_and_uses_it_once_it_is_served(stock: Cluster, tmp_path: Path) -> None:
    with begun(stock.muster_kubeconfig(), stock.api, tmp_path) as muster:
        reports(muster, "start it with --runtime-config=scheduling.k8s.io/v1alpha2=true")
        always(lambda: muster.running and readyz(muster)[0] == 503, "Muster runs, and is not ready", 3)
        stock.restart("--profile", "native")
        muster.wait_until_ready(90)
        assert readyz(muster) == (200, "ready")
        runs_a_gang(stock.api, "default")


@pytest.mark.parametrize(
    "right", [pytest.param(each, marks=[] if each in IN_EVERY_RUN else pytest.mark.full) for each in RIGHTS]
)
def test_muster_reports_a_missing_right_and_recovers(
    local: Cluster, api: Api, muster: Muster, namespace: str, right: str
) -> None:
    """The Job that comes meanwhile waits, and starts as a gang."""
    verb, resource = right.split()
    heard = len(muster.log())
    with without_right(local, verb, resource):
        if verb == "create":  # missed only when it is needed
            api.create("jobs", gang_job("waiting"), namespace)
        reports(muster, f'cannot {verb} resource "{resource}"', since=heard)
        if verb != "create":
            api.create("jobs", gang_job("waiting"), namespace)
    eventually(lambda: readyz(muster) == (200, "ready"), "Muster is ready again", NOTICED_SECONDS)
    started_as_a_gang(api, namespace, "waiting")
    assert muster.running


@pytest.mark.parametrize(
    "right",
    [
        "create workloads",
        *(pytest.param(each, marks=pytest.mark.full) for each in ("create podgroups", "create events")),
    ],
)
def test_muster_that_starts_without_a_right_waits_for_it(
    local: Cluster, muster: Muster, namespace: str, tmp_path: Path, right: str
) -> None:
    """It registers nothing until it can do its work, so no pod waits for it."""
    verb, resource = right.split()
    with (
        muster.away(),
        without_right(local, verb, resource) as restore,
        begun(local.muster_kubeconfig(), local.api, tmp_path) as late,
    ):
        reports(late, f"lacks a permission that its roles must grant: it may not {verb} {resource}")
        assert local.api.find("mutatingwebhookconfigurations", "muster-dev") is None
        restore()
        late.wait_until_ready()
        runs_a_gang(local.api, namespace)


def test_muster_waits_for_an_api_server_that_starts_later(
    local: Cluster, muster: Muster, namespace: str, tmp_path: Path
) -> None:
    relay = Relay(local.muster_kubeconfig())
    with muster.away(), begun(relay.kubeconfig(tmp_path), local.api, tmp_path) as early:
        reports(early, f"the API server at http://127.0.0.1:{relay.port} does not answer")
        always(lambda: early.running and readyz(early)[0] == 503, "Muster runs, and is not ready", 3)
        relay.listen()
        early.wait_until_ready()
        runs_a_gang(local.api, namespace)
    relay.close()


@contextmanager
def begun(kubeconfig: Path, api: Api, folder: Path) -> Iterator[Muster]:
    """Muster of the test's own, which need not be ready."""
    muster = Muster(kubeconfig, api, folder / "muster.log").start()
    try:
        yield muster
        assert muster.running
    finally:
        muster.terminate()
    assert "Traceback" not in muster.log()


def reports(muster: Muster, what: str, since: int = 0) -> None:
    """One line in the log says it, and /readyz answers 503 with the same sentence."""

    def both() -> bool:
        lines = muster.log()[since:].splitlines()
        said = [line.split("not ready: ", 1)[1] for line in lines if "not ready: " in line and what in line]
        status, body = readyz(muster)
        return bool(said) and status == 503 and said[-1] in body and "\n" not in body

    eventually(both, f"Muster reports {what!r}", NOTICED_SECONDS)


def runs_a_gang(api: Api, namespace: str) -> None:
    api.create("jobs", gang_job("healed"), namespace)
    started_as_a_gang(api, namespace, "healed")


def started_as_a_gang(api: Api, namespace: str, name: str) -> None:
    pods = eventually(lambda: all_pods(api, namespace, name, 4, is_bound), "four pods are bound", 90)
    _, (group,) = pair_of(api, namespace, api.get("jobs", name, namespace))
    assert {group_of(pod) for pod in pods} == {group["metadata"]["name"]}
