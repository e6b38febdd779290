"""The API server gets no answer from Muster: only what its webhooks match is concerned, and all is well afterwards."""

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import pytest

from tests.clusters.api import Api, ApiError, Object
from tests.clusters.cluster import Cluster
from tests.clusters.objects import all_pods, events_on, gang_job, group_of, is_bound, job, pods_of
from tests.clusters.pairs import assert_one_pair
from tests.clusters.replicas import Replicas
from tests.clusters.waiting import eventually
from tests.e2e.support.outages import OUTAGES, assert_nothing_else_is_refused, settings
from tests.e2e.support.plain_jobs import PlainJobs, longest

BACKOFF_SECONDS = 60
"""The longest pause of the Job controller between two tries."""
QPS_SECONDS = 15
"""How long it needs to make all the pods, on a busy machine."""
BEHIND_SECONDS = 15
"""How much later a plain Job may get its pods while others have been waiting for Muster in vain."""
IN_EVERY_RUN = {("no replica is up", "Fail")}


@pytest.fixture(scope="module")
def start(local: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Replicas]]:
    """One Muster, which is started with another failurePolicy when a test asks for that."""
    with contextlib.ExitStack() as stack:
        running: dict[str, Replicas] = {}

        def with_policy(policy: str) -> Replicas:
            if policy not in running:
                stack.close()
                running.clear()
                folder = tmp_path_factory.mktemp("outages")
                running[policy] = stack.enter_context(Replicas(local, folder, count=1, settings=settings(policy)))
                running[policy].wait_until_ready()
            return running[policy]

        yield with_policy


@pytest.mark.parametrize(
    ("policy", "outage"),
    [
        pytest.param(policy, outage, marks=[] if (outage, policy) in IN_EVERY_RUN else pytest.mark.full)
        for policy in ("Ignore", "Fail")
        for outage in OUTAGES
    ],
)
def test_an_outage_affects_only_pods_of_matching_jobs(
    api: Api, namespace: str, start: Callable[[str], Replicas], policy: str, outage: str
) -> None:
    replicas = start(policy)
    api.create("jobs", job("indexed", parallelism=2, completions=4, completionMode="Indexed"), namespace)
    eventually(lambda: all_pods(api, namespace, "indexed", 2, is_bound), "an Indexed Job that is no gang runs", 60)
    with OUTAGES[outage](api, replicas):
        waiting = api.create("jobs", gang_job("train"), namespace)
        if policy == "Fail":
            eventually(partial(is_refused, api, namespace, "train"), "its pods are refused", 60)
            with pytest.raises(ApiError, match=r'failed calling webhook "parallelism-guard\.muster\.dev"'):
                api.patch("jobs", "indexed", {"spec": {"parallelism": 3}}, namespace)
        else:
            eventually(lambda: all_pods(api, namespace, "train", 4, is_bound), "its pods pass", 60)
            api.patch("jobs", "indexed", {"spec": {"parallelism": 3}}, namespace)
        assert_nothing_else_is_refused(api, namespace)
    assert_well_afterwards(api, namespace, waiting, policy)


WORKERS = 5
"""Of the Job controller. One waits out the whole timeout with each pod that nobody answers for."""
SLACK_SECONDS = 3
"""A busy machine."""


@dataclass(frozen=True)
class Crowd:
    jobs: int
    refusals: int
    """Until each Job has been refused so often, they count as a burst. Then the Job controller lets each of them wait
    for 2, 4, 8 s and more, and they leave it room for others."""
    waiting_seconds: int
    """How long it is looked at after that."""


FEW = pytest.param(Crowd(12, refusals=1, waiting_seconds=5), id="12")
WHOLE = pytest.param(
    Crowd(60, refusals=5, waiting_seconds=BACKOFF_SECONDS),
    id="60",
    marks=[pytest.mark.full, pytest.mark.timeout(600)],
)


@pytest.mark.parametrize("crowd", [FEW, WHOLE])
def test_plain_jobs_start_soon_behind_many_gangs_that_wait_for_muster(
    api: Api, namespace: str, start: Callable[[str], Replicas], crowd: Crowd, record_property: Callable[..., None]
) -> None:
    """At once, by their turn in the queue, and that is arithmetic. Behind Jobs that have waited a while, hardly."""
    replicas = start("Fail")
    (timeout,) = {each["timeoutSeconds"] for each in api.get("mutatingwebhookconfigurations", "muster")["webhooks"]}
    assert timeout == 2, "the default"
    with OUTAGES["black-holed"](api, replicas):
        waiting = [api.create("jobs", gang_job(f"gang-{number}"), namespace) for number in range(crowd.jobs)]
        names = [each["metadata"]["name"] for each in waiting]
        with PlainJobs(api, namespace) as plain:
            eventually(partial(all_refused, api, namespace, names, crowd.refusals), "all are refused", 240, every=1)
            spread = plain.elapsed()
            time.sleep(crowd.waiting_seconds)
        delays = plain.delays()
        assert not [pod for pod in api.list("pods", namespace) if pod["metadata"]["name"].startswith("gang-")]
    back = time.monotonic()
    for each in waiting:
        name = each["metadata"]["name"]
        left = BACKOFF_SECONDS + QPS_SECONDS - (time.monotonic() - back)
        eventually(partial(has_its_pods, api, namespace, name), f"{name} has its pods", left)
        assert_one_pair(api, namespace, each, 4)
    record_property("delays", [(round(each.since), round(each.seconds, 1)) for each in delays])
    record_property("back", round(time.monotonic() - back, 1))
    at_once, later = longest(delays), longest(delays, since=spread)
    print(f"behind {crowd.jobs}: {at_once:.1f} s at most, {later:.1f} s from second {spread:.0f} on")
    assert at_once <= crowd.jobs * timeout / WORKERS + SLACK_SECONDS
    assert later <= BEHIND_SECONDS


def all_refused(api: Api, namespace: str, names: list[str], times: int) -> bool:
    refused = Counter[str]()
    for event in api.list("events", namespace, fieldSelector="reason=FailedCreate"):
        refused[event["involvedObject"]["name"]] += event["count"]
    seldom = {name: refused[name] for name in names if refused[name] < times}
    assert not seldom, f"refused so far: {seldom}"
    return True


def has_its_pods(api: Api, namespace: str, name: str) -> bool:
    refusals = [(e["lastTimestamp"], e["count"], e["message"]) for e in events_on(api, namespace, name, "FailedCreate")]
    assert all_pods(api, namespace, name, 4), f"refused until now: {sorted(refusals)}"
    return True


def is_refused(api: Api, namespace: str, name: str) -> bool:
    assert pods_of(api, namespace, name) == []
    messages = [event["message"] for event in events_on(api, namespace, name, "FailedCreate")]
    return any('failed calling webhook "pods.muster.dev"' in message for message in messages)


def assert_well_afterwards(api: Api, namespace: str, waiting: Object, policy: str) -> None:
    """What was refused becomes a gang. What began without its gang stays without: also pods that come later."""
    if policy == "Fail":
        left = BACKOFF_SECONDS + QPS_SECONDS
        eventually(lambda: all_pods(api, namespace, "train", 4, is_bound), "the gang starts after all", left)
        assert_one_pair(api, namespace, waiting, 4)
        return
    first, *_ = pods_of(api, namespace, "train")
    api.delete("pods", first["metadata"]["name"], namespace)

    def replaced() -> list[Object]:
        pods = [pod for pod in pods_of(api, namespace, "train") if pod["status"].get("phase") != "Failed"]
        found = [pod for pod in pods if pod["metadata"]["uid"] != first["metadata"]["uid"] and is_bound(pod)]
        return found if len(found) == 4 else []

    pods = eventually(replaced, "another pod in its place", BACKOFF_SECONDS + QPS_SECONDS)
    assert {group_of(pod) for pod in pods} == {None}
