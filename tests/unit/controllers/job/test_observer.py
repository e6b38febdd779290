"""Pods are matched by owner and not by label, and Workloads by reference and not by name."""

import pytest

from muster.api.profile import CRD_IN_OWN_GROUP
from muster.core.observed import NO_PODS, Pods
from muster.kube import client as paging
from tests.builders import a_gang, a_pod, a_workload
from tests.fake_cluster import FakeClient, FakeCluster
from tests.unit.controllers.parts import build

JOB = a_gang("train").uid("now")


@pytest.fixture
def cluster() -> FakeCluster:
    made = FakeCluster()
    made.apply(JOB)
    return made


IMPOSTOR = a_pod("impostor").labelled(**{"batch.kubernetes.io/controller-uid": "now"})


@pytest.mark.parametrize(
    ("pods", "seen"),
    [
        pytest.param([], NO_PODS, id="none"),
        pytest.param([IMPOSTOR], NO_PODS, id="a pod that only wears the label"),
        pytest.param([a_pod("a").of(JOB)], Pods(True, True), id="a plain one"),
        pytest.param([a_pod("a").of(JOB).in_group("g")], Pods(True, True, "g"), id="a member"),
        pytest.param([a_pod("a").of(JOB).in_group("g").phase("Failed")], Pods(True, False), id="one that ended"),
        pytest.param(
            [*[a_pod(f"a{n}").of(JOB).phase("Failed") for n in range(30)], a_pod("z").of(JOB).in_group("g")],
            Pods(True, True, "g"),
            id="one alive behind pages of ended ones",
        ),
    ],
)
async def test_what_is_seen_of_the_pods(cluster: FakeCluster, pods: list[object], seen: Pods) -> None:
    for pod in pods:
        cluster.apply(pod)  # type: ignore[arg-type]
    assert await build(FakeClient(cluster)).pods.listed(JOB.ref) == seen


async def test_where_members_are_annotated_the_field_is_not_looked_at(cluster: FakeCluster) -> None:
    pods = build(FakeClient(cluster), CRD_IN_OWN_GROUP).pods
    cluster.apply(a_pod("a").of(JOB).in_group("by-field"))
    assert await pods.listed(JOB.ref) == Pods(True, True)
    cluster.remove("pods", "default", "a", "user")
    cluster.apply(a_pod("b").of(JOB).naming_group("by-annotation"))
    assert await pods.listed(JOB.ref) == Pods(True, True, "by-annotation")


async def test_a_stranger_s_workload_is_found_behind_many_others(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "PAGE_SIZE", "3")
    for number in range(10):
        cluster.apply(a_workload(f"other-{number}"))
    cluster.apply(a_workload("theirs").describing(JOB))
    unreadable = a_workload("broken").build()
    unreadable["spec"]["controllerRef"] = "x"
    cluster.apply(unreadable)
    seen = await build(FakeClient(cluster)).observer.live(JOB.ref)
    assert [workload.metadata.name for workload in seen.workloads] == ["theirs"]
