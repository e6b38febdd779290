"""Muster is removed: with `muster leave`, by force, with its API switched off. Jobs continue, nothing stays behind."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.clusters.api import Api
from tests.clusters.cluster import Cluster, start_cluster
from tests.clusters.command import muster as command
from tests.clusters.leaving import (
    delete_all,
    identities,
    leave_as_the_hook_does,
    left_behind,
    protected,
)
from tests.clusters.objects import all_pods, gang_job, group_of, is_bound
from tests.clusters.pairs import pair_of
from tests.clusters.profiles import PROFILES, Profile
from tests.clusters.replicas import NAMESPACE, Replica, Replicas
from tests.clusters.site import install_crds
from tests.clusters.waiting import always, eventually

QUICK_LEADERSHIP = {"leadership": {"durationSeconds": 3, "renewSeconds": 1}}
CRDS = "customresourcedefinitions"
NATIVE, KUBERNETES_GROUP, OWN_GROUP = PROFILES
ON_ALL = [pytest.param(each, marks=pytest.mark.full) for each in (OWN_GROUP, NATIVE, KUBERNETES_GROUP)]


@contextmanager
def begun(profile: Profile) -> Iterator[Cluster]:
    cluster = start_cluster(f"leave-{profile.cluster}", "--profile", profile.cluster, "--nodes", "4")
    try:
        cluster = replace(cluster, scheduling_group=profile.group)
        if not profile.native:
            install_crds(cluster)
        yield cluster
    finally:
        cluster.down()


def new_namespace(api: Api) -> str:
    name = f"test-{uuid.uuid4().hex[:10]}"
    api.create("namespaces", {"metadata": {"name": name}})
    return name


@pytest.mark.parametrize("profile", ON_ALL, ids=lambda profile: profile.name)
def test_muster_leave_works_while_muster_runs_and_a_restart_brings_it_back(profile: Profile, tmp_path: Path) -> None:
    with begun(profile) as cluster, Replicas(cluster, tmp_path, settings=QUICK_LEADERSHIP) as replicas:
        api, place = cluster.api, new_namespace(cluster.api)
        replicas.wait_until_ready()
        starts_as_a_gang(api, place, "train")
        running = identities(api, place, "train")
        assert protected(api, place)
        before = left_behind(api)
        assert len(before) == 4
        shown = leave_as_the_hook_does(cluster, "--dry-run")
        assert (shown.code, shown.err) == (0, "")
        assert all(line.startswith(("would have ", "there is no ", "PodGroups of ")) for line in shown.out.splitlines())
        assert left_behind(api) == before
        assert api.get("leases", "muster", NAMESPACE)["spec"]["holderIdentity"].startswith("muster-")

        answer = leave_as_the_hook_does(cluster)
        assert (answer.code, answer.err) == (0, "")
        at_first = [line for line in answer.out.splitlines() if not line.endswith("which had reappeared")]
        assert shown.out.replace("would have ", "").splitlines() == at_first
        assert profile.native == bool(protected(api, place)), "a built-in PodGroup's finalizer is not Muster's"
        for replica in replicas:
            eventually(partial(tells_that_it_is_left, replica), "a replica tells")
            assert replica.running
        always(lambda: left_behind(api) == {}, "no replica puts anything back", 4)
        starts_plain(api, place, "after")
        assert identities(api, place, "train") == running, "running pods are not touched"
        again = leave_as_the_hook_does(cluster)
        assert (again.code, again.err) == (0, "")
        assert "removed" not in again.out
        api.delete("namespaces", place)
        eventually(partial(gone, api, "namespaces", place), "the namespace goes, with all that is in it", 60)

        replicas.stop()
        replicas[0].start()
        replicas.wait_until_ready()
        later = new_namespace(api)
        starts_as_a_gang(api, later, "again")
    assert "Traceback" not in replicas.logs()


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
@pytest.mark.full
def test_with_muster_killed_and_its_api_gone_nothing_hangs(profile: Profile, tmp_path: Path) -> None:
    """Muster is killed, so nothing answers its webhooks. An administrator then runs `muster leave`."""
    with begun(profile) as cluster, Replicas(cluster, tmp_path, settings=QUICK_LEADERSHIP) as replicas:
        api, place = cluster.api, new_namespace(cluster.api)
        replicas.wait_until_ready()
        starts_as_a_gang(api, place, "train")
        for replica in replicas:
            replica.kill()
        api.create("jobs", gang_job("refused"), place)
        if profile.native:
            cluster.restart("--profile", "stock")
        else:
            for kind in ("workloads", "podgroups"):
                api.delete(CRDS, f"{kind}.{profile.group}")
        assert len(all_pods(api, place, "train", 4, is_bound)) == 4, "running pods are not touched"
        answer = command("leave", kubeconfig=cluster.kubeconfig)
        assert (answer.code, answer.err) == (0, "")
        assert left_behind(api) == {}
        if not profile.native:
            for kind in ("workloads", "podgroups"):
                eventually(partial(gone, api, CRDS, f"{kind}.{profile.group}"), "the CRD is gone, with its objects", 60)
        eventually(lambda: all_pods(api, place, "refused", 4, is_bound), "what was refused starts", 90)
        assert {group_of(pod) for pod in all_pods(api, place, "refused", 4)} == {None}
        delete_all(api, place)
        assert not api.list("pods", labelSelector="batch.kubernetes.io/job-name")


@pytest.mark.parametrize("profile", [KUBERNETES_GROUP, OWN_GROUP], ids=lambda profile: profile.name)
@pytest.mark.full
def test_muster_leave_frees_a_namespace_that_a_killed_muster_blocks(profile: Profile, tmp_path: Path) -> None:
    with begun(profile) as cluster, Replicas(cluster, tmp_path, settings=QUICK_LEADERSHIP) as replicas:
        api, place = cluster.api, new_namespace(cluster.api)
        replicas.wait_until_ready()
        starts_as_a_gang(api, place, "train")
        for replica in replicas:
            replica.kill()
        api.delete("namespaces", place)
        eventually(lambda: not api.list("pods", place), "no pod leaks", 60)
        always(lambda: len(protected(api, place)) == 1, "the PodGroup waits for somebody", 5)
        assert command("leave", kubeconfig=cluster.kubeconfig).code == 0
        eventually(partial(gone, api, "namespaces", place), "the namespace is gone", 60)


def tells_that_it_is_left(replica: Replica) -> bool:
    status, sentence = replica.readyz()
    return status == 503 and "`muster leave` removed the webhooks" in sentence


def gone(api: Api, kind: str, name: str) -> bool:
    return api.find(kind, name) is None


def starts_as_a_gang(api: Api, place: str, name: str) -> None:
    api.create("jobs", gang_job(name), place)
    pods = eventually(lambda: all_pods(api, place, name, 4, is_bound), f"four pods of {name} are bound", 90)
    _, (group,) = pair_of(api, place, api.get("jobs", name, place))
    assert {group_of(pod) for pod in pods} == {group["metadata"]["name"]}


def starts_plain(api: Api, place: str, name: str) -> None:
    """Jobs run as if Muster had never been installed."""
    made = api.create("jobs", gang_job(name), place)
    pods = eventually(lambda: all_pods(api, place, name, 4, is_bound), f"four pods of {name} are bound", 90)
    assert {group_of(pod) for pod in pods} == {None}
    assert pair_of(api, place, made) == ([], [])
