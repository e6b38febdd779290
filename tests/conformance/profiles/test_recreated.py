"""A Job that is deleted and made again under its name, in the middle of each step of Muster's for it."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.clusters.api import Api, Object
from tests.clusters.cluster import Cluster
from tests.clusters.muster import Muster
from tests.clusters.objects import controlled_by, gang_job, group_of, is_bound, pods_of
from tests.clusters.pairs import pair_of
from tests.clusters.profiles import BUILT_IN_GROUP, NATIVE, OWN_GROUP
from tests.clusters.proxy import Proxy, Trap, is_write_for
from tests.clusters.site import Site
from tests.clusters.waiting import eventually

pytestmark = pytest.mark.profiles(NATIVE, OWN_GROUP, full=[BUILT_IN_GROUP])

SIZE = 4
WRITES = {"the Workload": "workloads", "the PodGroup": "podgroups"}
"""Not the events: they are posted beside the work, when the pods are on their way already."""


@pytest.fixture(scope="module")
def proxy(site: Site, local: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """Muster talks to the API server through this, for as long as the tests here run."""
    directory = tmp_path_factory.mktemp("recreated")
    site.wait_for_the_garbage_collector()
    with (
        site.muster.away(),
        Proxy(local.muster_kubeconfig(), directory) as proxy,
        Muster(proxy.kubeconfig, local.api, directory / "muster.log"),
    ):
        yield proxy
    assert "Traceback" not in Path(directory, "muster.log").read_text()


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("write", WRITES)
def test_only_the_new_job_has_a_gang_after_a_recreation(
    api: Api, proxy: Proxy, namespace: str, write: str, after: bool
) -> None:
    made: list[Object] = []
    name = f"train-{namespace}"  # Muster may still be busy with the Job of the test before
    again = partial(make_again, api, namespace, name, made)
    trap = proxy.set(Trap(is_write_for({name}, WRITES[write]), again, after, goes_on=True))
    old = api.create("jobs", gang_job(name, SIZE), namespace)["metadata"]["uid"]
    assert trap.sprung.wait(30), f"Muster did not come to write {write}"
    (new,) = made
    eventually(lambda: len(own_pods(api, namespace, new)) == SIZE, "the new Job's pods are bound", 90)
    eventually(lambda: not left_of(api, namespace, old), "nothing of the old Job is left", 90)
    (workload,), (group,) = pair_of(api, namespace, new)
    assert [w["metadata"]["uid"] for w in api.list("workloads", namespace)] == [workload["metadata"]["uid"]]
    assert [g["metadata"]["uid"] for g in api.list("podgroups", namespace)] == [group["metadata"]["uid"]]
    assert {group_of(pod) for pod in own_pods(api, namespace, new)} == {group["metadata"]["name"]}


def make_again(api: Api, namespace: str, name: str, made: list[Object]) -> None:
    api.delete("jobs", name, namespace)
    eventually(lambda: api.find("jobs", name, namespace) is None, "the Job is gone", every=0.01)
    made.append(api.create("jobs", gang_job(name, SIZE), namespace))


def own_pods(api: Api, namespace: str, job: Object) -> list[Object]:
    pods = pods_of(api, namespace, job["metadata"]["name"])
    return [pod for pod in controlled_by(pods, job["metadata"]["uid"]) if is_bound(pod)]


def left_of(api: Api, namespace: str, uid: str) -> list[str]:
    kinds = ("workloads", "podgroups", "pods")
    return [thing["metadata"]["name"] for kind in kinds for thing in controlled_by(api.list(kind, namespace), uid)]
