"""The events about a gang, on each profile: that it has its nodes, or that it waits, and why."""

import time

import pytest

from tests.clusters.nodes import own_nodes, waiting_for
from tests.clusters.objects import all_pods, events_on, gang_job, is_bound, is_running, pods_of
from tests.clusters.pairs import pair_of
from tests.clusters.profiles import BUILT_IN_GROUP, NATIVE, OWN_GROUP
from tests.clusters.site import Site
from tests.clusters.waiting import always, eventually
from tests.clusters.workers import end_pod
from tests.conformance.profiles.test_pod_groups import priority_class

pytestmark = pytest.mark.profiles(NATIVE, OWN_GROUP, full=[BUILT_IN_GROUP])
ONE_IS_ENOUGH = pytest.mark.profiles(NATIVE, full=[BUILT_IN_GROUP, OWN_GROUP])
"""For a test that mostly waits, and is the same on all profiles."""

A_WHILE = 3
SOON = 20
"""Muster posts that a gang waits after five seconds, or ten."""


def test_muster_posts_one_event_when_a_gang_starts(site: Site, namespace: str) -> None:
    site.api.create("jobs", gang_job("train"), namespace)
    (event,) = eventually(lambda: posted(site, namespace, "GangScheduled"), "the event is posted")
    assert event["type"] == "Normal"
    (group,) = site.api.list("podgroups", namespace)
    assert event["message"] == f"The gang of 4 is scheduled (PodGroup {group['metadata']['name']})"
    always(lambda: waits_and_starts(site, namespace) == (0, 1), "no other event is posted", A_WHILE)


def test_muster_posts_why_a_gang_waits_and_when_it_starts(site: Site, namespace: str) -> None:
    with own_nodes(site.api, namespace, count=1, room=2) as pool:
        site.api.create("jobs", gang_job("train", 3, pod=pool.where), namespace)
        (waiting,) = eventually(
            lambda: posted(site, namespace, "GangWaiting"), "an event says that it does not fit", SOON
        )
        assert waiting["type"] == "Warning"
        bound = 0 if site.profile.native else 2
        assert waiting["message"].startswith(waiting_for(site.api, f"{bound} of the gang's 3 pods have a node"))
        assert "Insufficient cpu" in waiting["message"]
        assert ("| 0/1 placements are available" in waiting["message"]) is site.profile.native
        if not site.profile.native:
            (event,) = eventually(
                lambda: posted(site, namespace, "GangNotHeld"), "an event says that no scheduler holds the gang", SOON
            )
            assert event["message"].startswith("2 of the gang's 3 pods started without the others; this cluster's ")
        pool.give_room(3)
        eventually(lambda: waits_and_starts(site, namespace) == (1, 1), "an event says that it starts", SOON)
        assert len(posted(site, namespace, "GangNotHeld")) == (0 if site.profile.native else 1)


@ONE_IS_ENOUGH
def test_muster_posts_each_time_that_a_lost_pod_finds_no_node(site: Site, namespace: str) -> None:
    """The condition of the PodGroup does not show it: it never goes back."""
    with own_nodes(site.api, namespace, count=1, room=3) as pool:
        site.api.create("jobs", gang_job("train", 3, pod=pool.where), namespace)
        eventually(lambda: waits_and_starts(site, namespace) == (0, 1), "an event says that it starts")
        pods = eventually(lambda: all_pods(site.api, namespace, "train", 3, is_running), "it runs")
        pool.close()
        end_pod(site.api, pods[0], "Failed")
        eventually(lambda: waits_and_starts(site, namespace) == (1, 1), "an event says that it lost a pod", 2 * SOON)
        (waiting,) = posted(site, namespace, "GangWaiting")
        assert waiting["message"].startswith(waiting_for(site.api, "2 of the gang's 3 pods have a node"))
        pool.open()
        eventually(
            lambda: waits_and_starts(site, namespace) == (1, 2), "an event says that it is whole again", 2 * SOON
        )
        always(lambda: waits_and_starts(site, namespace) == (1, 2), "no other event is posted", A_WHILE)
        assert not posted(site, namespace, "GangNotHeld"), "it had its nodes: a loss is no proof"


@ONE_IS_ENOUGH
def test_muster_posts_how_many_pods_of_a_waiting_gang_exist(site: Site, namespace: str) -> None:
    """Where a scheduler waits for the others, it says nothing, anywhere."""
    limits = {"metadata": {"name": "two-pods"}, "spec": {"hard": {"pods": "2"}}}
    site.api.create("resourcequotas", limits, namespace)
    eventually(lambda: site.api.get("resourcequotas", "two-pods", namespace).get("status", {}).get("hard"), "it counts")
    site.api.create("jobs", gang_job("train"), namespace)
    (event,) = eventually(lambda: posted(site, namespace, "GangWaiting"), "the event is posted", SOON)
    assert event["message"].startswith("2 of the gang's 4 pods exist; ")
    assert events_on(site.api, namespace, "train", "FailedCreate"), "and the Job controller says why"
    site.api.delete("resourcequotas", "two-pods", namespace)
    eventually(lambda: waits_and_starts(site, namespace) == (1, 1), "an event says that it starts", 60)


def test_muster_posts_the_start_of_a_resumed_job_again(site: Site, namespace: str) -> None:
    site.api.create("jobs", gang_job("train"), namespace)
    eventually(lambda: waits_and_starts(site, namespace) == (0, 1), "an event reports its first start")
    time.sleep(1)  # what happens within one second is hard to tell apart
    always(lambda: waits_and_starts(site, namespace) == (0, 1), "once", 1)
    site.api.patch("jobs", "train", {"spec": {"suspend": True}}, namespace)
    eventually(lambda: not pods_of(site.api, namespace, "train"), "its pods are gone")
    site.api.patch("jobs", "train", {"spec": {"suspend": False}}, namespace)
    eventually(lambda: waits_and_starts(site, namespace) == (0, 2), "an event reports its second start", SOON)


def test_a_gang_waits_for_its_priority_class_as_its_pods_do(site: Site, namespace: str) -> None:
    made = site.api.create("jobs", gang_job("train", pod={"priorityClassName": "later"}), namespace)
    if not site.profile.has_priority_classes:  # no PriorityClass is looked up
        eventually(lambda: all_pods(site.api, namespace, "train", 4, is_bound), "it starts", 60)
        assert pair_of(site.api, namespace, made)[1][0]["spec"]["priorityClassName"] == "later"
        return
    (event, *_) = eventually(
        lambda: events_on(site.api, namespace, "train", "FailedCreate"), "the Job controller posts the reason"
    )
    assert "no PriorityClass with name later was found" in event["message"]
    assert "muster" not in event["message"], "the server itself refuses the pods"
    with priority_class(site, "later", 7):
        eventually(lambda: all_pods(site.api, namespace, "train", 4, is_bound), "it starts", 60)
        ((_,), (group,)) = pair_of(site.api, namespace, made)
        assert group["spec"]["priority"] == 7


def posted(site: Site, namespace: str, reason: str) -> list[dict[str, str]]:
    return events_on(site.api, namespace, "train", reason)


def waits_and_starts(site: Site, namespace: str) -> tuple[int, int]:
    """How many events say that it waits, and that it has its nodes."""
    return len(posted(site, namespace, "GangWaiting")), len(posted(site, namespace, "GangScheduled"))
