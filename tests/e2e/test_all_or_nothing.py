"""The gang promise itself: all of a gang's pods are bound, or none is."""

from collections.abc import Iterator
from functools import partial

import pytest

from tests.clusters.api import Api, Object, Recording
from tests.clusters.binding import PARTLY_BOUND_SECONDS, bound_in, job_of, seconds_partly_bound
from tests.clusters.muster import Muster
from tests.clusters.nodes import own_nodes
from tests.clusters.objects import all_pods, gang_job, is_bound, is_complete, is_running, job, pods_of
from tests.clusters.waiting import always, eventually
from tests.clusters.workers import end_pod

NODES, NODE_PODS = 2, 3
SIZE = 4
"""Six pods fit: one gang does, two never do, and half of a second one always would."""
GANGS = [f"gang-{number}" for number in range(4)]
TURN_SECONDS = 2.5


@pytest.fixture
def place(api: Api, namespace: str) -> Iterator[Object]:
    with own_nodes(api, namespace, NODES, NODE_PODS) as pool:
        yield pool.where


def test_gangs_that_fit_only_one_at_a_time_take_turns_and_none_is_ever_half_bound(
    api: Api, muster: Muster, namespace: str, place: Object
) -> None:
    with Recording(api, "pods", namespace) as pods:
        for name in GANGS:
            api.create("jobs", gang_job(name, SIZE, pod=place), namespace)
        waiting = set(GANGS)
        while waiting:
            name = eventually(lambda: whose_turn(api, namespace, waiting), "the next gang is bound", 60)
            waiting.remove(name)
            # Longer than a gang may be partly bound: one that took the room which is left would be found out.
            always(
                lambda: not any_bound(api, namespace, waiting), f"no other gang is bound beside {name}", TURN_SECONDS
            )
            end_gang(api, namespace, name)
        for name in GANGS:
            eventually(partial(is_complete, api, namespace, name), f"{name} is complete")
        total = len(GANGS) * SIZE
        eventually(lambda: len(bound_in(pods)) == total, "the watch shows that every pod was bound")
    partly = {name: seconds_partly_bound(pods, name, SIZE) for name in GANGS}
    assert max(partly.values()) <= PARTLY_BOUND_SECONDS, f"seconds with some but not all pods bound: {partly}"


def test_a_gang_that_is_larger_than_the_cluster_stays_wholly_unbound_while_a_plain_job_next_to_it_runs(
    api: Api, muster: Muster, namespace: str, place: Object
) -> None:
    too_large = NODES * NODE_PODS + 1
    with Recording(api, "pods", namespace) as pods:
        api.create("jobs", gang_job("huge", too_large, pod=place), namespace)
        eventually(lambda: len(pods_of(api, namespace, "huge")) == too_large, "every pod of the huge gang exists")
        api.create("jobs", job("small", pod=place, parallelism=2, completions=2), namespace)
        eventually(lambda: all_pods(api, namespace, "small", 2, is_running), "the plain Job next to it runs", 60)
        always(lambda: not bound_of(api, namespace, "huge"), "the huge gang is wholly unbound", 5)
        for pod in pods_of(api, namespace, "small"):
            end_pod(api, pod)
        eventually(lambda: is_complete(api, namespace, "small"), "the plain Job is complete")
        always(lambda: not bound_of(api, namespace, "huge"), "the huge gang is wholly unbound", 3)
    assert {job_of(pod) for pod in bound_in(pods).values()} == {"small"}, "a pod of the huge gang was bound meanwhile"


def whose_turn(api: Api, namespace: str, waiting: set[str]) -> str | None:
    """The gang that runs with all its pods."""
    bound = {name: len(bound_of(api, namespace, name)) for name in waiting}
    complete = [name for name, count in bound.items() if count == SIZE]
    assert len(complete) <= 1, f"more gangs than fit: {bound}"
    return next((name for name in complete if all_pods(api, namespace, name, SIZE, is_running)), None)


def any_bound(api: Api, namespace: str, names: set[str]) -> bool:
    return any(bound_of(api, namespace, name) for name in names)


def end_gang(api: Api, namespace: str, name: str) -> None:
    for pod in pods_of(api, namespace, name):
        end_pod(api, pod)


def bound_of(api: Api, namespace: str, name: str) -> list[Object]:
    return [pod for pod in pods_of(api, namespace, name) if is_bound(pod)]
