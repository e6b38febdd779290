"""Many gang Jobs at once: the order holds for each of them, and Muster writes nothing else."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.clusters.api import Api, Object, Recording
from tests.clusters.audit import touches_jobs_or_pods, what
from tests.clusters.cluster import Cluster
from tests.clusters.muster import Muster
from tests.clusters.objects import gang_job, group_of, is_bound
from tests.clusters.waiting import eventually

JOBS = [80, pytest.param(200, marks=pytest.mark.full)]
"""More than Muster has workers (64), so that some wait for others."""
SIZE = 4
SUBMITTERS = 16
OWN_WEBHOOKS = "muster-dev"
OWN_NAMESPACE = "muster-system"

ITS_OWN_WRITES = {
    ("create", "workloads"),
    ("create", "podgroups"),
    ("create", "events"),
    # Questions, not writes: the API server answers an access review and stores nothing.
    ("create", "selfsubjectaccessreviews"),
}


@pytest.mark.parametrize("count", JOBS)
def test_every_one_of_many_gangs_gets_one_pair_before_its_first_pod_and_nothing_else_is_written(
    local: Cluster, muster: Muster, namespace: str, count: int
) -> None:
    api, names = local.api, [f"gang-{number}" for number in range(count)]
    began = local.audit_position()
    with (
        Recording(api, "workloads", namespace) as workloads,
        Recording(api, "podgroups", namespace) as groups,
        Recording(api, "pods", namespace) as pods,
    ):
        uids = submit_at_once(api, namespace, names)
        eventually(lambda: all_bound(api, namespace, count * SIZE), "every pod of every gang is bound", 240, every=0.5)
        eventually(lambda: len(pods.created()) == count * SIZE, "the watch shows every pod")
    assert_one_pair_each_in_order(uids, workloads, groups, pods)
    eventually(
        lambda: each_has_its_events(api, namespace, names), "every Job has the events about its pair and its nodes"
    )
    writes = local.writes_by_muster(began)
    assert_only_its_own(writes)
    assert_two_creates_per_job(writes, namespace, count)


def submit_at_once(api: Api, namespace: str, names: list[str]) -> dict[str, str]:
    """The UIDs by the Jobs' names."""
    with ThreadPoolExecutor(SUBMITTERS) as submitters:
        made = submitters.map(lambda name: api.create("jobs", gang_job(name, SIZE), namespace), names)
        return {job["metadata"]["name"]: job["metadata"]["uid"] for job in made}


def all_bound(api: Api, namespace: str, expected: int) -> bool:
    bound = sum(is_bound(pod) for pod in api.list("pods", namespace))
    assert bound == expected, f"{bound} of {expected} pods are bound"
    return True


def assert_one_pair_each_in_order(
    uids: dict[str, str], workloads: Recording, groups: Recording, pods: Recording
) -> None:
    workloads_of, groups_of, pods_of = (created_by_owner(r) for r in (workloads, groups, pods))
    for name, uid in uids.items():
        (workload,), (group,) = workloads_of[uid], groups_of[uid]
        members = pods_of[uid]
        assert len(members) == SIZE, name
        assert revision(workload) < revision(group) < min(map(revision, members)), name
        assert {group_of(pod) for pod in members} == {group["metadata"]["name"]}, name
    assert len(workloads.created()) == len(groups.created()) == len(uids)


def created_by_owner(recording: Recording) -> dict[str, list[Object]]:
    """The objects as they were created, by the UID of the Job that controls them."""
    found: dict[str, list[Object]] = defaultdict(list)
    for event in recording.events:
        if event["type"] == "ADDED":
            (owner,) = [o["uid"] for o in event["object"]["metadata"]["ownerReferences"] if o.get("controller")]
            found[owner].append(event["object"])
    return found


def revision(thing: Object) -> int:
    return int(thing["metadata"]["resourceVersion"])


def each_has_its_events(api: Api, namespace: str, names: list[str]) -> bool:
    """One event of each reason; and that it waits only if it did."""
    posted = Counter((e["reason"], e["involvedObject"]["name"]) for e in api.list("events", namespace) if is_ours(e))
    for reason in ("WorkloadCreated", "PodGroupCreated", "GangScheduled"):
        lacking = [name for name in names if posted.pop((reason, name), 0) != 1]
        assert not lacking, f"{reason} was not posted once on {len(lacking)} Jobs"
    assert {reason for reason, _ in posted} <= {"GangWaiting"}
    print(f"{sum(posted.values())} of {len(names)} Jobs have an event that they wait")
    return True


def is_ours(event: Object) -> bool:
    return bool(event["source"].get("component") == "muster")


def assert_only_its_own(writes: Iterable[Object]) -> None:
    strange = [w for w in writes if what(w) not in ITS_OWN_WRITES and not is_housekeeping(w)]
    assert not strange, f"Muster wrote {[(what(w), w['objectRef']) for w in strange[:5]]}"


def is_housekeeping(write: Object) -> bool:
    """Its own Lease and its own webhook configurations."""
    reference = write["objectRef"]
    if reference["resource"] == "leases":
        return bool(reference.get("namespace") == OWN_NAMESPACE)
    return bool(reference["resource"].endswith("webhookconfigurations") and reference.get("name") == OWN_WEBHOOKS)


def assert_two_creates_per_job(writes: list[Object], namespace: str, count: int) -> None:
    attempts = Counter(what(w) for w in writes if w["objectRef"].get("namespace") == namespace)
    made = Counter(what(w) for w in succeeded(writes, namespace))
    print(f"{count} Jobs: attempts {dict(attempts)}, of which succeeded {dict(made)}")
    assert made[("create", "workloads")] == made[("create", "podgroups")] == count
    assert not [w for w in writes if touches_jobs_or_pods(w)]


def succeeded(writes: Iterable[Object], namespace: str) -> list[Object]:
    return [w for w in writes if w["objectRef"].get("namespace") == namespace and w["responseStatus"]["code"] < 300]
