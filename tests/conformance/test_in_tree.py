"""A cluster whose own Job controller forms gangs: its names, its limits, and Muster beside it."""

import os
import random
import string
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from muster.api.keys import Uid
from muster.core.naming import pod_group_name, template_name, workload_name
from tests.clusters.api import Api, Object
from tests.clusters.cluster import Cluster, start_cluster
from tests.clusters.muster import Muster
from tests.clusters.namespaces import own_namespace
from tests.clusters.objects import all_pods, controlled_by, gang_job, group_of, is_bound, pods_of
from tests.clusters.pairs import assert_one_pair, pair_of
from tests.clusters.retries import end_index, group_and_size, living, lose_index, running_gang
from tests.clusters.waiting import always, eventually

JOBS = 60
LONGEST_IN_TREE = 57
"""Of a longer name, `<job>-pgt-0` is no DNS label."""
A_WHILE_SECONDS = 10


@pytest.fixture(scope="module")
def in_tree() -> Iterator[Cluster]:
    """Without Muster, but in the last test."""
    cluster = start_cluster("in-tree", "--in-tree")
    yield cluster
    cluster.down()


@pytest.fixture
def place(in_tree: Cluster) -> Iterator[str]:
    yield from own_namespace(in_tree.api)


@dataclass(frozen=True)
class Lost:
    """A gang of which one pod succeeded and then another was lost."""

    namespace: str
    job: Object
    waiting: Object
    """The pod that the Job controller made in its place."""
    since: float


@pytest.fixture(scope="module")
def lost(in_tree: Cluster) -> Iterator[Lost]:
    api = in_tree.api
    for place in own_namespace(api):
        job = running_gang(api, place)
        end_index(api, place, 0)
        lose_index(api, place, 1)
        eventually(lambda: living(api, place, index=1), "there is a new pod")  # noqa: B023 - there is one place
        (waiting,) = living(api, place, index=1)
        yield Lost(place, job, waiting, time.monotonic())


def test_names_are_byte_for_byte_those_of_the_in_tree_controller(in_tree: Cluster, place: str) -> None:
    seed = int(os.environ.get("MUSTER_TEST_SEED") or random.randrange(2**32))
    print(f"MUSTER_TEST_SEED={seed}")  # shown if anything here fails
    api, names = in_tree.api, random_names(random.Random(seed))
    jobs = [api.create("jobs", gang_job(name, size=2, cpu="1m"), place) for name in names]
    eventually(lambda: len(api.list("podgroups", place)) == JOBS, "every Job has its PodGroup", 60)
    workloads, groups = api.list("workloads", place), api.list("podgroups", place)
    for made in jobs:
        name, uid = made["metadata"]["name"], Uid(made["metadata"]["uid"])
        (workload,), (group,) = controlled_by(workloads, uid), controlled_by(groups, uid)
        expected = workload_name(name, uid)
        template = workload["spec"]["podGroupTemplates"][0]["name"]
        found = workload["metadata"]["name"], template, group["metadata"]["name"]
        ours = expected, template_name(name), pod_group_name(expected, template_name(name))
        assert ours == found, f"Job {name} with UID {uid}"


@pytest.mark.usefixtures("lost")  # which waits at the same time
def test_in_tree_a_job_of_58_characters_never_gets_a_pod(in_tree: Cluster, place: str) -> None:
    """Why template names are shortened here. With 57 characters it starts, so the length alone is the reason."""
    api, fits, too_long = in_tree.api, "a" * LONGEST_IN_TREE, "a" * (LONGEST_IN_TREE + 1)
    made = api.create("jobs", gang_job(too_long, size=2), place)
    api.create("jobs", gang_job(fits, size=2), place)
    eventually(lambda: all_pods(api, place, fits, 2, is_bound), "the Job of 57 characters starts")
    always(lambda: not pods_of(api, place, too_long), "the Job of 58 characters has no pod", A_WHILE_SECONDS)
    assert pair_of(api, place, made) == ([], [])


def test_in_tree_a_pod_that_is_lost_after_a_success_never_comes_back(in_tree: Cluster, lost: Lost) -> None:
    """The same scenario as in test_retries.py, without Muster: the pod waits, and nothing anywhere says why."""
    time.sleep(max(0.0, lost.since + A_WHILE_SECONDS - time.monotonic()))
    (still,) = living(in_tree.api, lost.namespace, index=1)
    assert (still["metadata"]["uid"], is_bound(still)) == (lost.waiting["metadata"]["uid"], False)
    assert not still["status"].get("conditions")
    assert group_and_size(in_tree.api, lost.namespace, lost.job)[1] == 4


@pytest.mark.parametrize("length", [57, 58, 59, 60, 61])
def test_with_muster_long_names_start_as_gangs(api: Api, muster: Muster, namespace: str, length: int) -> None:
    """61 is the longest that the API server takes for an Indexed Job."""
    made = api.create("jobs", gang_job("a" * length, size=2), namespace)
    pods = eventually(lambda: all_pods(api, namespace, "a" * length, 2, is_bound), "its pods are bound")
    _, (group,) = pair_of(api, namespace, made)
    assert {group_of(pod) for pod in pods} == {group["metadata"]["name"]}
    assert gang_size(group) == 2


def test_beside_the_in_tree_controller_a_job_has_one_pair(in_tree: Cluster, place: str, tmp_path: Path) -> None:
    """It does not matter who makes it. The last test here: Muster runs on this cluster now."""
    api = in_tree.api
    with Muster(in_tree.muster_kubeconfig(), api, tmp_path / "muster.log"):
        jobs = [api.create("jobs", gang_job(f"both-{n}", cpu="1m"), place) for n in range(20)]
        for job in jobs:
            name = job["metadata"]["name"]
            eventually(partial(all_pods, api, place, name, 4, is_bound), f"the pods of {name} are bound", 90)
            assert_one_pair(api, place, job, 4)
        time.sleep(1)  # a second pair would be made by now
        for job in jobs:
            assert [len(kind) for kind in pair_of(api, place, job)] == [1, 1]


def random_names(source: random.Random) -> list[str]:
    """Every length is as likely as any other, and the shortest and the longest are always among them."""
    lengths = [1, LONGEST_IN_TREE, *(source.randint(2, LONGEST_IN_TREE) for _ in range(JOBS - 2))]
    names = {random_name(source, length) for length in lengths}
    while len(names) < JOBS:
        names.add(random_name(source, source.randint(8, LONGEST_IN_TREE)))
    return sorted(names)


def random_name(source: random.Random, length: int) -> str:
    """A DNS label: letters, digits and inner dashes."""
    letters = string.ascii_lowercase + string.digits
    inner = "".join(source.choice(letters + "-") for _ in range(length - 2))
    return source.choice(letters) if length == 1 else source.choice(letters) + inner + source.choice(letters)


def gang_size(group: Object) -> int:
    return int(group["spec"]["schedulingPolicy"]["gang"]["minCount"])
