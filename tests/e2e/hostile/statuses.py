"""What a user can write into a Job's status, which Muster reads."""

import uuid
from functools import partial
from typing import Any

from tests.clusters.api import Object
from tests.clusters.objects import gang_job
from tests.e2e.hostile.annotations import ANSI, LOG_LINE
from tests.e2e.hostile.attack import KILOBYTE, Attack, Input

STAMP = "2026-01-01T00:00:00Z"


def _condition(kind: str, status: str = "True", **more: str) -> Object:
    return {"type": kind, "status": status, "lastTransitionTime": STAMP, "lastProbeTime": STAMP, **more}


def _says(status: Object, attack: Attack, completions: int = 2, **spec: Any) -> None:
    """A suspended Job: the Job controller has no reason to write its status back."""
    attack.job(gang_job(attack.name, completions, cpu="10m", suspend=True, **spec))
    attack.patch("jobs", attack.name, {"status": status}, part="/status")


def _ends_in_the_middle(attack: Attack) -> None:
    """A gang that starts, and says at once that it is over for most of its indexes."""
    attack.gang()
    status = {"failed": 1, "succeeded": 1, "completedIndexes": "0", "active": 1, "ready": 0}
    attack.patch("jobs", attack.name, {"status": status}, part="/status")


ALTERNATING = ",".join(str(index) for index in range(0, 100_000, 2))
UNCOUNTED: Object = {"uncountedTerminatedPods": {"succeeded": [str(uuid.UUID(int=n)) for n in range(5_000)]}}
STATUSES: dict[str, Object] = {
    "conditions of odd types": {"conditions": [_condition("x" * 300), _condition("Complete2", "Unknown")]},
    "a condition with escapes": {"conditions": [_condition("Odd", reason="Odd", message=ANSI + LOG_LINE)]},
    "a message of 900 KB": {"conditions": [_condition("Odd", message="m" * 900 * KILOBYTE)]},
    "a thousand conditions": {"conditions": [_condition(f"C{n}") for n in range(1_000)]},
    "a resume that never was": {"conditions": [_condition("Suspended", "False", message=ANSI)]},
    "a final condition that is unknown": {"conditions": [_condition("Failed", "Unknown")]},
    "pods that ended and are not counted": UNCOUNTED,
    "pods that are terminating": {"terminating": 2**31 - 1},
    "pods that are active": {"active": 2, "ready": 2},
}  # fmt: skip
INPUTS: dict[str, Input] = {
    **{f"a status with {what}": partial(_says, status) for what, status in STATUSES.items()},
    "a status with 50,000 alternating indexes": partial(
        _says, {"completedIndexes": ALTERNATING, "succeeded": 50_000}, completions=100_000
    ),
    "a status with 50,000 failed indexes": partial(
        _says, {"failedIndexes": ALTERNATING, "failed": 50_000}, completions=100_000, backoffLimitPerIndex=1
    ),
    "a status that ends a gang in the middle": _ends_in_the_middle,
}
