"""`muster leave` gives formed gangs the time to get their pods, if a replica runs that can complete them."""

import asyncio
from collections.abc import Callable

import pytest

from muster.api.lease import NOTICED, UNINSTALL_HOLDER
from muster.core.election import Terms
from muster.kube.errors import KubeError, ServerFault
from muster.runtime import leader_election
from muster.runtime.leader_election import Leadership
from muster.uninstall.steps import Leave
from tests.builders import JobBuilder, a_gang, a_pod, a_pod_group
from tests.fake_cluster import USER, FakeClient, FakeCluster
from tests.unit.uninstall.test_steps import FORBIDDEN, LEASE, MUTATING, SETTINGS, Leaver, has_webhooks, until

GROUP = "train-group"
WAITING = "waiting up to 60 s for the pods of default/train (2 of 4 pods)"


def gang(name: str = "train") -> JobBuilder:
    return a_gang(name, pods=4).uid(f"{name}-uid")


@pytest.fixture
def cluster() -> FakeCluster:
    """A gang of four has two of its pods; one replica has noticed the uninstall."""
    made = FakeCluster()
    spec = {"holderIdentity": UNINSTALL_HOLDER, "leaseDurationSeconds": 3}
    annotations = {NOTICED: "muster-1"}
    made.create("leases", "ours", {"metadata": {"name": "muster", "annotations": annotations}, "spec": spec}, USER)
    made.create(*MUTATING[:2], {"metadata": {"name": "muster"}, "webhooks": [{"name": "w"}]}, USER)
    made.apply(gang())
    made.apply(a_pod_group(GROUP).uid("g").ours().controlled_by(gang()))
    for index in range(2):
        add_pod(made, index)
    return made


def add_pod(cluster: FakeCluster, index: int, group: str = GROUP, job: str = "train") -> None:
    pod = a_pod(f"{job}-{index}").uid(f"{job}-{index}").of(gang(job), index)
    cluster.apply(pod.in_group(group) if group else pod)


def a_leave(
    client: FakeClient, meanwhile: Callable[[float], None] | None = None, wait: float = 60
) -> tuple[Leave, list[str]]:
    """It says what it does to a list. `meanwhile` is called with the time that has passed."""
    said, waited = list[str](), list[float]()

    async def sleep(seconds: float) -> None:
        waited.append(seconds)
        if meanwhile is not None:
            meanwhile(sum(waited))
        await asyncio.sleep(0)

    return Leave(client, SETTINGS, said.append, wait_seconds=wait, sleep=sleep, clock=lambda: sum(waited)), said


async def test_the_webhooks_stay_until_the_gang_has_its_pods(cluster: FakeCluster) -> None:
    webhook_was_there = list[bool]()

    def meanwhile(now: float) -> None:
        webhook_was_there.append(has_webhooks(cluster, MUTATING))
        if now in (10, 20):
            add_pod(cluster, int(now))

    leaving, said = a_leave(Leaver(cluster), meanwhile)
    await leaving.run()
    assert leaving.problems == []
    assert said[1:4] == [
        WAITING,
        "every gang has its pods",
        "removed the webhooks of mutatingwebhookconfigurations.admissionregistration.k8s.io muster",
    ]
    assert webhook_was_there == [True] * 20 + [False]


ENDS: dict[str, Callable[[FakeCluster], object]] = {
    "is suspended": lambda it: it.update(
        "jobs", "default", "train", lambda job: job["spec"].update(suspend=True), USER
    ),
    "is deleted": lambda it: it.remove("jobs", "default", "train", USER, force=True),
    "has finished": lambda it: it.update(
        "jobs",
        "default",
        "train",
        lambda job: job.update(status={"conditions": [{"type": "Failed", "status": "True"}]}),
        USER,
    ),
}


@pytest.mark.parametrize("how", ENDS)
async def test_the_drain_does_not_wait_for_a_job_that(cluster: FakeCluster, how: str) -> None:
    def meanwhile(now: float) -> None:
        if now == 10:
            ENDS[how](cluster)

    leaving, said = a_leave(Leaver(cluster), meanwhile)
    await leaving.run()
    assert leaving.problems == []
    assert said[1:3] == [WAITING, "every gang has its pods"]


async def test_after_the_timeout_the_drain_goes_on_and_names_gangs_that_may_be_split(cluster: FakeCluster) -> None:
    cluster.apply(gang("fresh"))
    cluster.apply(a_pod_group("fresh-group").uid("f").ours().controlled_by(gang("fresh")))

    def meanwhile(now: float) -> None:
        if now == 65:  # the webhook is gone by then
            assert not has_webhooks(cluster, MUTATING)
            add_pod(cluster, 2, group="")

    leaving, said = a_leave(Leaver(cluster), meanwhile)
    await leaving.run()
    (problem,) = leaving.problems
    assert problem.startswith(
        "these gangs still lack pods after 60 s and may be split: default/train (2 of 4 pods). Suspend"
    )
    output = "\n".join(said)
    assert "these Jobs have no pods yet, and get all of them without a gang: default/fresh (0 of 4 pods)" in output
    assert (
        "split gangs, in which some pods wait forever: default/train. Suspend each of these Jobs and resume it: "
        in output
    )
    assert not has_webhooks(cluster, MUTATING)


NOBODY = "no replica has noticed the uninstall, so none can complete gangs: not waiting for them"


@pytest.mark.parametrize("holder", ["muster-0", ""])
async def test_without_a_running_replica_the_drain_does_not_wait(cluster: FakeCluster, holder: str) -> None:
    """Also where somebody noticed an earlier `muster leave`."""
    cluster.objects[LEASE]["spec"]["holderIdentity"] = holder
    gone_at = list[float]()
    leaving, said = a_leave(
        Leaver(cluster), lambda now: None if has_webhooks(cluster, MUTATING) else gone_at.append(now)
    )
    await leaving.run()
    assert leaving.problems == []
    assert NOBODY in said
    assert gone_at[0] <= 5


async def test_without_a_lease_the_drain_does_not_wait(cluster: FakeCluster) -> None:
    del cluster.objects[LEASE]
    leaving, said = a_leave(Leaver(cluster))
    await leaving.run()
    assert leaving.problems == []
    assert not any(line.startswith("waiting") for line in said)


async def test_with_no_wait_the_webhooks_go_first(cluster: FakeCluster) -> None:
    there = list[bool]()
    leaving, said = a_leave(Leaver(cluster), lambda _: there.append(has_webhooks(cluster, MUTATING)), wait=0)
    await leaving.run()
    assert leaving.problems == []
    assert there == [False]
    assert not any(line.startswith("waiting") for line in said)


async def test_a_dry_run_names_the_gangs_that_the_drain_would_wait_for(cluster: FakeCluster) -> None:
    leaving, said = a_leave(Leaver(cluster))
    leaving.dry_run = True
    await leaving.run()
    assert said[1] == "would have waited for the pods of default/train (2 of 4 pods)"


async def test_many_gangs_are_reported_as_a_number(cluster: FakeCluster) -> None:
    for number in range(25):
        job = gang(f"job-{number:02}")
        cluster.apply(job)
        cluster.apply(a_pod_group(f"group-{number}").uid(f"g{number}").ours().controlled_by(job))
    leaving, said = a_leave(Leaver(cluster))
    leaving.dry_run = True
    await leaving.run()
    assert said[1].endswith("default/job-19 (0 of 4 pods) and 6 more")


async def test_without_the_right_to_list_jobs_the_drain_does_not_wait_and_reports_it(cluster: FakeCluster) -> None:
    leaving, _ = a_leave(Leaver(cluster, refuses={"list jobs.batch": FORBIDDEN}))
    await leaving.run()
    assert f"cannot wait for gangs: {FORBIDDEN}" in leaving.problems
    assert not has_webhooks(cluster, MUTATING)


async def test_a_failed_list_does_not_count_as_a_cluster_without_gangs(cluster: FakeCluster) -> None:
    refuses: dict[str, KubeError] = {}

    def meanwhile(now: float) -> None:
        assert has_webhooks(cluster, MUTATING) or now > 30
        if now == 5:
            refuses["list pods"] = refuses["update leases.coordination.k8s.io"] = ServerFault("etcd is away")
        if now == 8:
            refuses.clear()
        if now in (29, 30):
            add_pod(cluster, int(now))

    leaving, said = a_leave(Leaver(cluster, refuses=refuses), meanwhile)
    await leaving.run()
    assert leaving.problems == []
    assert "every gang has its pods" in said


async def test_every_replica_signs_and_a_new_replica_begins_no_gang_either(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leader_election, "LOOK_SECONDS", 0.01)
    del cluster.objects[LEASE]
    replicas = [a_replica(cluster, name) for name in ("first", "second")]
    tasks = [asyncio.create_task(replica.run()) for replica in replicas]
    await until(lambda: any(replica.leads() for replica in replicas))
    await asyncio.sleep(0.05)
    assert not any(replica.draining() for replica in replicas)
    cluster.update(
        "leases", "ours", "muster", lambda lease: lease["spec"].update(holderIdentity=UNINSTALL_HOLDER), USER
    )
    await until(lambda: all(replica.draining() and replica.uninstalled() for replica in replicas))

    def signed() -> set[str]:
        annotations = cluster.objects[LEASE]["metadata"].get("annotations", {})
        return set(annotations.get(NOTICED, "").split(","))

    await until(lambda: signed() == {"first", "second"})
    later = a_replica(cluster, "later")
    tasks.append(asyncio.create_task(later.run()))
    await until(later.draining)
    assert not later.uninstalled(), "it is not permanent"
    await until(later.leads)
    assert not later.draining(), "what was left of `muster leave` has run out"
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def a_replica(cluster: FakeCluster, name: str) -> Leadership:
    return Leadership(FakeClient(cluster), "ours", "muster", Terms(name, duration_seconds=0.6, renew_seconds=0.05))
