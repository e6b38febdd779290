"""Muster is killed around each write of a resize, and started again: there is one PodGroup, of the right size."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.clusters.api import Api, Object
from tests.clusters.cluster import Cluster
from tests.clusters.muster import Muster
from tests.clusters.pairs import pair_of
from tests.clusters.proxy import Proxy, Trap
from tests.clusters.retries import SIZE, all_run, end_index, group_and_size, lose_index, running_gang
from tests.clusters.waiting import eventually

HALFWAY = {
    ("DELETE", False): [(SIZE, False)],
    ("DELETE", True): [(SIZE, True)],
    ("PATCH", False): [(SIZE, True)],
    ("PATCH", True): [],
    ("POST", False): [],
    ("POST", True): [(SIZE - 1, False)],
}
"""What is stored when Muster is dead: the PodGroups' sizes, and whether they are being deleted."""


@dataclass(frozen=True)
class Scene:
    api: Api
    proxy: Proxy
    muster: Muster
    """Which talks to the API server through the proxy."""


@pytest.fixture(scope="module")
def scene(local: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    directory = tmp_path_factory.mktemp("sigkill-resize")
    log = directory / "muster.log"
    with (
        Proxy(local.muster_kubeconfig(), directory) as proxy,
        Muster(proxy.kubeconfig, local.api, log) as muster,
    ):
        yield Scene(local.api, proxy, muster)
    assert "Traceback" not in log.read_text(), f"Muster logged a traceback: {log}"


@pytest.mark.parametrize(
    ("method", "after"),
    [
        pytest.param("DELETE", False, id="before the old one is deleted", marks=pytest.mark.full),
        pytest.param("DELETE", True, id="after the old one is deleted"),
        pytest.param("PATCH", False, id="before its protection is taken off", marks=pytest.mark.full),
        pytest.param("PATCH", True, id="after its protection is taken off"),
        pytest.param("POST", False, id="before the new one is made", marks=pytest.mark.full),
        pytest.param("POST", True, id="after the new one is made", marks=pytest.mark.full),
    ],
)
def test_the_gang_is_resized_although_muster_was_killed(scene: Scene, namespace: str, method: str, after: bool) -> None:
    api, muster = scene.api, scene.muster
    job = running_gang(api, namespace)
    end_index(api, namespace, 0)
    trap = scene.proxy.set(Trap(lambda plural, _: plural == "podgroups", muster.kill, after, method=method))
    lose_index(api, namespace, 1)
    assert trap.sprung.wait(30), "Muster did not come to that step"
    assert [sized(group) for group in pair_of(api, namespace, job)[1]] == HALFWAY[method, after]
    muster.start()
    muster.wait_until_ready()
    eventually(lambda: all_run(api, namespace, {1, 2, 3}), "the lost pod is back", 60)
    assert group_and_size(api, namespace, job)[1] == SIZE - 1
    # In a namespace that goes, a PodGroup can go before its Job: it would be made again, into the next test's trap.
    api.delete("jobs", "train", namespace)
    eventually(lambda: not api.list("podgroups", namespace), "all is gone")


def sized(group: Object) -> tuple[int, bool]:
    return group["spec"]["schedulingPolicy"]["gang"]["minCount"], "deletionTimestamp" in group["metadata"]
