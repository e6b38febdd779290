"""Deleting a Job: the garbage collector takes all of the gang away, with or without Muster."""

import pytest

from tests.clusters.api import Api, Object
from tests.clusters.muster import Muster
from tests.clusters.objects import gang_job, group_of, is_running, pods_of
from tests.clusters.pairs import PROTECTION, assert_one_pair
from tests.clusters.profiles import BUILT_IN_GROUP, NATIVE, OWN_GROUP
from tests.clusters.site import Site
from tests.clusters.waiting import always, eventually

pytestmark = pytest.mark.profiles(NATIVE, OWN_GROUP, full=[BUILT_IN_GROUP])

SIZE = 4
MORE_THAN_A_NODE_HAS = "100k"
KINDS = ("jobs", "pods", "podgroups", "workloads")
ENDS_AT_ONCE = {"terminationGracePeriodSeconds": 1}
"""The namespace controller lets half of the time that pods have for their end pass before it looks again."""


@pytest.fixture(autouse=True)
def _collected(site: Site) -> None:
    site.wait_for_the_garbage_collector()


@pytest.mark.parametrize("cascade", ["Background", "Foreground"])
def test_deleting_the_job_removes_its_pods_pod_group_and_workload(
    api: Api, muster: Muster, namespace: str, cascade: str
) -> None:
    run_gang(api, namespace, "train")
    api.delete("jobs", "train", namespace, cascade)
    eventually(lambda: nothing_left(api, namespace), f"everything is gone after a {cascade} deletion")


def test_deleting_the_job_with_orphans_leaves_its_pods_pod_group_and_workload_as_they_are(
    api: Api, muster: Muster, namespace: str
) -> None:
    run_gang(api, namespace, "train")
    before = uids(api, namespace, "pods", "podgroups", "workloads")
    api.delete("jobs", "train", namespace, "Orphan")
    eventually(lambda: api.find("jobs", "train", namespace) is None, "the Job is gone")
    always(
        lambda: uids(api, namespace, "pods", "podgroups", "workloads") == before and all_run(api, namespace, "train"),
        "the orphans stay, the same ones, and run",
        5,
    )
    left = [thing for kind in ("pods", "podgroups", "workloads") for thing in api.list(kind, namespace)]
    assert not any("deletionTimestamp" in thing["metadata"] for thing in left)


def test_pods_that_name_the_pod_group_as_owner_would_leak_and_so_ours_do_not_name_it(
    api: Api, muster: Muster, namespace: str
) -> None:
    """KEP-5547 asks for an ownerReference from the pod to its PodGroup. This is why Muster deviates."""
    run_gang(api, namespace, "ours")
    run_gang(api, namespace, "as-the-kep-says")
    assert {owner["kind"] for pod in pods_of(api, namespace, "ours") for owner in owners(pod)} == {"Job"}
    for pod in pods_of(api, namespace, "as-the-kep-says"):
        own_by_its_group(api, pod)

    for name in ("ours", "as-the-kep-says"):
        api.delete("jobs", name, namespace, "Background")

    eventually(lambda: not pods_of(api, namespace, "ours"), "our pods are gone")
    held = eventually(lambda: only_held_group(api, namespace), "the other PodGroup is being deleted, ours is gone")
    assert held["metadata"]["finalizers"] == [PROTECTION]
    always(lambda: all_run(api, namespace, "as-the-kep-says"), "the pods of a deleted Job run on", 5)
    assert api.get("podgroups", held["metadata"]["name"], namespace)["metadata"]["uid"] == held["metadata"]["uid"]
    assert not api.list("jobs", namespace)
    assert not api.list("workloads", namespace)


def test_a_job_that_is_deleted_and_created_again_at_once_gets_a_pair_of_its_own(
    api: Api, muster: Muster, namespace: str
) -> None:
    old = run_gang(api, namespace, "train")
    before = uids(api, namespace, *KINDS)
    api.delete("jobs", "train", namespace, "Background")
    new = api.create("jobs", gang_job("train", SIZE), namespace)
    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    eventually(lambda: not before & uids(api, namespace, *KINDS), "nothing of the old Job is left", 60)
    eventually(lambda: all_run(api, namespace, "train"), "the new Job's pods run", 60)
    assert_one_pair(api, namespace, new, SIZE)


def test_deleting_a_namespace_with_gangs_in_it_completes(api: Api, muster: Muster, namespace: str) -> None:
    doomed = f"{namespace}-doomed"
    api.create("namespaces", {"metadata": {"name": doomed}})
    for name in ("first", "second", "third"):
        run_gang(api, doomed, name, ENDS_AT_ONCE)
    api.create("jobs", gang_job("too-large-to-run", 50, cpu=MORE_THAN_A_NODE_HAS, pod=ENDS_AT_ONCE), doomed)
    eventually(lambda: pods_of(api, doomed, "too-large-to-run"), "a gang waits in the namespace")
    api.delete("namespaces", doomed)
    eventually(lambda: api.find("namespaces", doomed) is None, "the namespace is gone", 90)


@pytest.mark.parametrize("killed", [False, True], ids=["ended", "killed"])
def test_deletion_does_not_need_muster(site: Site, namespace: str, killed: bool) -> None:
    """With Muster's CRDs, Muster removes the protection finalizer, so empty PodGroups remain until it runs again."""
    api = site.api
    run_gang(api, namespace, "background")
    run_gang(api, namespace, "foreground")
    with site.muster.away(killed):
        api.delete("jobs", "background", namespace, "Background")
        api.delete("jobs", "foreground", namespace, "Foreground")
        kinds = KINDS if site.profile.native else ("pods",)
        eventually(lambda: nothing_left(api, namespace, kinds), "everything is gone after both deletions")
    eventually(lambda: nothing_left(api, namespace), "nothing is left")


def run_gang(api: Api, namespace: str, name: str, pod: Object | None = None) -> Object:
    made = api.create("jobs", gang_job(name, SIZE, pod=pod), namespace)
    eventually(lambda: all_run(api, namespace, name), f"all pods of {name} run")
    assert_one_pair(api, namespace, made, SIZE)
    return made


def all_run(api: Api, namespace: str, name: str) -> bool:
    pods = pods_of(api, namespace, name)
    return len(pods) == SIZE and all(is_running(pod) and "deletionTimestamp" not in pod["metadata"] for pod in pods)


def nothing_left(api: Api, namespace: str, kinds: tuple[str, ...] = KINDS) -> bool:
    left = {kind: names for kind in kinds if (names := [t["metadata"]["name"] for t in api.list(kind, namespace)])}
    assert not left, f"left: {left}"
    return True


def uids(api: Api, namespace: str, *kinds: str) -> set[str]:
    return {thing["metadata"]["uid"] for kind in kinds for thing in api.list(kind, namespace)}


def owners(thing: Object) -> list[Object]:
    found: list[Object] = thing["metadata"].get("ownerReferences", [])
    return found


def own_by_its_group(api: Api, pod: Object) -> None:
    namespace = pod["metadata"]["namespace"]
    group = api.get("podgroups", str(group_of(pod)), namespace)
    reference = {
        "apiVersion": group["apiVersion"],
        "kind": group["kind"],
        "name": group["metadata"]["name"],
        "uid": group["metadata"]["uid"],
    }
    body = {"metadata": {"ownerReferences": [*owners(pod), reference]}}
    api.patch("pods", pod["metadata"]["name"], body, namespace)


def only_held_group(api: Api, namespace: str) -> Object | None:
    groups = api.list("podgroups", namespace)
    return groups[0] if len(groups) == 1 and "deletionTimestamp" in groups[0]["metadata"] else None
