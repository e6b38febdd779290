"""Two API servers on one etcd that do not agree on what they serve: the replicas do, and no gang is split."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.clusters.api import Api
from tests.clusters.cluster import Cluster, start_cluster
from tests.clusters.namespaces import own_namespace
from tests.clusters.objects import POD_GROUP_ANNOTATION, all_pods, gang_job, group_of, is_bound
from tests.clusters.pairs import pair_of
from tests.clusters.replicas import NAMESPACE, Replica, Replicas
from tests.clusters.waiting import always, eventually
from tests.e2e.support.crd_files import apply_crd_files
from tests.e2e.support.servers import stock_server

OWN = "scheduling.muster.dev"
PROFILE = "muster.dev/api-profile"
SENTENCE = (
    "Muster's replicas use scheduling.k8s.io/v1alpha2 (built in), which this replica's API server does not serve",
    f"it serves {OWN}/v1alpha2 (CRDs)",
    "serve that API again",
    f"set `apiGroup: {OWN}`",
)


@pytest.fixture(scope="module")
def native_first() -> Iterator[Cluster]:
    """The built-in API, and Muster's CRDs, which a second server without the built-in API serves as well."""
    cluster = start_cluster("two-servers", "--profile", "native", "--nodes", "2", "--node-cpu", "64")
    try:
        apply_crd_files(cluster.api, OWN)  # `muster crds install` installs nothing where the API is built in
        yield cluster
    finally:
        cluster.down()


@pytest.fixture
def place(native_first: Cluster) -> Iterator[str]:
    yield from own_namespace(native_first.api)


def agreed(api: Api) -> str:
    lease = api.find("leases", "muster", NAMESPACE) or {"metadata": {}}
    return str((lease["metadata"].get("annotations") or {}).get(PROFILE, ""))


def whole(api: Api, place: str, name: str) -> str:
    """All pods of the Job have a node and are in one PodGroup; by which means."""
    pods = eventually(lambda: all_pods(api, place, name, 4, is_bound), f"four pods of {name} are bound", 90)
    _, (group,) = pair_of(api, place, api.get("jobs", name, place))
    assert {group_of(pod) for pod in pods} == {group["metadata"]["name"]}
    annotated = {POD_GROUP_ANNOTATION in pod["metadata"].get("annotations", {}) for pod in pods}
    assert len(annotated) == 1, "one gang by two means"
    return "annotation" if annotated.pop() else "field"


def follows(replica: Replica) -> None:
    eventually(lambda: f"using {OWN}/v1alpha2" in replica.log(), f"{replica.name} uses the CRDs", 30)
    replica.wait_until_ready()


def test_replicas_agree_on_one_profile_and_keep_it_while_its_gangs_live(
    native_first: Cluster, place: str, tmp_path: Path
) -> None:
    api = native_first.api
    ours = replace(native_first, scheduling_group=OWN).api
    quick = {"leadership": {"durationSeconds": 6, "renewSeconds": 2}}
    with (
        stock_server(native_first, tmp_path) as elsewhere,
        Replicas(native_first, tmp_path, 1, quick, others=[elsewhere]) as replicas,
    ):
        at_home, away = replicas
        replicas.wait_until_ready()
        api.create("jobs", gang_job("first"), place)
        assert whole(api, place, "first") == "field"
        away.start()
        eventually(lambda: all(part in away.readyz()[1] for part in SENTENCE), "the other one says why", 30)
        assert (away.readyz()[0], at_home.readyz()) == (503, (200, "ready"))

        at_home.terminate()  # now the other one leads
        eventually(lambda: "muster_leader 1.0" in away.metrics(), "the other one leads")
        api.create("jobs", gang_job("second"), place)
        always(lambda: away.readyz()[0] == 503 and agreed(api) == "native", "nothing changes", 5, every=0.5)
        assert not api.list("pods", place, labelSelector="batch.kubernetes.io/job-name=second"), "none is plain"
        at_home.start()
        at_home.wait_until_ready()
        assert whole(api, place, "second") == "field"

        for name in ("first", "second"):
            api.delete("jobs", name, place)
        eventually(lambda: agreed(api) == f"crd.{OWN}", "once the gangs are gone the leader changes", 60)
        for replica in (away, at_home):
            follows(replica)
        api.create("jobs", gang_job("third"), place)
        assert whole(ours, place, "third") == "annotation"
        api.delete("jobs", "third", place)
        eventually(lambda: not ours.list("podgroups", place), "its PodGroup is released", 60)
    assert "Traceback" not in replicas.logs()
