"""Workloads and PodGroups that a user plants beside Muster's, in their place, or under their names."""

import contextlib
from functools import partial

from muster.api.job import JobView
from muster.api.keys import Uid
from muster.core.naming import pod_group_name, template_name, workload_name
from muster.core.reasons import EventReason
from muster.runtime.event_recorder import Event, Subject
from tests.clusters.api import ApiError, Object
from tests.clusters.objects import gang_job
from tests.clusters.pairs import BASIC, delete_pod_group, owned_by, pod_group, workload
from tests.e2e.hostile.annotations import ANSI, LOG_LINE
from tests.e2e.hostile.attack import Attack, Input, with_metadata

LABELS = {"app.kubernetes.io/managed-by": "muster"}
HUGE: Object = {"gang": {"minCount": 2**31 - 1}}
GANG_OF_2: Object = {"gang": {"minCount": 2}}


def _put(attack: Attack, kind: str, *bodies: Object) -> None:
    for body in bodies:
        attack.api.create(kind, body, attack.namespace)


def _suspended(attack: Attack) -> Object:
    """A gang that `_resume` starts: the planted objects exist before it."""
    return attack.gang(suspend=True)


def _resume(attack: Attack, runs: bool = True) -> None:
    attack.patch("jobs", attack.name, {"spec": {"suspend": False}})
    if runs:
        attack.must_run.append(attack.name)


def _described(attack: Attack, *bodies: Object, runs: bool = True) -> None:
    """Somebody's own Workloads for a Job, made before it begins."""
    _suspended(attack)
    _put(attack, "workloads", *bodies)
    _resume(attack, runs)


def _names(attack: Attack, count: int) -> list[str]:
    return [f"{attack.name}-{number:03}" for number in range(count)]


def _templates(count: int, attack: Attack) -> None:
    _described(attack, workload(f"{attack.name}-w", attack.name, GANG_OF_2, templates=count))


def _many_workloads(count: int, attack: Attack) -> None:
    _described(attack, *(workload(name, attack.name, GANG_OF_2) for name in _names(attack, count)))


def _too_large(attack: Attack) -> None:
    """A Workload that asks for more pods than the Job has: its pods wait, and nobody else's do."""
    _described(attack, workload(f"{attack.name}-w", attack.name, HUGE), runs=False)


def _refers_oddly(reference: Object, attack: Attack) -> None:
    body = workload(f"{attack.name}-w", attack.name, GANG_OF_2)
    body["spec"]["controllerRef"] |= reference
    _described(attack, body)


def _forged_owner(attack: Attack) -> None:
    job = _suspended(attack)
    body = owned_by(workload(f"{attack.name}-0", attack.name, BASIC), job)
    _put(attack, "workloads", with_metadata(body, labels=LABELS))
    _resume(attack)


def _planted_group(policy: Object, runs: bool, attack: Attack) -> None:
    """With Muster's label, the Job as its controller, and a name that sorts before Muster's."""
    job = _suspended(attack)
    _put(
        attack,
        "workloads",
        with_metadata(owned_by(workload(f"{attack.name}-0", attack.name, policy), job), labels=LABELS),
    )
    group = owned_by(pod_group(f"{attack.name}-0", f"{attack.name}-0", policy), job)
    _put(attack, "podgroups", with_metadata(group, labels=LABELS))
    _resume(attack, runs)


def _many_groups(attack: Attack) -> None:
    job = _suspended(attack)
    _put(attack, "workloads", workload(f"{attack.name}-w", attack.name, GANG_OF_2))
    groups = (owned_by(pod_group(name, f"{attack.name}-w", GANG_OF_2), job) for name in _names(attack, 60))
    _put(attack, "podgroups", *groups)
    _resume(attack)


def _held_group(attack: Attack) -> None:
    """Muster's own PodGroup gets a finalizer that nobody takes off, and is deleted; its pods wait."""
    (group,) = attack.seen("podgroups", attack.gang())
    name = group["metadata"]["name"]
    with contextlib.suppress(ApiError):
        attack.patch("podgroups", name, {"metadata": {"finalizers": ["example.com/never"]}})
        attack.api.delete("podgroups", name, attack.namespace)


def _held_workload(attack: Attack) -> None:
    _suspended(attack)
    body = with_metadata(workload(f"{attack.name}-w", attack.name), finalizers=["example.com/never"])
    _put(attack, "workloads", body)
    attack.api.delete("workloads", f"{attack.name}-w", attack.namespace)
    _resume(attack, runs=False)


def _deleted_in_a_loop(attack: Attack) -> None:
    job = attack.gang(runs=True)
    for _ in range(8):
        for group in attack.seen("podgroups", job):
            with contextlib.suppress(ApiError):
                delete_pod_group(attack.api, attack.namespace, group["metadata"]["name"])


def _workload_deleted_in_a_loop(attack: Attack) -> None:
    """Muster makes it again until the PodGroup is there, which needs none any more."""
    attack.seen("workloads", attack.gang(runs=True))
    for _ in range(20):
        for found in attack.api.list("workloads", attack.namespace):
            with contextlib.suppress(ApiError):
                attack.api.delete("workloads", found["metadata"]["name"], attack.namespace)


def _stripped(attack: Attack) -> None:
    """Owners and labels are taken off what Muster made."""
    job = attack.gang(runs=True)
    for kind in ("podgroups", "workloads"):
        (found,) = attack.seen(kind, job)
        change = {"metadata": {"ownerReferences": None, "labels": None}}
        attack.patch(kind, found["metadata"]["name"], change)


def _squatted_workloads(count: int, runs: bool, attack: Attack) -> None:
    job = _suspended(attack)
    uid = Uid(job["metadata"]["uid"])
    names = [workload_name(attack.name, uid, number) for number in range(count)]
    _put(attack, "workloads", *(workload(name, f"{attack.name}-other") for name in names))
    _resume(attack, runs)


def _squatted_groups(count: int, attack: Attack) -> None:
    job = _suspended(attack)
    parent = workload_name(attack.name, Uid(job["metadata"]["uid"]))
    names = [pod_group_name(parent, template_name(attack.name), number) for number in range(count)]
    _put(attack, "podgroups", *(pod_group(name) for name in names))
    _resume(attack)


def _squatted_event(attack: Attack) -> None:
    job = _suspended(attack)
    said = f"Created Workload {workload_name(attack.name, Uid(job['metadata']['uid']))}"
    name = Event(Subject.of(JobView.parse(job)), "Normal", EventReason.WORKLOAD_CREATED, said).name
    about = {"kind": "ConfigMap", "namespace": attack.namespace, "name": "x"}
    _put(attack, "events", {"metadata": {"name": name}, "involvedObject": about, "reason": "X", "message": ANSI})
    _resume(attack)


def _forged_events(attack: Attack) -> None:
    job = attack.gang(runs=True)
    about = {"apiVersion": "batch/v1", "kind": "Job", "namespace": attack.namespace, "name": attack.name}
    for number in range(50):
        body = {
            "metadata": {"name": f"{attack.name}.{number}"},
            "involvedObject": {**about, "uid": job["metadata"]["uid"]},
            "reason": "GangScheduled",
            "message": LOG_LINE,
            "source": {"component": "default-scheduler"},
        }
        _put(attack, "events", body)


def _forged_status(status: str, attack: Attack) -> None:
    (group,) = attack.seen("podgroups", attack.gang(pod={"nodeSelector": {"example.com/nowhere": "x"}}))
    condition = {
        "type": "PodGroupScheduled",
        "status": status,
        "reason": "Forged",
        "message": (ANSI + LOG_LINE) * 100,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    odd = {**condition, "type": "example.com/Odd"}
    body = {"status": {"conditions": [condition, odd]}}
    attack.patch("podgroups", group["metadata"]["name"], body, part="/status")
    attack.must_hear.append(attack.name)


def _of_a_long_name(attack: Attack) -> None:
    name = attack.name + "w" * (253 - len(attack.name))
    _described(attack, workload(name, attack.name, GANG_OF_2))


def _of_many_jobs(attack: Attack) -> None:
    """Each Workload names a Job that does not exist."""
    _put(attack, "workloads", *(workload(name, f"{name}-nobody") for name in _names(attack, 100)))


def _free_groups(attack: Attack) -> None:
    _put(attack, "podgroups", *(pod_group(name, policy=HUGE) for name in _names(attack, 60)))


def _of_the_neighbours_job(attack: Attack) -> None:
    """The name of a Job in another namespace means nothing here."""
    names = [job["metadata"]["name"] for job in attack.admin.list("jobs", attack.neighbour)]
    _put(attack, "workloads", *(workload(f"{attack.name}-{n}", name, templates=2) for n, name in enumerate(names)))
    attack.job(gang_job(attack.name, 2, cpu="10m"), runs=True)


INPUTS: dict[str, Input] = {
    "a Workload with two templates for a Job": partial(_templates, 2),
    "a Workload with eight templates for a Job": partial(_templates, 8),
    "two Workloads for one Job": partial(_many_workloads, 2),
    "a hundred Workloads for one Job": partial(_many_workloads, 100),
    "a Workload of more pods than the Job has": _too_large,
    "a Workload for a kind in small letters": partial(_refers_oddly, {"kind": "job"}),
    "a Workload for a Job of the core group": partial(_refers_oddly, {"apiGroup": ""}),
    "a Workload for a Job of another group": partial(_refers_oddly, {"apiGroup": "example.com"}),
    "a Workload with a name of 253 characters": _of_a_long_name,
    "a Workload with a forged owner and Muster's label": _forged_owner,
    "a planted pair that is Basic": partial(_planted_group, BASIC, True),
    "a planted pair that can never be whole": partial(_planted_group, HUGE, False),
    "sixty PodGroups for one Workload": _many_groups,
    "a PodGroup that never goes": _held_group,
    "a Workload that never goes": _held_workload,
    "a PodGroup that is deleted eight times": _deleted_in_a_loop,
    "a Workload that is deleted as soon as it is there": _workload_deleted_in_a_loop,
    "a pair whose owners and labels are taken off": _stripped,
    "the name of the Workload, taken": partial(_squatted_workloads, 1, True),
    "the first sixteen names of the Workload, taken": partial(_squatted_workloads, 16, True),
    "the first forty names of the Workload, taken": partial(_squatted_workloads, 40, False),
    "the first sixteen names of the PodGroup, taken": partial(_squatted_groups, 16),
    "the name of an event, taken": _squatted_event,
    "fifty forged events": _forged_events,
    "a PodGroup that says it has its nodes, forged": partial(_forged_status, "True"),
    "a PodGroup that says it has none, forged": partial(_forged_status, "False"),
    "a hundred Workloads of Jobs that do not exist": _of_many_jobs,
    "sixty free PodGroups that can never be whole": _free_groups,
    "Workloads that name the neighbour's Jobs": _of_the_neighbours_job,
}  # fmt: skip
