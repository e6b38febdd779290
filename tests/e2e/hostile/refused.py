"""What the API server itself refuses, so that it never reaches Muster. A newer server may let some of it through."""

from functools import partial
from typing import Any

from tests.clusters.api import Object
from tests.clusters.objects import gang_job
from tests.clusters.pairs import workload
from tests.e2e.hostile.annotations import ANSI
from tests.e2e.hostile.attack import Attack, Input


def _job(attack: Attack, name: str = "", **spec: Any) -> None:
    body = gang_job(name or attack.name, 2, suspend=True, pod=spec.pop("pod", None))
    body["spec"].update(spec)
    attack.job(body)


def _status(status: Object, attack: Attack) -> None:
    _job(attack)
    attack.patch("jobs", attack.name, {"status": status}, part="/status")


def _workload(templates: int, attack: Attack) -> None:
    attack.api.create("workloads", workload(attack.name, "x", templates=templates), attack.namespace)


INPUTS: dict[str, Input] = {
    "a Job with a negative parallelism": lambda attack: _job(attack, parallelism=-1),
    "an Indexed Job without completions": lambda attack: _job(attack, completions=None),
    "an Indexed Job with a name of 62 characters": lambda attack: _job(attack, name="x" * 62),
    "a Job with a priority class of 500 KB": lambda attack: _job(attack, pod={"priorityClassName": "p" * 500_000}),
    "a Job with a priority class with escapes": lambda attack: _job(attack, pod={"priorityClassName": ANSI}),
    "a Job for a node called by a path": lambda attack: _job(attack, pod={"nodeName": "../../x"}),
    "a Job called by a path": lambda attack: _job(attack, name="../x"),
    "indexes beyond the Job's": partial(_status, {"completedIndexes": "0-4294967295"}),
    "indexes that are no numbers": partial(_status, {"completedIndexes": ANSI}),
    "a negative number of active pods": partial(_status, {"active": -1}),
    "a Workload without templates": partial(_workload, 0),
    "a Workload with nine templates": partial(_workload, 9),
}  # fmt: skip
