"""Jobs at the edges of what the API server accepts, and Jobs that change faster than anybody means to."""

import contextlib
from functools import partial
from typing import Any

from tests.clusters.api import APPLY, ApiError, Object
from tests.clusters.objects import gang_job, job
from tests.clusters.waiting import eventually
from tests.e2e.hostile.annotations import ANSI
from tests.e2e.hostile.attack import KILOBYTE, Attack, Input, with_metadata

HUGE = 2**31 - 1
BIG_UID = 500 * KILOBYTE
"""The server writes it down twice: in managedFields, too."""
UID = "00000000-0000-0000-0000-000000000000"


def _gang(attack: Attack, runs: bool = True, **spec: Any) -> None:
    attack.gang(runs=runs, **spec)


def _plain(attack: Attack, **spec: Any) -> None:
    attack.plain(**spec)


def _named(pattern: str, attack: Attack) -> None:
    """A gang whose name is as long as a name may be: pods of an Indexed Job are called `<job>-<index>`."""
    name = pattern.replace("@", attack.name)
    attack.job(gang_job(name, 2, cpu="10m"), runs=True)


def _long(size: int, end: str, attack: Attack) -> None:
    name = attack.name + "x" * (size - len(attack.name) - len(end)) + end
    attack.job(gang_job(name, 2, cpu="10m"), runs=True)


def _plain_long(size: int, attack: Attack) -> None:
    name = (attack.name + ".a" * 50)[: size - 1] + "z"
    attack.job(job(name, cpu="10m"), runs=True)


def _generated(attack: Attack) -> None:
    attack.job(with_metadata(gang_job("", 2, cpu="10m"), name=None, generateName=f"{attack.name}-"), runs=True)


def _deleted_at_once(attack: Attack) -> None:
    """100,000 pods would take minutes: the Job goes as soon as its gang is formed."""
    made = attack.job(gang_job(attack.name, 100_000, cpu="10m"))
    try:
        attack.seen("podgroups", made)
    finally:
        attack.api.delete("jobs", attack.name, attack.namespace)


def _suspended_and_resumed(attack: Attack) -> None:
    attack.gang(runs=True)
    for suspend in [True, False] * 10:
        attack.patch("jobs", attack.name, {"spec": {"suspend": suspend}})


def _held(attack: Attack) -> None:
    """A Job whose deletion never completes."""
    body = with_metadata(gang_job(attack.name, 2, cpu="10m"), finalizers=["example.com/never"])
    attack.job(body)
    attack.api.delete("jobs", attack.name, attack.namespace)


def _owned(owner: Object, attack: Attack) -> None:
    """The collector deletes a Job whose owner does not exist: Muster meets it in the middle of that."""
    references = [{"controller": True, "uid": UID, "name": "nobody", **owner}]
    attack.job(with_metadata(gang_job(attack.name, 2, cpu="10m"), ownerReferences=references))


def _recreated(attack: Attack) -> None:
    for _ in range(6):
        attack.gang()
        attack.api.delete("jobs", attack.name, attack.namespace)
    attack.gang(runs=True)


def _orphaned(attack: Attack) -> None:
    """Pods, Workload and PodGroup stay, and a new Job takes the name."""
    attack.seen("podgroups", attack.gang())
    attack.api.delete("jobs", attack.name, attack.namespace, cascade="Orphan")
    eventually(lambda: attack.api.find("jobs", attack.name, attack.namespace) is None, "the Job is gone")
    attack.gang()


def _patched(attack: Attack) -> None:
    attack.gang(runs=True)
    for number in range(100):
        labels = {"storm": str(number), "app.kubernetes.io/managed-by": "muster"}
        attack.patch("jobs", attack.name, {"metadata": {"labels": labels}})


def _resized(attack: Attack) -> None:
    """The guard refuses each one of them."""
    attack.seen("podgroups", attack.gang(runs=True))
    for number in (0, 1, 3, HUGE, None):
        with contextlib.suppress(ApiError):
            attack.patch("jobs", attack.name, {"spec": {"parallelism": number}})


def _applied(manager: str, attack: Attack) -> None:
    body = gang_job(attack.name, 2, cpu="10m")
    body |= {"apiVersion": "batch/v1", "kind": "Job"}
    attack.patch("jobs", attack.name, body, how=APPLY, fieldManager=manager, force="true")
    attack.must_run.append(attack.name)


def _dry_runs(attack: Attack) -> None:
    for number in range(30):
        pod = {"schedulerName": f"{number}" + "s" * 100 * KILOBYTE}
        attack.job(gang_job(f"{attack.name}-{number}", 2, cpu="10m", pod=pod), dryRun="All")


def _labelled(attack: Attack) -> None:
    labels = {f"l{number}.example.com/{'k' * 50}": "v" * 63 for number in range(1_000)}
    queue = {"kueue.x-k8s.io/queue-name": "nobody"}
    attack.job(with_metadata(gang_job(attack.name, 2, cpu="10m"), labels=labels | queue), runs=True)


def _big(part: Object, attack: Attack) -> None:
    """Near the limit of etcd, which is 1.5 MB."""
    body = gang_job(attack.name, 2, cpu="10m")
    body["spec"]["template"]["spec"]["containers"][0].update(part)
    attack.job(body)


POLICY: Object = {
    "rules": [{"action": "Ignore", "onPodConditions": [{"type": "x" * 60}]}] * 20,
}
POD_SPECS: dict[str, Object] = {
    "a scheduler of 900 KB": {"schedulerName": "s" * 900 * KILOBYTE},
    "a scheduler with escapes": {"schedulerName": ANSI},
    "a priority class of 253 characters that does not exist": {"priorityClassName": "p" * 253},
    "a node that does not exist": {"nodeName": "nowhere"},
    "a node selector that nothing matches": {"nodeSelector": {"example.com/nowhere": "true"}},
    "scheduling gates": {"schedulingGates": [{"name": f"example.com/{n}"} for n in range(50)]},
    "the gate of gangs": {"schedulingGates": [{"name": "muster.dev/gang"}]},
    "the host's network and ports": {"hostNetwork": True},
}
SPECS: dict[str, Object] = {
    "parallelism of zero": {"parallelism": 0, "completions": 2},
    "parallelism of one": {"parallelism": 1, "completions": 1},
    "fewer completions than pods": {"parallelism": 3, "completions": 2},
    "more completions than pods": {"parallelism": 2, "completions": 5},
    "zero completions": {"parallelism": 2, "completions": 0},
    "another controller": {"managedBy": "example.com/" + "x" * 40},
    "no time to live": {"ttlSecondsAfterFinished": 0},
    "a deadline of a second": {"activeDeadlineSeconds": 1},
    "a deadline of 68 years": {"activeDeadlineSeconds": HUGE},
    "a policy of twenty rules": {"podFailurePolicy": POLICY, "backoffLimit": 0},
    "a success policy": {"successPolicy": {"rules": [{"succeededIndexes": "0-1", "succeededCount": 1}]}},
    "limits by index": {"backoffLimitPerIndex": 0, "maxFailedIndexes": 2, "backoffLimit": HUGE},
    "replacement of failed pods only": {"podReplacementPolicy": "Failed"},
}  # fmt: skip
BIG: dict[str, Object] = {
    "900 KB of environment": {"env": [{"name": "E", "value": "e" * 900 * KILOBYTE}]},
    "10,000 variables": {"env": [{"name": f"E{n}", "value": "x"} for n in range(10_000)]},
    "900 KB of arguments with escapes": {"args": [ANSI * 6_000]},
    "an image of 900 KB": {"image": "i" * 900 * KILOBYTE},
}
INPUTS: dict[str, Input] = {
    **{f"a Job with {what}": partial(_gang, runs=False, **spec) for what, spec in SPECS.items()},
    **{f"a Job for {what}": partial(_gang, runs=False, pod=spec) for what, spec in POD_SPECS.items()},
    **{f"a Job with {what}": partial(_big, part) for what, part in BIG.items()},
    "a Job of two thousand million pods, suspended": partial(_plain, parallelism=HUGE, suspend=True),
    "a Job of 100,000 indexes, deleted at once": _deleted_at_once,
    "a Job that is suspended and resumed ten times": _suspended_and_resumed,
    "a Job that never goes": _held,
    "a Job of a controller that does not exist": partial(_owned, {"apiVersion": "example.com/v1", "kind": "X"}),
    "a Job of a CronJob that does not exist": partial(_owned, {"apiVersion": "batch/v1", "kind": "CronJob"}),
    "a Job of a Job": partial(_owned, {"apiVersion": "batch/v1", "kind": "Job"}),
    "a Job whose owner has a UID of 500 KB": partial(_owned, {"apiVersion": "v1", "kind": "X", "uid": "u" * BIG_UID}),
    "a Job whose owner's kind has escapes": partial(_owned, {"apiVersion": "v1", "kind": ANSI}),
    "a Job that is deleted and created again, six times": _recreated,
    "a Job that is orphaned and created again": _orphaned,
    "a Job that is patched a hundred times": _patched,
    "a Job that changes its size again and again": _resized,
    "a Job applied by a manager of 128 characters": partial(_applied, "m" * 128),
    "a Job applied by a manager with format strings": partial(_applied, "%s{0}$x<b>"),
    "thirty dry runs of Jobs with schedulers of 100 KB": _dry_runs,
    "a Job with a thousand labels": _labelled,
    "a Job with a name of 61 characters": partial(_long, 61, ""),
    "a Job with a name of 58 characters that ends in hyphens": partial(_long, 58, "-" * 20 + "0"),
    "a Job with a name of digits": partial(_long, 20, "0"),
    "a Job with a name of 63 characters and dots": partial(_plain_long, 63),
    "a Job that is called as a pod group template": partial(_named, "@-pgt-0-pgt-0"),
    "a Job without a name": _generated,
}  # fmt: skip
