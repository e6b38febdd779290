"""The demo's checks must fail on a cluster in which a promise was broken: here is one cluster per broken promise."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from demo_show import promises
from demo_show.lines import Lines
from demo_show.promises import Promise
from demo_show.record import JobFacts, Kind, Record
from demo_show.show import Show, row_of

Body = dict[str, Any]
SIZE = 3
GROUP = "train-1-pgt-2"


class Cluster:
    """A watch of a cluster in which all is well, unless a test asks for something else."""

    def __init__(self) -> None:
        self.record = Record()
        self.revision = 100
        self.now = 0.0

    def sees(self, kind: Kind, body: Body, change: str = "ADDED") -> None:
        self.revision += 1
        body = copy.deepcopy(body)
        body["metadata"]["resourceVersion"] = str(self.revision)
        self.record.note(kind, change, body, self.now)

    def sees_whole_gang(self) -> None:
        for kind, body in (
            (Kind.JOB, job()),
            (Kind.WORKLOAD, workload()),
            (Kind.POD_GROUP, pod_group()),
            *((Kind.POD, pod(index)) for index in range(SIZE)),
        ):
            self.sees(kind, body)

    def binds(self, *indexes: int) -> None:
        for index in indexes:
            self.sees(Kind.POD, pod(index, node="node-1"), "MODIFIED")

    @property
    def gang(self) -> JobFacts:
        return self.record.of_job("train")


def named(name: str, **metadata: object) -> Body:
    return {"metadata": {"name": name, "uid": f"uid-of-{name}", **metadata}}


def job(*, manager: str = "demo-user", completion_mode: str = "Indexed", **metadata: object) -> Body:
    writers = [{"manager": "kube-controller-manager", "subresource": "status"}, {"manager": manager}]
    body = named("train", generation=1, managedFields=writers, **metadata)
    return {**body, "spec": {"parallelism": SIZE, "completionMode": completion_mode}}


def workload(name: str = "train-1") -> Body:
    return {**named(name), "kind": "Workload", "spec": {"controllerRef": {"kind": "Job", "name": "train"}}}


def pod_group(message: str = "") -> Body:
    condition = {"type": "PodGroupScheduled", "status": "False", "message": message}
    return {
        **named(GROUP),
        "spec": {"podGroupTemplateRef": {"workload": {"workloadName": "train-1"}}},
        "status": {"conditions": [condition] if message else []},
    }


def pod(index: int, *, group: str | None = GROUP, node: str | None = None) -> Body:
    spec: Body = {"schedulingGroup": {"podGroupName": group}} if group else {}
    if node:
        spec["nodeName"] = node
    return {**named(f"train-{index}", labels={"batch.kubernetes.io/job-name": "train"}), "spec": spec}


def event(reason: str, component: str = "muster") -> Body:
    about = {"kind": "Job", "name": "train"}
    return {**named(f"event-{reason}"), "involvedObject": about, "reason": reason, "source": {"component": component}}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def whole(cluster: Cluster) -> Cluster:
    cluster.sees_whole_gang()
    return cluster


class TestOrder:
    def test_kept(self, whole: Cluster) -> None:
        assert promises.out_of_order(whole.gang) is None
        assert promises.not_one_pair(whole.gang) is None

    def test_later_changes_do_not_count(self, whole: Cluster) -> None:
        whole.sees(Kind.POD_GROUP, pod_group("no room"), "MODIFIED")
        assert promises.out_of_order(whole.gang) is None

    def test_pod_before_its_group(self, cluster: Cluster) -> None:
        for kind, body in ((Kind.WORKLOAD, workload()), (Kind.POD, pod(0)), (Kind.POD_GROUP, pod_group())):
            cluster.sees(kind, body)
        assert promises.out_of_order(cluster.gang) == (
            "a Pod of train came at revision 102, before what it needs (103)"
        )

    def test_group_before_workload(self, cluster: Cluster) -> None:
        for kind, body in ((Kind.POD_GROUP, pod_group()), (Kind.WORKLOAD, workload()), (Kind.POD, pod(0))):
            cluster.sees(kind, body)
        assert "a PodGroup of train" in (promises.out_of_order(cluster.gang) or "")

    def test_nothing_made(self, cluster: Cluster) -> None:
        cluster.sees(Kind.POD, pod(0))
        assert promises.out_of_order(cluster.gang) == "train has no Workload"

    def test_two_workloads(self, whole: Cluster) -> None:
        whole.sees(Kind.WORKLOAD, workload("train-again"))
        assert promises.not_one_pair(whole.gang) == "train has 2 Workloads and 1 PodGroups"


class TestMembership:
    def test_kept(self, whole: Cluster) -> None:
        assert promises.outside_its_group(whole.gang) is None

    @pytest.mark.parametrize("group", [None, "somebody-elses"])
    def test_pod_outside(self, whole: Cluster, group: str | None) -> None:
        whole.sees(Kind.POD, pod(9, group=group))
        assert promises.outside_its_group(whole.gang) == "train-9 of train does not name its PodGroup"

    def test_no_pods_prove_nothing(self, cluster: Cluster) -> None:
        assert promises.outside_its_group(cluster.gang) is not None


class TestStarting:
    def test_whole(self, whole: Cluster) -> None:
        whole.binds(0, 1, 2)
        assert promises.not_started_as_a_whole(whole.gang) is None

    def test_half(self, whole: Cluster) -> None:
        whole.binds(0)
        assert promises.not_started_as_a_whole(whole.gang) == "1 of 3 Pods of train are bound, 3 were created"

    def test_half_for_a_moment_is_how_binding_works(self, whole: Cluster) -> None:
        whole.binds(0, 1)
        whole.now = 1.9
        whole.binds(2)
        assert promises.half_started(whole.gang, now=99.0) is None

    def test_half_for_too_long_though_whole_in_the_end(self, whole: Cluster) -> None:
        whole.binds(0, 1)
        whole.now = 2.5
        whole.binds(2)
        assert promises.half_started(whole.gang, now=99.0) == "train was half started for 2.5 s"

    def test_half_until_now(self, whole: Cluster) -> None:
        whole.binds(0, 1)
        assert promises.half_started(whole.gang, now=7.0) == "train was half started for 7.0 s"

    def test_no_pod_bound_is_not_half(self, whole: Cluster) -> None:
        assert promises.half_started(whole.gang, now=99.0) is None


class TestWaiting:
    def test_bound_without_room(self, whole: Cluster) -> None:
        whole.binds(1)
        assert promises.started_too_soon(whole.gang, room_at=None) is not None

    def test_bound_before_and_after_room(self, whole: Cluster) -> None:
        whole.now = 5.0
        whole.binds(0, 1, 2)
        assert promises.started_too_soon(whole.gang, room_at=4.0) is None
        assert promises.started_too_soon(whole.gang, room_at=6.0) is not None

    def test_says_why_it_waits(self, whole: Cluster) -> None:
        assert promises.waits_without_reason(whole.gang) == "nothing says why train waits"
        whole.sees(Kind.POD_GROUP, pod_group("no room"), "MODIFIED")
        assert promises.waits_without_reason(whole.gang) is None
        assert promises.why_it_waits(whole.gang) == "no room"


class TestPlainJob:
    def test_kept(self, cluster: Cluster) -> None:
        cluster.sees(Kind.POD, pod(0, group=None))
        assert promises.has_a_group(cluster.gang) is None

    def test_pod_with_a_group(self, cluster: Cluster) -> None:
        cluster.sees(Kind.POD, pod(0))
        assert promises.has_a_group(cluster.gang) == "train-0 of train names a PodGroup"

    def test_workload(self, cluster: Cluster) -> None:
        cluster.sees(Kind.WORKLOAD, workload())
        assert promises.has_a_group(cluster.gang) == "train got a Workload or a PodGroup"


class TestEvents:
    def test_of_muster_only(self, cluster: Cluster) -> None:
        for reason in promises.OWN_EVENTS:
            cluster.sees(Kind.EVENT, event(reason, "somebody-else"))
        assert promises.unexpected_events(cluster.gang) is None
        assert (
            promises.events_missing(cluster.gang) == "train has no event WorkloadCreated and no event PodGroupCreated"
        )

    def test_posted(self, cluster: Cluster) -> None:
        for reason in promises.OWN_EVENTS:
            cluster.sees(Kind.EVENT, event(reason))
        assert promises.events_missing(cluster.gang) is None
        assert promises.unexpected_events(cluster.gang) == "train got Muster's event WorkloadCreated"


class TestUntouched:
    def test_status_is_the_job_controllers(self, whole: Cluster) -> None:
        whole.sees(Kind.JOB, {**job(), "status": {"active": 3}}, "MODIFIED")
        assert promises.changed(whole.gang) is None

    @pytest.mark.parametrize(
        ("after", "problem"),
        [
            (job(manager="muster"), "train was written by muster"),
            (job(labels={"a": "b"}), "metadata.labels of train is not what was submitted"),
            (job(annotations={"a": "b"}), "metadata.annotations of train is not what was submitted"),
            (job(completion_mode="NonIndexed"), "the spec of train is not what was submitted"),
        ],
    )
    def test_changed(self, whole: Cluster, after: Body, problem: str) -> None:
        whole.sees(Kind.JOB, after, "MODIFIED")
        assert promises.changed(whole.gang) == problem


class TestDeletion:
    def test_left_and_gone(self, whole: Cluster) -> None:
        whole.sees(Kind.JOB, job(), "DELETED")
        for index in range(SIZE):
            whole.sees(Kind.POD, pod(index), "DELETED")
        whole.sees(Kind.POD_GROUP, pod_group(), "DELETED")
        assert promises.left_behind(whole.gang) == "Workload train-1 of train is still there"
        assert row_of(whole.gang).state == "deleted, 1 to go"
        whole.sees(Kind.WORKLOAD, workload(), "DELETED")
        assert promises.left_behind(whole.gang) is None


class TestLines:
    def test_one_line_per_change_and_what_it_waits_for(self, cluster: Cluster) -> None:
        lines: list[str] = []
        audience = Lines(Show(cluster.record, cpus=16, jobs=["train"], act="Act"), lines.append)
        audience.refresh()
        cluster.sees(Kind.JOB, job())
        for _ in range(2):
            audience.refresh()
        assert len(lines) == 2
        assert lines[-1].endswith("Workload none, PodGroup none; waits for its Workload")

    def test_verdicts(self, cluster: Cluster) -> None:
        lines: list[str] = []
        audience = Lines(Show(cluster.record, cpus=16), lines.append)
        audience.checked(Promise.ORDER, None)
        audience.checked(Promise.DELETED, "a pod is left")
        assert "✓ every gang got its Workload" in lines[0]
        assert lines[1].endswith("Workload: a pod is left")
        assert "✗" in lines[1]


def test_a_broken_promise_is_named_and_fails_the_demo(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    from demo_show.main import _print_outcome

    show = Show(cluster.record, cpus=16, results=dict.fromkeys(Promise))
    assert _print_outcome(show, 30.0)
    show.results[Promise.NEVER_HALF] = "train was half started for 3.0 s"
    assert not _print_outcome(show, 30.0)
    assert "BROKEN: no gang was ever half started for longer than 2 s: train was" in capsys.readouterr().out


def test_a_promise_that_was_not_checked_fails_the_demo(cluster: Cluster) -> None:
    from demo_show.main import _print_outcome

    assert not _print_outcome(Show(cluster.record, cpus=16), 30.0)
