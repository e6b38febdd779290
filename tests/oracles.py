"""What must hold after every write, and what must be true in the end. The letters are those of the reliability page."""

from collections import Counter
from collections.abc import Iterator

from muster.api.job import JobView
from muster.core.eligibility import skip_reason
from muster.core.policy import Policy
from tests.builders import Object
from tests.fake_cluster import MUSTER, Change, FakeCluster, controller_uid, group_of, is_live

OURS = {"workloads", "podgroups"}


class Oracle:
    """Watches every write. Violations are collected, since an error raised inside Muster would be handled by it."""

    def __init__(self, cluster: FakeCluster, resizes: bool = False, releases: bool = False) -> None:
        self.cluster = cluster
        self.resizes = resizes
        """There are gangs to resize: Muster may replace its own PodGroups, and nothing else."""
        self.releases = releases
        """Muster may delete its own PodGroup of a suspended Job without running or pending pods."""
        self.violations: list[str] = []
        self.created_at: dict[str, int] = {}
        """Revision at which each object was made, by UID."""
        self.meddled = False
        """Somebody deleted or remade what Muster had made: then a member may come before its new group."""
        cluster.after_write.append(self.check)

    def check(self, change: Change) -> None:
        if change.verb == "ADDED":
            self.created_at[change.object["metadata"]["uid"]] = change.revision
        if change.verb == "DELETED" or change.object["metadata"].get("deletionTimestamp"):
            self.meddled |= change.plural in OURS and not self._is_release(change)
        if change.plural == "events":
            return
        checks = (
            self._only_our_kinds(change),
            self._released(change),
            self._one_pair(),
            self._order(change),
            self._sticky(),
        )
        self.violations += [f"revision {change.revision}: {found}" for check in checks for found in check]

    def _only_our_kinds(self, change: Change) -> Iterator[str]:
        """I5, and no write undoes an earlier one."""
        if change.actor != MUSTER:
            return
        replaces = (self.resizes or self.releases) and change.plural == "podgroups" and is_ours(change.object)
        if change.plural not in OURS | {"events"} or (change.verb != "ADDED" and not replaces):
            yield f"I5: Muster wrote {change.verb} {change.plural} {change.name}"
        if change.plural in OURS and not controller_uid(change.object):
            yield f"I2: {change.plural} {change.name} belongs to no Job"

    def _released(self, change: Change) -> Iterator[str]:
        """What Muster releases has no running or pending pods, so that no member ever loses its group by it."""
        if change.plural != "podgroups" or change.verb == "ADDED" or not self._is_release(change):
            return
        members = [pod for pod in self.cluster.find("pods") if is_live(pod) and group_of(pod) == change.name]
        if members:
            yield f"Muster released PodGroup {change.name} of {len(members)} running or pending pods"

    def _is_release(self, change: Change) -> bool:
        """What Muster deletes, unless it gives a Job that runs a group of another size."""
        if not self.releases or change.actor != MUSTER:
            return False
        owner = controller_uid(change.object)
        jobs = [job["spec"] for job in self.cluster.find("jobs") if job["metadata"]["uid"] == owner]
        sizes = {job["parallelism"] for job in jobs if not job.get("suspend")}
        policy = change.object["spec"].get("schedulingPolicy") or {}
        return not sizes or sizes == {(policy.get("gang") or {}).get("minCount")}

    def _one_pair(self) -> Iterator[str]:
        """I1: at most one Workload and one PodGroup of ours per Job."""
        for plural in OURS:
            made = [thing for thing in self.cluster.find(plural) if is_ours(thing)]
            for uid, number in Counter(controller_uid(thing) for thing in made).items():
                if number > 1:
                    yield f"I1: {number} {plural} for Job {uid}"

    def _order(self, change: Change) -> Iterator[str]:
        """I4: Workload before PodGroup before Pod, by revision."""
        if change.verb != "ADDED" or change.plural != "pods" or not group_of(change.object) or self.meddled:
            return
        namespace = change.object["metadata"]["namespace"]
        group = self.cluster.objects.get(("podgroups", namespace, group_of(change.object)))
        if group is None:
            yield f"I4: pod {change.name} came before its PodGroup"
            return
        workload = self.cluster.objects.get(("workloads", namespace, workload_named_by(group)))
        if workload is None or self._made(workload) >= self._made(group):
            yield f"I4: PodGroup {group['metadata']['name']} came before its Workload"

    def _made(self, thing: Object) -> int:
        return self.created_at[thing["metadata"]["uid"]]

    def _sticky(self) -> Iterator[str]:
        """No gang is half in and half out."""
        groups: dict[str, set[str]] = {}
        for pod in filter(is_live, self.cluster.find("pods")):
            groups.setdefault(controller_uid(pod), set()).add(group_of(pod))
        for uid, named in groups.items():
            if len(named) > 1:
                yield f"sticky: running or pending pods of Job {uid} name {sorted(named)}"


def is_ours(thing: Object) -> bool:
    return (thing["metadata"].get("labels") or {}).get("app.kubernetes.io/managed-by") == "muster"


def workload_named_by(group: Object) -> str:
    ref = (group["spec"].get("podGroupTemplateRef") or {}).get("workload") or {}
    return str(ref.get("workloadName", ""))


def wrong_in_the_end(cluster: FakeCluster) -> Iterator[str]:
    """I2, I3, I9, I11: no orphans; every Job has all its pods, either as one gang or with a Reason in an event."""
    jobs = {job["metadata"]["uid"]: JobView.parse(job) for job in cluster.find("jobs")}
    for plural in (*OURS, "pods"):
        for thing in cluster.find(plural):
            if controller_uid(thing) not in {"", *jobs}:
                yield f"I3: {plural} {thing['metadata']['name']} has outlived its Job"
    for job in jobs.values():
        if not job.suspended and not job.finished:
            yield from _wrong_with_job(cluster, job)


def _wrong_with_job(cluster: FakeCluster, job: JobView) -> Iterator[str]:
    pods = [pod for pod in cluster.find("pods") if controller_uid(pod) == job.uid and is_live(pod)]
    wanted = job.unfinished if job.indexed else job.parallelism
    if len(pods) != wanted:
        yield f"I9: Job {job.key} has {len(pods)} of {wanted} pods"
    groups = {group_of(pod) for pod in pods}
    if skip_reason(job, Policy()) is not None:
        if groups != {job.scheduling_group or ""}:
            yield f"I5: pods of a Job that is none of our business name {groups}"
    elif groups == {""}:
        if not standing_aside(cluster, job):
            yield f"I11: Job {job.key} is no gang, and nothing says why"
    else:
        for group in groups:
            exists = ("podgroups", job.key.namespace, group) in cluster.objects
            if not exists and not (_events_on(cluster, job, "GroupLost") or _events_on(cluster, job, "GangNotResized")):
                yield f"I4: the group {group!r} of Job {job.key} is missing, and nothing says why"


def without_a_node(cluster: FakeCluster) -> Iterator[str]:
    """Where there are nodes, every pod that lives in the end has one, or an event on its Job says why not."""
    explained = {
        e["involvedObject"]["uid"] for e in cluster.find("events") if e["reason"] in {"GangNotResized", "GroupLost"}
    }
    for pod in cluster.find("pods"):
        if is_live(pod) and group_of(pod) and not pod["spec"].get("nodeName") and controller_uid(pod) not in explained:
            yield f"pod {pod['metadata']['name']} waits forever"


def standing_aside(cluster: FakeCluster, job: JobView) -> list[str]:
    return _events_on(cluster, job, "StandingAside")


def _events_on(cluster: FakeCluster, job: JobView, reason: str) -> list[str]:
    return [
        event["message"]
        for event in cluster.find("events", job.key.namespace)
        if event["reason"] == reason and event["involvedObject"]["uid"] == job.uid
    ]


def gangs(cluster: FakeCluster) -> dict[str, str]:
    """The end state that matters: each pod's place, and its group."""
    return {pod["metadata"]["labels"].get("place", ""): group_of(pod) for pod in cluster.find("pods")}


def created_by_us(cluster: FakeCluster) -> Counter[str]:
    return Counter(
        f"{change.plural} {change.name}"
        for change in cluster.history
        if change.actor == MUSTER and change.verb == "ADDED" and change.plural in OURS
    )
