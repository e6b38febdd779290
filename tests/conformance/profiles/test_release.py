"""With `releaseOnSuspend` a suspended Job gives its Workload and PodGroup up, and gets new ones when it is resumed."""

from collections.abc import Iterator

import pytest
import yaml

from tests.e2e.support.api import Api, Object
from tests.e2e.support.chart import rendered, the
from tests.e2e.support.muster import Muster
from tests.e2e.support.objects import all_pods, events_on, gang_job, group_of, is_bound, pods_of
from tests.e2e.support.pairs import pair_of
from tests.e2e.support.profiles import Site
from tests.e2e.support.waiting import eventually

SIZE = 3
SETTINGS = {"apiVersion": "muster.dev/v1alpha1", "kind": "MusterConfiguration", "releaseOnSuspend": True}


@pytest.fixture(scope="module")
def releasing(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Muster]:
    """In the place of the profile's own Muster, with the rights that the chart then grants."""
    folder = tmp_path_factory.mktemp("releasing")
    (folder / "settings.yaml").write_text(yaml.safe_dump(SETTINGS))
    chart = rendered("default", "--set", "releaseOnSuspend=true")
    for kind in ("ClusterRole", "ClusterRoleBinding"):
        if site.api.find(f"{kind.lower()}s", "muster-release") is None:
            site.api.create(f"{kind.lower()}s", the(chart, kind, "muster-release"))
    flags = ("--config", str(folder / "settings.yaml"))
    with site.muster.away(), Muster(site.cluster.muster_kubeconfig(), site.api, folder / "log", *flags) as process:
        yield process
    assert "Traceback" not in (folder / "log").read_text()


def suspend(api: Api, namespace: str, suspended: bool) -> None:
    api.patch("jobs", "train", {"spec": {"suspend": suspended}}, namespace)


def test_a_suspended_job_gives_its_pair_up_and_gets_another_one(site: Site, releasing: Muster, place: str) -> None:
    api: Api = site.api
    made = api.create("jobs", gang_job("train", SIZE), place)
    eventually(lambda: all_pods(api, place, "train", SIZE, is_bound), "the gang runs", 60)
    (workload,), (group,) = pair_of(api, place, made)
    for _ in range(2):
        suspend(api, place, True)
        eventually(lambda: pair_of(api, place, made) == ([], []), "its pair is gone", 60)
        assert not pods_of(api, place, "train")
        suspend(api, place, False)
        eventually(lambda: all_pods(api, place, "train", SIZE, is_bound), "it runs again", 90)
        (again,), (new,) = pair_of(api, place, made)
        assert (again["metadata"]["name"], new["metadata"]["name"]) == names(workload, group)
        assert new["metadata"]["uid"] != group["metadata"]["uid"]
        assert {group_of(pod) for pod in pods_of(api, place, "train")} == {new["metadata"]["name"]}
        group = new
    told = eventually(lambda: events_on(api, place, "train", "PairReleased"), "it is told")
    assert {event["message"].split()[1] for event in told} == {"PodGroup", "Workload"}


def test_the_pair_of_somebody_else_stays(site: Site, releasing: Muster, place: str) -> None:
    api = site.api
    body: Object = {
        "metadata": {"name": "mine"},
        "spec": {
            "controllerRef": {"apiGroup": "batch", "kind": "Job", "name": "train"},
            "podGroupTemplates": [{"name": "workers", "schedulingPolicy": {"basic": {}}}],
        },
    }
    api.create("workloads", body, place)
    made = api.create("jobs", gang_job("train", SIZE), place)
    eventually(lambda: all_pods(api, place, "train", SIZE, is_bound), "the Job runs", 60)
    suspend(api, place, True)
    eventually(lambda: not pair_of(api, place, made)[1], "the PodGroup that Muster made is gone", 60)
    assert api.find("workloads", "mine", place) is not None
    suspend(api, place, False)
    eventually(lambda: all_pods(api, place, "train", SIZE, is_bound), "the Job runs again", 90)


def names(*things: Object) -> tuple[str, ...]:
    return tuple(thing["metadata"]["name"] for thing in things)
