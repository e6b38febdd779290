"""A Job becomes a gang, or is left alone, in the same way whatever API the server has."""

from functools import partial

import pytest

from muster.api.keys import Uid
from muster.core.naming import pod_group_name, template_name, workload_name
from tests.conformance.test_job_rows import assert_wired
from tests.e2e.support.api import ApiError, Object, Recording
from tests.e2e.support.objects import (
    all_pods,
    end_pod,
    events_on,
    gang_job,
    is_bound,
    is_running,
    job,
    pods_of,
    unfinished_pods,
)
from tests.e2e.support.pairs import BASIC, GANG_OF_4, delete_pod_group, pair_of, pod_group, workload
from tests.e2e.support.profiles import Site
from tests.e2e.support.waiting import always, eventually

RESUMED: Object = {"spec": {"suspend": False}}
SUSPENDED: Object = {"spec": {"suspend": True}}
KINDS = ("workloads", "podgroups", "pods")


def test_a_gang_gets_its_workload_then_its_pod_group_then_its_pods(site: Site, place: str) -> None:
    with (
        Recording(site.api, "workloads", place) as workloads,
        Recording(site.api, "podgroups", place) as groups,
        Recording(site.api, "pods", place) as pods,
    ):
        made = site.api.create("jobs", gang_job("train"), place)
        bound(site, place, "train")
        eventually(lambda: [len(r.created()) for r in (workloads, groups, pods)] == [1, 1, 4], "the streams show all")
    (workload,), (group,) = pair_of(site.api, place, made)
    assert max(workloads.created().values()) < min(groups.created().values())
    assert max(groups.created().values()) < min(pods.created().values())
    assert [site.group_of(pod) for pod in pods.seen()] == [group["metadata"]["name"]] * 4
    assert_wired(made, workload, group, 4)
    assert [o["apiVersion"] for o in group["metadata"]["ownerReferences"]] == ["batch/v1", site.api.scheduling]
    eventually(lambda: told(site, place, "train") == ["PodGroupCreated", "WorkloadCreated"], "both events, once")


def test_jobs_that_are_no_gang_or_name_a_group_are_left_alone(site: Site, place: str) -> None:
    site.api.create("podgroups", pod_group("theirs", policy=BASIC), place)
    indexed = partial(job, completionMode="Indexed")
    others = [
        (job("queue", parallelism=3, completions=3), 3, None),
        (indexed("single", parallelism=1, completions=1), 1, None),
        (indexed("wide", parallelism=2, completions=5), 2, None),
        (site.preset_job("preset", "theirs"), 4, "theirs"),
    ]
    made = [site.api.create("jobs", manifest, place) for manifest, _, _ in others]
    fence = site.api.create("jobs", gang_job("fence"), place)
    eventually(lambda: len(told(site, place, "fence")) == 2, "Muster is done with the one that came last")
    for manifest, size, group in others:
        pods = bound(site, place, manifest["metadata"]["name"], size)
        assert [site.group_of(pod) for pod in pods] == [group] * size
    assert [pair_of(site.api, place, each) for each in made] == [([], [])] * len(made)
    assert [told(site, place, each["metadata"]["name"]) for each in made] == [[]] * len(made)
    assert [len(part) for part in pair_of(site.api, place, fence)] == [1, 1]
    assert (len(site.api.list("workloads", place)), len(site.api.list("podgroups", place))) == (1, 2)


def test_a_job_that_is_created_suspended_gets_its_pair_when_it_resumes(site: Site, place: str) -> None:
    made = site.api.create("jobs", gang_job("train", suspend=True), place)
    always(lambda: pair_of(site.api, place, made) == ([], []), "it has nothing while it sleeps", 3)
    site.api.patch("jobs", "train", RESUMED, place)
    bound(site, place, "train")
    assert_gang(site, place, made)


def test_suspending_and_resuming_keeps_the_pair(site: Site, place: str) -> None:
    made = gang(site, place)
    before = uids(site, place, "workloads", "podgroups")
    old = uids(site, place, "pods")
    site.api.patch("jobs", "train", SUSPENDED, place)
    eventually(lambda: not pods_of(site.api, place, "train"), "its pods are gone")
    assert uids(site, place, "workloads", "podgroups") == before
    site.api.patch("jobs", "train", RESUMED, place)
    bound(site, place, "train")
    assert uids(site, place, "workloads", "podgroups") == before
    assert not uids(site, place, "pods") & old
    assert_gang(site, place, made)


@pytest.mark.parametrize("policy", [GANG_OF_4, BASIC], ids=["gang", "basic"])
def test_a_users_own_workload_is_used(site: Site, place: str, policy: Object) -> None:
    own = site.api.create("workloads", workload("mine", "train", policy), place)
    made = site.api.create("jobs", gang_job("train"), place)
    pods = bound(site, place, "train")
    (group,) = site.api.list("podgroups", place)
    assert (group["spec"]["schedulingPolicy"], group["spec"]["podGroupTemplateRef"]["workload"]["workloadName"]) == (
        policy,
        "mine",
    )
    assert {site.group_of(pod) for pod in pods} == {group["metadata"]["name"]}
    assert [w["metadata"]["uid"] for w in site.api.list("workloads", place)] == [own["metadata"]["uid"]]
    assert "ownerReferences" not in site.api.get("workloads", "mine", place)["metadata"]
    assert pair_of(site.api, place, made) == ([], [group])


def test_two_workloads_for_one_job_make_muster_stand_aside(site: Site, place: str) -> None:
    for name in ("one", "other"):
        site.api.create("workloads", workload(name, "train"), place)
    site.api.create("jobs", gang_job("train"), place)
    pods = bound(site, place, "train")
    assert {site.group_of(pod) for pod in pods} == {None}
    eventually(lambda: told(site, place, "train") == ["StandingAside"], "one event says so")
    always(lambda: told(site, place, "train") == ["StandingAside"], "it stays at one event", 2)
    (event,) = events_on(site.api, place, "train", "StandingAside")
    assert "AmbiguousWorkloads" in event["message"]
    assert site.api.list("podgroups", place) == []


def test_squatted_names_cost_an_event_each_and_the_next_name(site: Site, place: str) -> None:
    made = site.api.create("jobs", gang_job("train", suspend=True), place)
    uid = Uid(made["metadata"]["uid"])
    first, second = workload_name("train", uid), workload_name("train", uid, 1)
    squatted = pod_group_name(second, template_name("train"))
    site.api.create("workloads", workload(first, "somebody-elses"), place)
    site.api.create("podgroups", pod_group(squatted), place)
    site.api.patch("jobs", "train", RESUMED, place)
    bound(site, place, "train")
    own, group = assert_gang(site, place, made)
    assert own["metadata"]["name"] == second
    assert group["metadata"]["name"] != squatted
    eventually(lambda: told(site, place, "train").count("NameTaken") == 2, "an event for each name")
    messages = " ".join(event["message"] for event in events_on(site.api, place, "train", "NameTaken"))
    assert first in messages
    assert squatted in messages


def test_a_pod_group_that_is_deleted_by_hand_is_made_again(site: Site, place: str) -> None:
    made = gang(site, place)
    _, (old,) = pair_of(site.api, place, made)
    name = old["metadata"]["name"]
    delete_pod_group(site.api, place, name)
    end_pod(site.api, pods_of(site.api, place, "train")[0], "Failed")

    def again() -> bool:
        found = site.api.find("podgroups", name, place)
        return found is not None and found["metadata"]["uid"] != old["metadata"]["uid"]

    eventually(again, "another PodGroup of that name")
    eventually(lambda: len(unfinished_pods(site.api, place, "train")) == 4, "a pod in the place of the other", 60)
    assert_gang(site, place, made, pods=5)


def test_the_parallelism_of_a_gang_is_locked_and_that_of_others_is_not(site: Site, place: str) -> None:
    site.api.create("jobs", job("wide", parallelism=4, completions=8, completionMode="Indexed"), place)
    gang(site, place)
    with pytest.raises(ApiError, match="cannot change parallelism") as refused:
        site.api.patch("jobs", "train", {"spec": {"parallelism": 2}}, place)
    assert refused.value.status in {403, 422}
    assert site.api.get("jobs", "train", place)["spec"]["parallelism"] == 4
    assert site.api.patch("jobs", "wide", {"spec": {"parallelism": 2}}, place)["spec"]["parallelism"] == 2
    assert site.api.patch("jobs", "train", {"spec": {"activeDeadlineSeconds": 3600}}, place)["spec"]["parallelism"] == 4


def test_a_restart_of_muster_changes_nothing(site: Site, place: str) -> None:
    made = gang(site, place)
    before = uids(site, place, *KINDS)
    with site.muster.away():
        pass
    always(lambda: uids(site, place, *KINDS) == before, "the same pair and pods", 3)
    assert_gang(site, place, made)


@pytest.mark.parametrize("cascade", ["Background", "Foreground"])
def test_deleting_the_job_removes_everything(site: Site, place: str, cascade: str) -> None:
    site.wait_for_the_garbage_collector()
    gang(site, place)
    site.api.delete("jobs", "train", place, cascade)
    eventually(lambda: not uids(site, place, "jobs", *KINDS), f"all is gone after a {cascade} deletion")


def test_deleting_the_job_with_orphans_keeps_them(site: Site, place: str) -> None:
    site.wait_for_the_garbage_collector()
    gang(site, place)
    before = uids(site, place, *KINDS)
    site.api.delete("jobs", "train", place, "Orphan")
    eventually(lambda: site.api.find("jobs", "train", place) is None, "the Job is gone")
    always(lambda: uids(site, place, *KINDS) == before, "the same pair and pods", 3)
    left = [thing for kind in KINDS for thing in site.api.list(kind, place)]
    assert not any("deletionTimestamp" in thing["metadata"] for thing in left)


def gang(site: Site, place: str) -> Object:
    """The Job "train", whose four pods run as a gang."""
    made = site.api.create("jobs", gang_job("train"), place)
    eventually(lambda: all_pods(site.api, place, "train", 4, is_running), "four pods run")
    assert_gang(site, place, made)
    return made


def bound(site: Site, place: str, name: str, size: int = 4) -> list[Object]:
    return eventually(lambda: all_pods(site.api, place, name, size, is_bound), f"{size} pods of {name} are bound", 60)


def assert_gang(site: Site, place: str, made: Object, pods: int = 4) -> tuple[Object, Object]:
    """One pair, and every pod of the Job in it."""
    (own,), (group,) = pair_of(site.api, place, made)
    found = pods_of(site.api, place, made["metadata"]["name"])
    assert [site.group_of(pod) for pod in found] == [group["metadata"]["name"]] * pods
    return own, group


def told(site: Site, place: str, name: str) -> list[str]:
    """The reasons of Muster's events on the Job, as often as they were told."""
    events = [e for e in events_on(site.api, place, name) if e["source"].get("component") == "muster"]
    return sorted(event["reason"] for event in events for _ in range(event["count"]))


def uids(site: Site, place: str, *kinds: str) -> set[str]:
    return {thing["metadata"]["uid"] for kind in kinds for thing in site.api.list(kind, place)}
