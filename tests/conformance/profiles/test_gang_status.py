"""What people are told of their gang, on each profile: that it has its nodes, or that it waits, and why."""

import time

from tests.conformance.profiles.test_pod_groups import priority_class
from tests.e2e.support.nodes import own_nodes, waiting_for
from tests.e2e.support.objects import all_pods, events_on, gang_job, is_bound, is_running, pods_of
from tests.e2e.support.pairs import pair_of
from tests.e2e.support.profiles import Site
from tests.e2e.support.waiting import always, eventually
from tests.e2e.support.workers import end_pod

A_WHILE = 3
SOON = 20
"""A gang is told that it waits after five seconds, or ten."""


def test_a_gang_that_starts_is_told_so_once(site: Site, place: str) -> None:
    site.api.create("jobs", gang_job("train"), place)
    (event,) = eventually(lambda: told(site, place, "GangScheduled"), "it is told")
    assert event["type"] == "Normal"
    (group,) = site.api.list("podgroups", place)
    assert event["message"] == f"The gang of 4 has its nodes (PodGroup {group['metadata']['name']})"
    always(lambda: told_in_all(site, place) == (0, 1), "no more is told", A_WHILE)


def test_a_gang_that_does_not_fit_is_told_why_and_when_it_starts(site: Site, place: str) -> None:
    with own_nodes(site.api, place, count=1, room=2) as pool:
        site.api.create("jobs", gang_job("train", 3, pod=pool.where), place)
        (waiting,) = eventually(lambda: told(site, place, "GangWaiting"), "that it does not fit is told", SOON)
        assert waiting["type"] == "Warning"
        bound = 0 if site.profile.native else 2
        assert waiting["message"].startswith(waiting_for(site.api, f"{bound} of the gang's 3 pods have a node"))
        assert "Insufficient cpu" in waiting["message"]
        assert ("| 0/1 placements are available" in waiting["message"]) is site.profile.native
        if not site.profile.native:
            (event,) = eventually(lambda: told(site, place, "GangNotHeld"), "that nobody holds the gang is told", SOON)
            assert event["message"].startswith("2 of the gang's 3 pods started without the others; this cluster's ")
        pool.give_room(3)
        eventually(lambda: told_in_all(site, place) == (1, 1), "that it starts is told", SOON)
        assert len(told(site, place, "GangNotHeld")) == (0 if site.profile.native else 1)


def test_a_gang_that_loses_a_pod_is_told_each_time_that_it_finds_no_node(site: Site, place: str) -> None:
    """The condition of the PodGroup does not say so: it never goes back."""
    with own_nodes(site.api, place, count=1, room=3) as pool:
        site.api.create("jobs", gang_job("train", 3, pod=pool.where), place)
        eventually(lambda: told_in_all(site, place) == (0, 1), "that it starts is told")
        pods = eventually(lambda: all_pods(site.api, place, "train", 3, is_running), "it runs")
        pool.close()
        end_pod(site.api, pods[0], "Failed")
        eventually(lambda: told_in_all(site, place) == (1, 1), "that it lost a pod is told", 2 * SOON)
        (waiting,) = told(site, place, "GangWaiting")
        assert waiting["message"].startswith(waiting_for(site.api, "2 of the gang's 3 pods have a node"))
        pool.open()
        eventually(lambda: told_in_all(site, place) == (1, 2), "that it is whole again is told", 2 * SOON)
        always(lambda: told_in_all(site, place) == (1, 2), "no more is told", A_WHILE)
        assert not told(site, place, "GangNotHeld"), "it had its nodes: a loss is no proof"


def test_a_gang_whose_pods_are_refused_is_told_how_many_there_are(site: Site, place: str) -> None:
    """Where a scheduler waits for the others, it says nothing, anywhere."""
    limits = {"metadata": {"name": "two-pods"}, "spec": {"hard": {"pods": "2"}}}
    site.api.create("resourcequotas", limits, place)
    eventually(lambda: site.api.get("resourcequotas", "two-pods", place).get("status", {}).get("hard"), "it counts")
    site.api.create("jobs", gang_job("train"), place)
    (event,) = eventually(lambda: told(site, place, "GangWaiting"), "it is told", SOON)
    assert event["message"].startswith("2 of the gang's 4 pods exist; ")
    assert events_on(site.api, place, "train", "FailedCreate"), "and the Job controller says why"
    site.api.delete("resourcequotas", "two-pods", place)
    eventually(lambda: told_in_all(site, place) == (1, 1), "that it starts is told", 60)


def test_a_job_that_is_resumed_is_told_of_again(site: Site, place: str) -> None:
    site.api.create("jobs", gang_job("train"), place)
    eventually(lambda: told_in_all(site, place) == (0, 1), "its first start is told")
    time.sleep(1)  # what happens within one second is hard to tell apart
    always(lambda: told_in_all(site, place) == (0, 1), "once", 1)
    site.api.patch("jobs", "train", {"spec": {"suspend": True}}, place)
    eventually(lambda: not pods_of(site.api, place, "train"), "its pods are gone")
    site.api.patch("jobs", "train", {"spec": {"suspend": False}}, place)
    eventually(lambda: told_in_all(site, place) == (0, 2), "its second start is told", SOON)


def test_a_class_that_does_not_exist_yet_holds_up_the_gang_as_it_holds_up_the_pods(site: Site, place: str) -> None:
    made = site.api.create("jobs", gang_job("train", pod={"priorityClassName": "later"}), place)
    if not site.profile.has_priority_classes:  # nobody asks what the word means
        eventually(lambda: all_pods(site.api, place, "train", 4, is_bound), "it starts", 60)
        assert pair_of(site.api, place, made)[1][0]["spec"]["priorityClassName"] == "later"
        return
    (event, *_) = eventually(lambda: events_on(site.api, place, "train", "FailedCreate"), "the Job controller tells")
    assert "no PriorityClass with name later was found" in event["message"]
    assert "muster" not in event["message"], "the server itself refuses the pods"
    with priority_class(site, "later", 7):
        eventually(lambda: all_pods(site.api, place, "train", 4, is_bound), "it starts", 60)
        ((_,), (group,)) = pair_of(site.api, place, made)
        assert group["spec"]["priority"] == 7


def told(site: Site, place: str, reason: str) -> list[dict[str, str]]:
    return events_on(site.api, place, "train", reason)


def told_in_all(site: Site, place: str) -> tuple[int, int]:
    """How often that it waits, and that it has its nodes."""
    return len(told(site, place, "GangWaiting")), len(told(site, place, "GangScheduled"))
