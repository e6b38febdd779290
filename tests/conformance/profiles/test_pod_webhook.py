"""The pod webhook: which group a pod joins, whatever else exists in the namespace or happens in mid-run."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

import pytest

from muster.api.keys import Uid
from muster.core.naming import pod_group_name, template_name, workload_name
from tests.clusters.api import Api, ApiError, Object
from tests.clusters.https import pod_of
from tests.clusters.muster import Muster
from tests.clusters.namespaces import own_namespace
from tests.clusters.objects import (
    all_pods,
    controlled_by,
    events_on,
    gang_job,
    group_of,
    is_bound,
    is_running,
    pods_of,
    unfinished_pods,
)
from tests.clusters.pairs import BASIC, GANG_OF_4, delete_pod_group, pair_of, pod_group, workload
from tests.clusters.profiles import BUILT_IN_GROUP, NATIVE, OWN_GROUP
from tests.clusters.waiting import always, eventually

pytestmark = pytest.mark.profiles(NATIVE, OWN_GROUP, full=[BUILT_IN_GROUP])

Happening = Callable[[Api, str, Object], None]
"""What is done to the Job "train" of a namespace and to its PodGroup."""

OWN_WORKLOADS = {
    "a gang with its PodGroup": (GANG_OF_4, True),
    "a gang without a PodGroup": (GANG_OF_4, False),
    "a gang smaller than the Job": ({"gang": {"minCount": 2}}, False),
    "Basic with its PodGroup": (BASIC, True),
    "Basic without a PodGroup": (BASIC, False),
}
UNUSABLE_WORKLOADS = {
    "two Workloads describe the Job": ([workload("one", "train"), workload("two", "train")], "AmbiguousWorkloads"),
    "its Workload has two templates": ([workload("one", "train", templates=2)], "UnsupportedStructure"),
}


def test_a_job_whose_pods_are_plain_stays_plain(api: Api, process: Muster, namespace: str) -> None:
    with process.away():
        api.create("jobs", gang_job("train"), namespace)
        eventually(lambda: all_pods(api, namespace, "train", 4, is_running), "four plain pods run")
    eventually(lambda: stood_aside(api, namespace), "an event says that Muster stands aside")
    assert [group_of(pod) for pod in replace_pods(api, namespace)] == [None]
    always(lambda: len(stood_aside(api, namespace)) == 1, "there is one such event", 2)
    assert "PlainPods" in stood_aside(api, namespace)[0]
    assert (api.list("workloads", namespace), api.list("podgroups", namespace)) == ([], [])


@dataclass(frozen=True)
class MidRun:
    """A gang to which something happened in mid-run; after that it lost a pod."""

    namespace: str
    group: Object
    """As it was before."""
    replacement: Object


def lose_pod_group(api: Api, namespace: str, group: Object) -> None:
    name = group["metadata"]["name"]
    delete_pod_group(api, namespace, name)
    eventually(lambda: api.find("podgroups", name, namespace), "Muster recreates it")


def meet_second_workload(api: Api, namespace: str, group: Object) -> None:
    api.create("workloads", workload("second", "train"), namespace)


def lose_workload(api: Api, namespace: str, group: Object) -> None:
    api.delete("workloads", group["spec"]["podGroupTemplateRef"]["workload"]["workloadName"], namespace)


@pytest.fixture(scope="module")
def mid_run(api: Api, muster: Muster) -> Iterator[dict[Happening, MidRun]]:
    """All at once, since the Job controller takes its time to replace a pod."""
    with ExitStack() as stack:
        begun = []
        for happens in (lose_pod_group, meet_second_workload, lose_workload):
            namespace = stack.enter_context(contextmanager(own_namespace)(api))
            group = running_gang(api, namespace)
            happens(api, namespace, group)
            begun.append((happens, namespace, group, lose_pods(api, namespace)))
        yield {
            happens: MidRun(namespace, group, *in_their_place(api, namespace, before))
            for happens, namespace, group, before in begun
        }


def test_a_pod_group_deleted_in_mid_run_is_made_again_under_its_name(
    api: Api, mid_run: dict[Happening, MidRun]
) -> None:
    seen = mid_run[lose_pod_group]
    again = api.get("podgroups", seen.group["metadata"]["name"], seen.namespace)
    assert again["metadata"]["uid"] != seen.group["metadata"]["uid"]
    assert again["spec"] == seen.group["spec"]
    assert_stayed_together(api, seen)


def test_pods_stay_together_when_a_second_workload_appears_in_mid_run(
    api: Api, mid_run: dict[Happening, MidRun]
) -> None:
    assert_stayed_together(api, mid_run[meet_second_workload])
    assert len(api.list("podgroups", mid_run[meet_second_workload].namespace)) == 1


def test_pods_stay_together_when_the_workload_is_deleted_in_mid_run(api: Api, mid_run: dict[Happening, MidRun]) -> None:
    assert_stayed_together(api, mid_run[lose_workload])


def assert_stayed_together(api: Api, seen: MidRun) -> None:
    assert group_of(seen.replacement) == seen.group["metadata"]["name"]
    eventually(lambda: all_pods(api, seen.namespace, "train", 4, is_bound), "the replacements are bound")


@pytest.mark.parametrize("kind", OWN_WORKLOADS)
def test_a_users_own_workload_is_used_and_never_changed(api: Api, muster: Muster, namespace: str, kind: str) -> None:
    policy, with_group = OWN_WORKLOADS[kind]
    own = api.create("workloads", workload("mine", "train", policy), namespace)
    if with_group:
        mine = api.create("podgroups", pod_group("mine", "mine", policy), namespace)
    api.create("jobs", gang_job("train"), namespace)
    pods = eventually(lambda: all_pods(api, namespace, "train", 4, is_bound), "four pods are bound")
    (group,) = api.list("podgroups", namespace)
    assert {group_of(pod) for pod in pods} == {group["metadata"]["name"]}
    assert group["spec"]["schedulingPolicy"] == policy
    assert group["spec"]["podGroupTemplateRef"]["workload"]["workloadName"] == "mine"
    if with_group:
        assert (group["metadata"]["uid"], group["spec"]) == (mine["metadata"]["uid"], mine["spec"])
        assert "ownerReferences" not in group["metadata"]
    (kept,) = api.list("workloads", namespace)
    assert kept["metadata"]["resourceVersion"] == own["metadata"]["resourceVersion"]


@pytest.mark.parametrize("case", UNUSABLE_WORKLOADS)
def test_a_job_with_an_unusable_workload_runs_plain_and_one_event_says_why(
    api: Api, muster: Muster, namespace: str, case: str
) -> None:
    own, reason = UNUSABLE_WORKLOADS[case]
    for body in own:
        api.create("workloads", body, namespace)
    api.create("jobs", gang_job("train"), namespace)
    pods = eventually(lambda: all_pods(api, namespace, "train", 4, is_bound), "four pods are bound")
    assert {group_of(pod) for pod in pods} == {None}
    (sentence,) = eventually(lambda: stood_aside(api, namespace), "an event says why")
    assert reason in sentence
    always(lambda: len(stood_aside(api, namespace)) == 1, "there is one such event", 2)
    assert api.list("podgroups", namespace) == []
    assert len(api.list("workloads", namespace)) == len(own)


@pytest.mark.parametrize("squatted", ["the Workload", "the PodGroup", "both"])
def test_a_squatted_name_costs_an_event_and_the_next_name(
    api: Api, muster: Muster, namespace: str, squatted: str
) -> None:
    made = api.create("jobs", gang_job("train", suspend=True), namespace)
    name = workload_name("train", Uid(made["metadata"]["uid"]))
    taken = []
    if squatted != "the PodGroup":
        taken.append(api.create("workloads", workload(name, "somebody-elses"), namespace))
        name = workload_name("train", Uid(made["metadata"]["uid"]), 1)
    if squatted != "the Workload":
        taken.append(api.create("podgroups", pod_group(pod_group_name(name, template_name("train"))), namespace))
    api.patch("jobs", "train", {"spec": {"suspend": False}}, namespace)
    pods = eventually(lambda: all_pods(api, namespace, "train", 4, is_bound), "four pods are bound")
    (own,), (group,) = pair_of(api, namespace, made)
    assert own["metadata"]["name"] == name
    assert {group_of(pod) for pod in pods} == {group["metadata"]["name"]}
    assert own["metadata"]["name"] not in {thing["metadata"]["name"] for thing in taken}
    assert group["metadata"]["name"] not in {thing["metadata"]["name"] for thing in taken}
    expected = {thing["metadata"]["name"] for thing in taken}
    eventually(partial(_all_reported, api, namespace, expected), "an event for each taken name")


def test_a_dry_run_for_a_running_gang_shows_its_group(api: Api, muster: Muster, namespace: str) -> None:
    group = running_gang(api, namespace)
    shown = api.create("pods", pod_of(api.get("jobs", "train", namespace)), namespace, dryRun="All")
    assert group_of(shown) == group["metadata"]["name"]
    assert len(pods_of(api, namespace, "train")) == 4


def test_a_dry_run_for_a_suspended_job_is_refused_and_writes_nothing(api: Api, muster: Muster, namespace: str) -> None:
    made = api.create("jobs", gang_job("train", suspend=True), namespace)
    with pytest.raises(ApiError, match=r"muster: .*\[Suspended\]"):
        api.create("pods", pod_of(made), namespace, dryRun="All")
    always(lambda: pair_of(api, namespace, made) == ([], []), "no Workload and no PodGroup", 2)


def test_a_pod_that_only_claims_to_be_a_jobs_does_not_unmake_the_gang(api: Api, muster: Muster, namespace: str) -> None:
    """A label is no proof. The pod has a controller already, so the Job controller does not adopt it either."""
    account = eventually(lambda: api.find("serviceaccounts", "default", namespace), "something that can own a pod")
    made = api.create("jobs", gang_job("train", suspend=True), namespace)
    impostor = pod_of(made)
    owner = {"apiVersion": "v1", "kind": "ServiceAccount", "name": "default", "uid": account["metadata"]["uid"]}
    impostor["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    api.create("pods", impostor, namespace)
    api.patch("jobs", "train", {"spec": {"suspend": False}}, namespace)
    own = partial(_own_pods, api, namespace, made)
    eventually(lambda: len(own()) == 4, "four pods of its own")
    (group,) = pair_of(api, namespace, made)[1]
    assert {group_of(pod) for pod in own()} == {group["metadata"]["name"]}


def running_gang(api: Api, namespace: str) -> Object:
    """The PodGroup of the Job "train", whose four pods run."""
    made = api.create("jobs", gang_job("train"), namespace)
    eventually(lambda: all_pods(api, namespace, "train", 4, is_running), "four pods run")
    (group,) = pair_of(api, namespace, made)[1]
    return group


def replace_pods(api: Api, namespace: str) -> list[Object]:
    return in_their_place(api, namespace, lose_pods(api, namespace))


def lose_pods(api: Api, namespace: str) -> set[str]:
    """Delete a pod of the Job "train"; the UIDs that its pods had until then."""
    before = {pod["metadata"]["uid"] for pod in pods_of(api, namespace, "train")}
    for pod in unfinished_pods(api, namespace, "train")[:1]:
        api.delete("pods", pod["metadata"]["name"], namespace)
    return before


def in_their_place(api: Api, namespace: str, before: set[str]) -> list[Object]:
    """What was made for the pod that was deleted, after a back-off of 10 s."""

    def fresh() -> list[Object]:
        made = [pod for pod in pods_of(api, namespace, "train") if pod["metadata"]["uid"] not in before]
        return made if len(made) == 1 else []

    return eventually(fresh, "pods in their place", 60)


def stood_aside(api: Api, namespace: str) -> list[str]:
    return [e["message"] for e in events_on(api, namespace, "train") if e["reason"] == "StandingAside"]


def _all_reported(api: Api, namespace: str, names: set[str]) -> bool:
    messages = [event["message"] for event in events_on(api, namespace, "train") if event["reason"] == "NameTaken"]
    return len(messages) == len(names) and all(
        any(message.startswith(f"{name} ") for message in messages) for name in names
    )


def _own_pods(api: Api, namespace: str, made: Object) -> list[Object]:
    return controlled_by(pods_of(api, namespace, "train"), made["metadata"]["uid"])
