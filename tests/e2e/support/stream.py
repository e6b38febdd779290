"""Creates gangs continuously during a disturbance, and checks the result of each."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

from tests.clusters.api import Api, Object
from tests.clusters.objects import events_on, gang_job, group_of, is_bound
from tests.clusters.waiting import eventually

REFUSED = "FailedCreate"
STARTED_SECONDS = 90
"""The Job controller's longest pause is a minute."""
JOB_NAME, JOB_UID = "batch.kubernetes.io/job-name", "batch.kubernetes.io/controller-uid"


@dataclass(frozen=True)
class Ended:
    """The names of the Jobs, by what they have become."""

    gangs: list[str]
    plain: list[str]

    def __str__(self) -> str:
        return f"{len(self.gangs)} whole gangs, {len(self.plain)} wholly plain"


class Stream:
    def __init__(self, api: Api, namespace: str, size: int = 4, every_seconds: float = 0.5) -> None:
        self._api, self._namespace, self._size, self._every = api, namespace, size, every_seconds
        self.names: list[str] = []
        self._ended, self._turn = threading.Event(), threading.Lock()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(60)

    def more(self, count: int = 3) -> None:
        goal = len(self.names) + count
        eventually(lambda: len(self.names) >= goal, "more Jobs are created", 30 + count * self._every * 3)

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Inside the block nobody is created, and each Job has all its pods, or was refused the first."""
        with self._turn:
            eventually(lambda: not self._beginning(), "no Job is in the middle of it", STARTED_SECONDS)
            yield

    def outcome(self) -> Ended:
        """It ends. Each Job has all its pods, on nodes, in one group or all in none; none was made a second time."""
        self.__exit__()
        pods = eventually(self._all_bound, "every Job has its pods, and all are on nodes", STARTED_SECONDS, 1)
        groups = {group["metadata"]["name"]: group for group in self._api.list("podgroups", self._namespace)}
        ended = Ended([], [])
        for name in self.names:
            found = {group_of(pod) for pod in pods[name]}
            assert len(found) == 1, f"{name} is half in and half out: {[group_of(pod) for pod in pods[name]]}"
            (group,) = found
            if group is not None:
                owners = {owner["uid"] for owner in groups[group]["metadata"]["ownerReferences"]}
                assert pods[name][0]["metadata"]["labels"][JOB_UID] in owners, f"{name} is in the group of another"
            (ended.plain if group is None else ended.gangs).append(name)
        jobs = self._api.list("jobs", self._namespace)
        assert not [job["metadata"]["name"] for job in jobs if job.get("status", {}).get("failed")]
        return ended

    def _all_bound(self) -> dict[str, list[Object]]:
        pods = self._pods()
        waiting = [name for name in self.names if sum(map(is_bound, pods.get(name, ()))) != self._size]
        groups = {name: [group_of(pod) for pod in pods.get(name, ())] for name in waiting[:5]}
        assert not waiting, f"{len(waiting)} Jobs wait, of {len(self.names)}: {groups}"
        return pods

    def _pods(self) -> dict[str, list[Object]]:
        pods: dict[str, list[Object]] = {}
        for pod in self._api.list("pods", self._namespace):
            pods.setdefault(pod["metadata"]["labels"][JOB_NAME], []).append(pod)
        return pods

    def _beginning(self) -> list[str]:
        made = Counter({name: len(pods) for name, pods in self._pods().items()})
        waiting = [name for name in self.names if made[name] < self._size]
        return [name for name in waiting if made[name] or not events_on(self._api, self._namespace, name, REFUSED)]

    def _run(self) -> None:
        while not self._ended.wait(self._every):
            with self._turn:
                name = f"gang-{len(self.names)}"
                self._api.create("jobs", gang_job(name, self._size, cpu="10m"), self._namespace)
                self.names.append(name)
