"""The names of Workloads and PodGroups, read from a cluster whose own Job controller makes them."""

import os
import random
import string
from collections.abc import Iterator

import pytest

from muster.api.keys import Uid
from muster.core.naming import pod_group_name, template_name, workload_name
from tests.e2e.conftest import own_namespace
from tests.e2e.support.api import Api, Object
from tests.e2e.support.clusters import Cluster, start_cluster
from tests.e2e.support.muster import Muster
from tests.e2e.support.objects import all_pods, controlled_by, gang_job, group_of, is_bound, pods_of
from tests.e2e.support.pairs import pair_of
from tests.e2e.support.waiting import always, eventually

JOBS = 60
LONGEST_IN_TREE = 57
"""Of a longer name, `<job>-pgt-0` is no DNS label."""


@pytest.fixture(scope="module")
def in_tree() -> Iterator[Cluster]:
    cluster = start_cluster("in-tree", "--in-tree")
    yield cluster
    cluster.down()


@pytest.fixture
def place(in_tree: Cluster) -> Iterator[str]:
    yield from own_namespace(in_tree.api)


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


def test_in_tree_a_job_of_58_characters_never_gets_a_pod(in_tree: Cluster, place: str) -> None:
    """Why template names are shortened here. With 57 characters it starts, so the length alone is the reason."""
    api, fits, too_long = in_tree.api, "a" * LONGEST_IN_TREE, "a" * (LONGEST_IN_TREE + 1)
    made = api.create("jobs", gang_job(too_long, size=2), place)
    api.create("jobs", gang_job(fits, size=2), place)
    eventually(lambda: all_pods(api, place, fits, 2, is_bound), "the Job of 57 characters starts")
    always(lambda: not pods_of(api, place, too_long), "the Job of 58 characters has no pod", 10)
    assert pair_of(api, place, made) == ([], [])


@pytest.mark.parametrize("length", [57, 58, 59, 60, 61])
def test_with_muster_long_names_start_as_gangs(api: Api, muster: Muster, namespace: str, length: int) -> None:
    """61 is the longest that the API server takes for an Indexed Job."""
    made = api.create("jobs", gang_job("a" * length, size=2), namespace)
    pods = eventually(lambda: all_pods(api, namespace, "a" * length, 2, is_bound), "its pods are bound")
    _, (group,) = pair_of(api, namespace, made)
    assert {group_of(pod) for pod in pods} == {group["metadata"]["name"]}
    assert gang_size(group) == 2


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
