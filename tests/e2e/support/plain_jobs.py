"""Plain Jobs that come all the time, and how long each waits for its pods."""

import itertools
import threading
import time
from dataclasses import dataclass
from functools import partial
from typing import Self

from tests.clusters.api import Api, Recording
from tests.clusters.objects import job
from tests.clusters.waiting import eventually

JOB_NAME = "batch.kubernetes.io/job-name"
SIZE = 2


@dataclass(frozen=True)
class Delay:
    since: float
    """When the Job was made, in seconds since the first one."""
    seconds: float
    """How long its last pod took."""


class PlainJobs:
    """One every few seconds, whether or not those before it have their pods."""

    def __init__(self, api: Api, namespace: str, every_seconds: float = 2.0) -> None:
        self._api, self._namespace, self._every = api, namespace, every_seconds
        self._pods = Recording(api, "pods", namespace)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._made: dict[str, float] = {}

    def __enter__(self) -> Self:
        self._pods.__enter__()
        self._began = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(30)

    def elapsed(self) -> float:
        """Seconds since the first one."""
        return time.monotonic() - self._began

    def delays(self) -> list[Delay]:
        """Of all that were made, once each has its pods."""
        made = dict(self._made)
        pods = eventually(partial(self._pods_of, made), "every plain Job has its pods", 150, every=0.5)
        return [Delay(at - self._began, max(pods[name]) - at) for name, at in made.items()]

    def _run(self) -> None:
        for number in itertools.count():
            name = f"plain-{number}"
            at = time.monotonic()
            self._api.create("jobs", job(name, parallelism=SIZE, completions=SIZE, cpu="1m"), self._namespace)
            self._made[name] = at
            if self._ended.wait(self._every):
                return

    def _pods_of(self, made: dict[str, float]) -> dict[str, list[float]]:
        """When the pods of each came."""
        pods: dict[str, list[float]] = {name: [] for name in made}
        for at, event in zip(self._pods.seen_at, list(self._pods.events), strict=False):
            name = event["object"]["metadata"]["labels"].get(JOB_NAME)
            if event["type"] == "ADDED" and name in pods:
                pods[name].append(at)
        late = [name for name, times in pods.items() if len(times) < SIZE]
        assert not late, f"without pods: {late}"
        return pods


def longest(delays: list[Delay], since: float = 0.0, until: float = float("inf")) -> float:
    """Of the Jobs that were made in that time."""
    return max(each.seconds for each in delays if since <= each.since < until)
