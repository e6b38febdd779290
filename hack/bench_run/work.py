"""What is measured: the work that both sides get."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

POD_CPU = "10m"
DEFAULT_QPS = 20
"""Of Kubernetes' controller manager; its burst is 30."""


@dataclass(frozen=True, slots=True)
class Work:
    """A number of equal Jobs that are created at once."""

    name: str
    jobs: int
    pods: int
    """Of each Job."""
    qps: int = 1000
    """Requests per second that the controller manager may send."""
    gang: bool = True
    """False: the Jobs are Indexed, but not gangs. Then no controller creates a group."""
    repeats: int = 1
    """Times in one round, for work that takes less than a second."""

    @property
    def burst(self) -> int:
        return 30 if self.qps == DEFAULT_QPS else 2 * self.qps

    def manifests(self, repeat: int) -> list[dict[str, Any]]:
        return [self._job(f"job-{repeat}-{number}") for number in range(self.jobs)]

    def _job(self, name: str) -> dict[str, Any]:
        container = {"name": "worker", "image": "worker", "resources": {"requests": {"cpu": POD_CPU}}}
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name},
            "spec": {
                "completionMode": "Indexed",
                "parallelism": self.pods,
                "completions": self.pods if self.gang else self.pods + 1,
                "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
            },
        }


WORKS = (
    Work("one Job of 8 pods", 1, 8, repeats=10),
    Work("100 Jobs of 8 pods", 100, 8),
    Work("500 Jobs of 8 pods", 500, 8),
    Work("one Job of 2,000 pods", 1, 2000),
    Work("1,000 pods of Jobs that are no gangs", 10, 100, gang=False),
    Work("100 Jobs of 8 pods at the default request rate", 100, 8, qps=DEFAULT_QPS),
)
