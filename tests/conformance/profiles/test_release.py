"""What Muster deletes of a suspended Job's pair with each value of `releaseOnSuspend`, and what it makes at resume.

Auto, the default, is in test_beside_kueue.py.
"""

from collections.abc import Iterator

import pytest
import yaml

from tests.clusters.api import Api, Object
from tests.clusters.chart import rendered, the
from tests.clusters.muster import Muster
from tests.clusters.objects import all_pods, events_on, gang_job, group_of, is_bound, pods_of
from tests.clusters.pairs import pair_of
from tests.clusters.profiles import BUILT_IN_GROUP, NATIVE, OWN_GROUP
from tests.clusters.site import Site
from tests.clusters.waiting import always, eventually

pytestmark = pytest.mark.profiles(NATIVE, OWN_GROUP, full=[BUILT_IN_GROUP])

SIZE = 3
KEPT = {"Nothing": (1, 1), "PodGroup": (1, 0), "Pair": (0, 0)}
"""How many Workloads and PodGroups a suspended Job still has."""


@pytest.fixture(scope="module", params=KEPT)
def releasing(request: pytest.FixtureRequest, site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The value of the setting. Muster runs with it in the place of the profile's own, with the chart's rights."""
    folder, value = tmp_path_factory.mktemp("releasing"), request.param
    settings = {"apiVersion": "muster.dev/v1alpha1", "kind": "MusterConfiguration", "releaseOnSuspend": value}
    (folder / "settings.yaml").write_text(yaml.safe_dump(settings))
    if value == "Pair":
        _grant(site.api)
    flags = ("--config", str(folder / "settings.yaml"))
    with site.muster.away(), Muster(site.cluster.muster_kubeconfig(), site.api, folder / "log", *flags):
        yield value
    assert "Traceback" not in (folder / "log").read_text()


def _grant(api: Api) -> None:
    chart = rendered("default", "--set", "releaseOnSuspend=Pair")
    for kind in ("ClusterRole", "ClusterRoleBinding"):
        if api.find(f"{kind.lower()}s", "muster-release") is None:
            api.create(f"{kind.lower()}s", the(chart, kind, "muster-release"))


def suspend(api: Api, namespace: str, suspended: bool, name: str = "train") -> None:
    api.patch("jobs", name, {"spec": {"suspend": suspended}}, namespace)


def counted(api: Api, namespace: str, job: Object) -> tuple[int, int]:
    workloads, groups = pair_of(api, namespace, job)
    return len(workloads), len(groups)


def test_a_suspended_job_gives_its_pair_up_and_gets_another_one(site: Site, releasing: str, namespace: str) -> None:
    """As far as the setting says; in the end the whole gang runs, under the same names."""
    api, kept = site.api, KEPT[releasing]
    made = api.create("jobs", gang_job("train", SIZE), namespace)
    eventually(lambda: all_pods(api, namespace, "train", SIZE, is_bound), "the gang runs", 60)
    first = pair_of(api, namespace, made)
    for _ in range(2):
        suspend(api, namespace, True)
        eventually(lambda: not pods_of(api, namespace, "train"), "its pods are gone", 60)
        eventually(lambda: counted(api, namespace, made) == kept, f"it has {kept}", 60)
        always(lambda: counted(api, namespace, made) == kept, f"it has {kept}", 1)
        suspend(api, namespace, False)
        eventually(lambda: all_pods(api, namespace, "train", SIZE, is_bound), "it runs again", 90)
        (workload,), (group,) = again = pair_of(api, namespace, made)
        assert [names(*things) for things in again] == [names(*things) for things in first]
        assert same(workload, first[0]) is bool(kept[0])
        assert same(group, first[1]) is bool(kept[1])
        assert {group_of(pod) for pod in pods_of(api, namespace, "train")} == {group["metadata"]["name"]}
        first = again
    deleted = {event["message"].split()[1] for event in events_on(api, namespace, "train", "PairReleased")}
    assert deleted == {kind for kind, number in zip(("Workload", "PodGroup"), kept, strict=True) if not number}


def test_the_pair_of_somebody_else_stays(site: Site, releasing: str, namespace: str) -> None:
    api = site.api
    body: Object = {
        "metadata": {"name": "mine"},
        "spec": {
            "controllerRef": {"apiGroup": "batch", "kind": "Job", "name": "train"},
            "podGroupTemplates": [{"name": "workers", "schedulingPolicy": {"basic": {}}}],
        },
    }
    api.create("workloads", body, namespace)
    made = api.create("jobs", gang_job("train", SIZE), namespace)
    eventually(lambda: all_pods(api, namespace, "train", SIZE, is_bound), "the Job runs", 60)
    suspend(api, namespace, True)
    kept = (0, KEPT[releasing][1])
    eventually(lambda: not pods_of(api, namespace, "train"), "its pods are gone", 60)
    eventually(lambda: counted(api, namespace, made) == kept, "the PodGroup that Muster made goes or stays", 60)
    assert api.find("workloads", "mine", namespace) is not None
    suspend(api, namespace, False)
    eventually(lambda: all_pods(api, namespace, "train", SIZE, is_bound), "the Job runs again", 90)


def same(thing: Object, before: list[Object]) -> bool:
    return [thing["metadata"]["uid"]] == [each["metadata"]["uid"] for each in before]


def names(*things: Object) -> tuple[str, ...]:
    return tuple(thing["metadata"]["name"] for thing in things)
