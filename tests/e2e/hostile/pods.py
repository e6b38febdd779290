"""Pods that nobody but an attacker makes: forged owners, other people's groups, names that are paths."""

import uuid
from functools import partial
from typing import Any

from tests.clusters.api import Object
from tests.clusters.objects import GROUPED_LABEL, POD_GROUP_ANNOTATION
from tests.e2e.hostile.annotations import ANSI, LOG_LINE
from tests.e2e.hostile.attack import INDEX_LABEL, KILOBYTE, OWNER, Attack, Input, pod

HOSTILE_NAMES = {
    "a path upwards": "../../../secrets/muster",
    "a slash": "a/b",
    "an escaped path": "%2e%2e%2fx",
    "a query": "x?dryRun=All&force=true#y",
    "300 characters": "n" * 300,
    "200 KB": "n" * 200 * KILOBYTE,
    "newlines and escapes": ANSI + LOG_LINE,
    "dots only": "..",
}


def _owned(owner: Object, attack: Attack) -> None:
    attack.pod(owner)


def _by_the_neighbours_job(attack: Attack) -> None:
    """Name and UID are right; the Job is in another namespace."""
    (job, *_) = attack.admin.list("jobs", attack.neighbour) or [{"metadata": {"name": "none", "uid": "none"}}]
    attack.pod({"name": job["metadata"]["name"], "uid": job["metadata"]["uid"]})


def _by_a_job_of_another_uid(attack: Attack) -> None:
    attack.gang(runs=True)
    attack.pod({"name": attack.name})


def _joins_by_force(attack: Attack) -> None:
    """A stranger's pod with a real Job as its controller: the Job controller adopts or deletes it."""
    made = attack.gang(suspend=True)
    for index in ("0", "99", "abc"):
        labels = {
            INDEX_LABEL: index,
            "batch.kubernetes.io/controller-uid": made["metadata"]["uid"],
            "batch.kubernetes.io/job-name": attack.name,
        }
        owner = {"name": attack.name, "uid": made["metadata"]["uid"], "blockOwnerDeletion": True}
        attack.pod(owner, metadata={"name": f"{attack.name}-{index}", "labels": labels})


def _looks_like_a_member(attack: Attack) -> None:
    """Labels of the Job controller, no owner."""
    made = attack.gang(suspend=True)
    labels = {
        INDEX_LABEL: "0",
        "batch.kubernetes.io/controller-uid": made["metadata"]["uid"],
        "batch.kubernetes.io/job-name": attack.name,
    }
    attack.pod(metadata={"name": attack.name, "labels": labels})


def _many_owners(attack: Attack) -> None:
    plain = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x"}
    owners = [{**plain, "uid": str(uuid.uuid4())} for _ in range(300)]
    attack.pod(metadata={"name": attack.name, "ownerReferences": owners})


def _odd_index(attack: Attack) -> None:
    attack.pod({}, metadata={"name": attack.name, "labels": {INDEX_LABEL: "abc"}})


def _two_controllers(attack: Attack) -> None:
    """The server refuses it, but asks Muster first."""
    owners = [{**OWNER, "name": attack.name, "uid": str(uuid.uuid4())} for _ in range(2)]
    attack.pod(metadata={"name": attack.name, "ownerReferences": owners})


def _in_the_group(group: str, attack: Attack) -> None:
    metadata = {
        "name": attack.name,
        "labels": {GROUPED_LABEL: "true"},
        "annotations": {POD_GROUP_ANNOTATION: group},
    }
    attack.pod(metadata=metadata)


def _in_the_neighbours_group(attack: Attack) -> None:
    groups = attack.admin.list("podgroups", attack.neighbour)
    _in_the_group(groups[0]["metadata"]["name"] if groups else "none", attack)


def _marked(value: str, attack: Attack) -> None:
    attack.pod(metadata={"name": attack.name, "labels": {GROUPED_LABEL: value, INDEX_LABEL: "0"}})


def _in_a_real_group(attack: Attack) -> None:
    """The scheduler counts pods by the name of their group, so a stranger's pod fills it: Muster must not care."""
    made = attack.gang(runs=True)
    (group,) = attack.seen("podgroups", made)
    name = group["metadata"]["name"]
    if attack.native:
        attack.pod(spec={"schedulingGroup": {"podGroupName": name}}, metadata={"name": f"{attack.name}-stranger"})
    else:
        metadata = {"labels": {GROUPED_LABEL: "true"}, "annotations": {POD_GROUP_ANNOTATION: name}}
        attack.pod(metadata={"name": f"{attack.name}-stranger", **metadata})


def _spec(changes: dict[str, Any], attack: Attack) -> None:
    attack.pod({}, spec=changes)


def _dry_runs(attack: Attack) -> None:
    for number in range(20):
        body = pod(f"{attack.name}-{number}", {"uid": f"{number}-" + "u" * 100 * KILOBYTE})
        with attack.perhaps_refused():
            attack.api.create("pods", body, attack.namespace, dryRun="All")


def _unnamed(attack: Attack) -> None:
    attack.pod({}, metadata={"name": None, "generateName": f"{attack.name}-"})


def _words_of_a_forged_scheduler(attack: Attack) -> None:
    """What the scheduler says about a pod ends in an event; here the attacker says it."""
    made = attack.gang(pod={"nodeSelector": {"nowhere": "x"}})
    group = attack.seen("podgroups", made)[0]["metadata"]["name"]
    message = (ANSI + LOG_LINE) * 200
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    for found in attack.seen("pods", made, 2):
        attack.patch("pods", found["metadata"]["name"], {"status": {"conditions": [condition]}}, part="/status")
    said = {
        "type": "PodGroupScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": message[:30_000],
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    attack.patch("podgroups", group, {"status": {"conditions": [said]}}, part="/status")
    attack.must_hear.append(attack.name)


INPUTS: dict[str, Input] = {
    **{f"a pod whose owner is called {what}": partial(_owned, {"name": n}) for what, n in HOSTILE_NAMES.items()},
    **{f"a pod in a group called {what}": partial(_in_the_group, n) for what, n in HOSTILE_NAMES.items()},
    "a pod in a group without a name": partial(_in_the_group, ""),
    "a pod with the index label and no owner": lambda attack: attack.pod(),
    "a pod with an index that is no number": _odd_index,
    "a pod whose owner has a UID of 900 KB": partial(_owned, {"uid": "u" * 900 * KILOBYTE}),
    "a pod whose owner has a UID with escapes": partial(_owned, {"uid": ANSI + LOG_LINE}),
    "a pod whose owner has a UID that is a selector": partial(_owned, {"uid": "x,batch.kubernetes.io/job-name!=y"}),
    "a pod of the neighbour's Job": _by_the_neighbours_job,
    "a pod of a Job by its name and another UID": _by_a_job_of_another_uid,
    "a pod of a kind Job in another group": partial(_owned, {"apiVersion": "example.com/v1"}),
    "a pod of a Job of another version": partial(_owned, {"apiVersion": "batch/v99"}),
    "a pod of a kind with escapes": partial(_owned, {"kind": ANSI, "apiVersion": "batch/v1"}),
    "a pod that blocks its owner's deletion": partial(_owned, {"blockOwnerDeletion": True}),
    "a pod with a Job as an owner that does not control it": partial(_owned, {"controller": False}),
    "a pod with two controllers": _two_controllers,
    "a pod whose owner has no UID": partial(_owned, {"uid": ""}),
    "a pod with 300 owners": _many_owners,
    "pods that a stranger puts into a Job": _joins_by_force,
    "a pod with a Job's labels and no owner": _looks_like_a_member,
    "a pod that names the neighbour's group": _in_the_neighbours_group,
    "a stranger's pod in a real group": _in_a_real_group,
    "a pod marked as grouped, which names no group": partial(_marked, "true"),
    "a pod marked as grouped with another word": partial(_marked, "TRUE"),
    "a pod that is on a node already": partial(_spec, {"nodeName": "nowhere"}),
    "a pod with the gate of gangs": partial(_spec, {"schedulingGates": [{"name": "muster.dev/gang"}]}),
    "a pod with a scheduler of 200 KB": partial(_spec, {"schedulerName": "s" * 200 * KILOBYTE}),
    "a pod without a name": _unnamed,
    "twenty dry runs of pods with owner UIDs of 100 KB": _dry_runs,
    "a scheduler's words forged with escapes": _words_of_a_forged_scheduler,
}  # fmt: skip
