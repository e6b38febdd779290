"""reference/in-tree.md 6.1, 6.3 and 6.4 without the guard's rows: which Jobs get a pair, and how their pods are wired.

The Jobs are real ones on a real control plane. Most rows share one namespace and one wait. Where a row turns the
feature gate off, that means for Muster: it is not running.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from tests.clusters.api import Api, ApiError, Object, Recording
from tests.clusters.muster import Muster
from tests.clusters.namespaces import own_namespace
from tests.clusters.objects import (
    all_pods,
    controlled_by,
    gang_job,
    group_of,
    is_bound,
    is_complete,
    job,
    pods_of,
    unfinished_pods,
)
from tests.clusters.pairs import own_pair, pair_of
from tests.clusters.profiles import BUILT_IN_GROUP, NATIVE, OWN_GROUP
from tests.clusters.site import Site
from tests.clusters.waiting import always, eventually

pytestmark = pytest.mark.profiles(NATIVE, BUILT_IN_GROUP, full=[OWN_GROUP])

A_GOOD_WHILE_SECONDS = 10
"""How long the in-tree tests look for a pair that must not appear."""
EXTERNAL_GROUP = "external-pod-group"


@dataclass(frozen=True)
class Row:
    pods: int
    gang: bool = False
    group: str | None = None
    """The group that the pods name, where the user chose it."""
    spec: dict[str, Any] = field(default_factory=dict)


def indexed(parallelism: int | None, completions: int) -> dict[str, Any]:
    shape = {"completions": completions, "completionMode": "Indexed"}
    return shape if parallelism is None else {"parallelism": parallelism, **shape}


def preset(pods: int) -> Row:
    return Row(pods, group=EXTERNAL_GROUP, spec=indexed(pods, pods))


ROWS = {
    "J36-01 eligible": Row(4, gang=True, spec=indexed(4, 4)),
    "J36-02 minimum parallelism": Row(2, gang=True, spec=indexed(2, 2)),
    "J36-03 nil parallelism, which the server makes 1": Row(1, spec=indexed(None, 4)),
    "J36-04 parallelism of 1": Row(1, spec=indexed(1, 1)),
    "J36-05 parallelism of 0": Row(0, spec=indexed(0, 0)),
    "J36-06 not Indexed": Row(4, spec={"parallelism": 4, "completions": 4}),
    "J36-07 nil completions": Row(4, spec={"parallelism": 4}),
    "J36-08 completions differ": Row(4, spec=indexed(4, 8)),
    "J36-09 a preset group": preset(4),
    "J36-49 not eligible, 2 of 5 not Indexed": Row(2, spec={"parallelism": 2, "completions": 5}),
    "J36-50 the template names an external group": preset(4),
    "J36-53 eligible": Row(4, gang=True, spec=indexed(4, 4)),
    "J36-54 not Indexed, parallelism of 3": Row(3, spec={"parallelism": 3, "completions": 3}),
    "J36-55 1 of 1": Row(1, spec=indexed(1, 1)),
    "J36-56 2 of 5 Indexed": Row(2, spec=indexed(2, 5)),
    "J36-57 the template names an external group": preset(4),
}


@dataclass(frozen=True)
class Outcome:
    job: Object
    workloads: list[Object]
    """All that ever named the Job or were controlled by it."""
    groups: list[Object]
    pods: list[Object]


@pytest.fixture(scope="module")
def shared(api: Api, muster: Muster) -> Iterator[str]:
    yield from own_namespace(api)


@pytest.fixture(scope="module")
def outcomes(site: Site, api: Api, shared: str) -> dict[str, Outcome]:
    """All rows' Jobs at once, looked at after a good while."""
    with Recording(api, "workloads", shared) as workloads, Recording(api, "podgroups", shared) as groups:
        made = {row: api.create("jobs", _job(site, row), shared)["metadata"]["uid"] for row in ROWS}
        began = time.monotonic()
        for row, wanted in ROWS.items():
            eventually(partial(_has_pods, api, shared, _name(row), wanted.pods), f"{row}: its pods")
        time.sleep(max(0.0, began + A_GOOD_WHILE_SECONDS - time.monotonic()))
    return {row: _outcome(api, shared, _name(row), uid, workloads, groups) for row, uid in made.items()}


@pytest.mark.parametrize("row", ROWS)
def test_an_eligible_job_gets_one_pair_and_any_other_none(row: str, outcomes: dict[str, Outcome]) -> None:
    found = outcomes[row]
    assert (len(found.workloads), len(found.groups)) == ((1, 1) if ROWS[row].gang else (0, 0))


@pytest.mark.parametrize("row", ROWS)
def test_the_pods_name_the_pairs_group_or_the_users_or_none(row: str, outcomes: dict[str, Outcome]) -> None:
    found, wanted = outcomes[row], ROWS[row]
    group = found.groups[0]["metadata"]["name"] if wanted.gang else wanted.group
    assert [group_of(pod) for pod in found.pods] == [group] * wanted.pods
    assert all(_owner_kinds(pod) == ["Job"] for pod in found.pods)


@pytest.mark.parametrize("row", [row for row in ROWS if ROWS[row].gang])
def test_the_pair_is_owned_by_the_job_and_holds_all_its_pods_together(row: str, outcomes: dict[str, Outcome]) -> None:
    found = outcomes[row]
    (workload,), (group,) = found.workloads, found.groups
    assert_wired(found.job, workload, group, ROWS[row].pods)


def test_j36_07_the_server_refuses_an_indexed_job_without_completions(api: Api, shared: str) -> None:
    """The row's Job in the shape of the in-tree unit test: it cannot exist, so there is nothing to skip."""
    with pytest.raises(ApiError) as refused:
        api.create("jobs", job("nil-completions-indexed", parallelism=4, completionMode="Indexed"), shared)
    assert refused.value.status == 422


def test_j36_48_pods_join_the_pair_that_exists_already(api: Api, muster: Muster, namespace: str) -> None:
    """The in-tree unit test also sees an ownerReference to the PodGroup in the pod template. It never reaches a pod in
    tree, and Muster sets none on purpose: such pods would outlive their Job (design.md 2, fact 8)."""
    made = api.create("jobs", gang_job("given", suspend=True), namespace)
    workload, group = own_pair(api, namespace, made)
    api.patch("jobs", "given", {"spec": {"suspend": False}}, namespace)
    pods = eventually(lambda: all_pods(api, namespace, "given", 4), "four pods")
    assert {group_of(pod) for pod in pods} == {group["metadata"]["name"]}
    assert all(_owner_kinds(pod) == ["Job"] for pod in pods)
    assert _uids(pair_of(api, namespace, made)) == _uids(([workload], [group]))


def test_j36_51_a_suspended_gang_with_its_pair_has_no_pods(api: Api, muster: Muster, namespace: str) -> None:
    made = api.create("jobs", gang_job("suspended"), namespace)
    eventually(lambda: all_pods(api, namespace, "suspended", 4), "four pods")
    pair = pair_of(api, namespace, made)
    api.patch("jobs", "suspended", {"spec": {"suspend": True}}, namespace)
    eventually(lambda: not unfinished_pods(api, namespace, "suspended"), "its pods are gone")
    always(lambda: not unfinished_pods(api, namespace, "suspended"), "no pods while suspended", 3)
    assert _uids(pair_of(api, namespace, made)) == _uids(pair)
    assert [len(part) for part in pair] == [1, 1]


def test_j36_52_with_the_gate_off_the_pods_are_plain(api: Api, process: Muster, namespace: str) -> None:
    """Off means for Muster: it is not running, and its webhooks are gone, so nothing waits for it."""
    with process.away():
        made = api.create("jobs", gang_job("alone"), namespace)
        pods = eventually(lambda: all_pods(api, namespace, "alone", 4, is_bound), "four pods are bound")
        assert {group_of(pod) for pod in pods} == {None}
        assert pair_of(api, namespace, made) == ([], [])


def test_j36_58_a_job_created_suspended_is_wired_when_it_resumes(api: Api, muster: Muster, namespace: str) -> None:
    """In tree the pair exists while the Job is suspended, and its parallelism is locked from then on. Muster makes it
    on resume (design.md 4.2), so that partial admission by Kueue can still shrink the Job."""
    made = api.create("jobs", gang_job("later", suspend=True), namespace)
    always(lambda: pair_of(api, namespace, made) == ([], []), "no pair while it is suspended", 5)
    assert pods_of(api, namespace, "later") == []
    api.patch("jobs", "later", {"spec": {"suspend": False}}, namespace)
    pods = eventually(lambda: all_pods(api, namespace, "later", 4, is_bound), "four pods are bound")
    (workload,), (group,) = pair_of(api, namespace, made)
    assert_wired(made, workload, group, 4)
    assert {group_of(pod) for pod in pods} == {group["metadata"]["name"]}


def test_j36_59_a_restart_keeps_the_workload_and_the_pods(api: Api, process: Muster, namespace: str) -> None:
    """Muster is restarted, where the row restarts the Job controller."""
    made = api.create("jobs", gang_job("steady"), namespace)
    before = {p["metadata"]["uid"] for p in eventually(lambda: all_pods(api, namespace, "steady", 4), "four pods")}
    pair = pair_of(api, namespace, made)
    with process.away():
        pass
    always(lambda: _uids(pair_of(api, namespace, made)) == _uids(pair), "the same pair", 5)
    assert {p["metadata"]["uid"] for p in pods_of(api, namespace, "steady")} == before
    assert [len(part) for part in pair] == [1, 1]


def test_j36_66_a_gang_runs_from_its_workload_to_complete(api: Api, muster: Muster, namespace: str) -> None:
    with Recording(api, "workloads", namespace) as workloads, Recording(api, "podgroups", namespace) as groups:
        made = api.create("jobs", gang_job("whole", run_seconds=1), namespace)
        eventually(lambda: is_complete(api, namespace, "whole"), "the Job is complete", 60)
    (workload,), (group,) = pair_of(api, namespace, made)
    assert_wired(made, workload, group, 4)
    eventually(lambda: workloads.created() and groups.created(), "the streams show the pair")
    assert max(workloads.created().values()) < min(groups.created().values())
    assert {group_of(pod) for pod in pods_of(api, namespace, "whole")} == {group["metadata"]["name"]}
    status = api.get("jobs", "whole", namespace)["status"]
    (reason,) = [c["reason"] for c in status["conditions"] if c["type"] == "Complete"]
    assert (reason, status["succeeded"], status.get("active", 0)) == ("CompletionsReached", 4, 0)


def assert_wired(made: Object, workload: Object, group: Object, size: int) -> None:
    """The pair as the in-tree controller makes it."""
    uid, name = made["metadata"]["uid"], made["metadata"]["name"]
    assert workload["spec"]["controllerRef"] == {"apiGroup": "batch", "kind": "Job", "name": name}
    (template,) = workload["spec"]["podGroupTemplates"]
    assert template["schedulingPolicy"] == {"gang": {"minCount": size}}
    assert controlled_by([workload, group], uid) == [workload, group]
    assert _owner_kinds(workload) == ["Job"]
    assert _owner_kinds(group) == ["Job", "Workload"]
    assert group["metadata"]["ownerReferences"][1]["uid"] == workload["metadata"]["uid"]
    reference = {"workloadName": workload["metadata"]["name"], "podGroupTemplateName": template["name"]}
    assert group["spec"]["podGroupTemplateRef"] == {"workload": reference}
    assert group["spec"]["schedulingPolicy"] == template["schedulingPolicy"]


def _job(site: Site, row: str) -> Object:
    wanted = ROWS[row]
    if wanted.group:
        return site.preset_job(_name(row), wanted.group, wanted.pods)
    return job(_name(row), **wanted.spec)


def _outcome(api: Api, namespace: str, name: str, uid: str, workloads: Recording, groups: Recording) -> Outcome:
    described = [w for w in workloads.seen() if w["spec"].get("controllerRef", {}).get("name") == name]
    owned = controlled_by(workloads.seen(), uid)
    return Outcome(
        job=api.get("jobs", name, namespace),
        workloads=list({w["metadata"]["uid"]: w for w in (*described, *owned)}.values()),
        groups=controlled_by(groups.seen(), uid),
        pods=pods_of(api, namespace, name),
    )


def _has_pods(api: Api, namespace: str, name: str, count: int) -> bool:
    return len(pods_of(api, namespace, name)) == count


def _name(row: str) -> str:
    return row.split(maxsplit=1)[0].lower()


def _owner_kinds(thing: Object) -> list[str]:
    return [owner["kind"] for owner in thing["metadata"].get("ownerReferences", [])]


def _uids(pair: tuple[list[Object], list[Object]]) -> list[str]:
    return [thing["metadata"]["uid"] for part in pair for thing in part]
