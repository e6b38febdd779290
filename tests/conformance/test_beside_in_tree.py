"""The in-tree controller and Muster on one cluster: a Job has one pair, whoever makes it."""

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.conftest import own_namespace
from tests.e2e.support.clusters import Cluster, start_cluster
from tests.e2e.support.muster import Muster
from tests.e2e.support.objects import all_pods, gang_job, is_bound
from tests.e2e.support.pairs import assert_one_pair, pair_of
from tests.e2e.support.retries import end_index, group_and_size, living, lose_index, running_gang
from tests.e2e.support.waiting import eventually


@pytest.fixture(scope="module")
def doubled() -> Iterator[Cluster]:
    """The in-tree controller forms gangs here too."""
    cluster = start_cluster("doubled", "--in-tree")
    yield cluster
    cluster.down()


def test_beside_the_in_tree_controller_a_job_has_one_pair(doubled: Cluster, tmp_path: Path) -> None:
    with Muster(doubled.muster_kubeconfig(), doubled.api, tmp_path / "muster.log"):
        for place in own_namespace(doubled.api):
            jobs = [doubled.api.create("jobs", gang_job(f"both-{n}", cpu="1m"), place) for n in range(20)]
            for job in jobs:
                name = job["metadata"]["name"]
                eventually(
                    partial(all_pods, doubled.api, place, name, 4, is_bound), f"the pods of {name} are bound", 90
                )
                assert_one_pair(doubled.api, place, job, 4)
            time.sleep(1)  # a second pair would be made by now
            for job in jobs:
                assert [len(kind) for kind in pair_of(doubled.api, place, job)] == [1, 1]


def test_in_tree_a_pod_that_is_lost_after_a_success_never_comes_back(doubled: Cluster) -> None:
    """The same story as in test_retries.py, without Muster: the pod waits, and nothing anywhere says why."""
    api = doubled.api
    for place in own_namespace(api):
        job = running_gang(api, place)
        end_index(api, place, 0)
        lose_index(api, place, 1)
        eventually(lambda: living(api, place, index=1), "there is a new pod")  # noqa: B023 - there is one place
        (waiting,) = living(api, place, index=1)
        time.sleep(10)
        (still,) = living(api, place, index=1)
        assert (still["metadata"]["uid"], is_bound(still)) == (waiting["metadata"]["uid"], False)
        assert not still["status"].get("conditions")
        assert group_and_size(api, place, job)[1] == 4
