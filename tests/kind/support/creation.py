"""Creates gangs continuously during a disturbance, and checks the result of each."""

import logging
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

import urllib3

from tests.clusters.api import Api, ApiError, Object
from tests.clusters.objects import controlled_by, group_of
from tests.clusters.waiting import eventually
from tests.kind.support.jobs import real_gang

logger = logging.getLogger("kind")

JOB_NAME, INDEX = "batch.kubernetes.io/job-name", "batch.kubernetes.io/job-completion-index"
REFUSED = "FailedCreate"
NO_CALL = "failed calling webhook"
NOBODY = ("connection refused", "no endpoints available", "no route to host", "not found")
MUSTERS_ANSWER = "denied the request: muster: "
COMPLETE_SECONDS = 150
"""The Job controller waits up to a minute after several failures, and a node that comes back needs some time."""
PAIR_SECONDS = 30
MORE_SECONDS = 120
EVERY_SECONDS = 1.0
NO_ANSWER = (ApiError, urllib3.exceptions.HTTPError)
TOO_MANY_REQUESTS, FORBIDDEN = 429, 403
NOT_STARTED = frozenset({FORBIDDEN})
"""What an API server also answers before its caches of roles and namespaces are filled."""


@dataclass(frozen=True)
class Outcome:
    """The names of the Jobs, by what they have become."""

    gangs: list[str]
    plain: list[str]
    pods: int
    refused: list[str] = field(default_factory=list)
    """What the Job controller reported when it could not create a pod, once for each time."""

    @property
    def called_nobody(self) -> list[str]:
        """Those where the API server found no process that listens: a webhook was there longer than Muster."""
        return [message for message in self.refused if NO_CALL in message and any(why in message for why in NOBODY)]

    @property
    def unanswered(self) -> list[str]:
        """Those of the refusals that no replica gave: a call was lost. A replica that answers may refuse a pod that it
        cannot form a gang for within its time, as on a machine that is too busy, and the Job controller tries again."""
        return [message for message in self.refused if MUSTERS_ANSWER not in message]

    def __str__(self) -> str:
        jobs = f"{len(self.gangs)} whole gangs, {len(self.plain)} wholly plain Jobs, all complete"
        return f"{jobs}; {self.pods} pods; {len(self.refused)} pods refused at first"


def wrong_pairs(
    jobs: list[Object], workloads: list[Object], groups: list[Object], pods: Mapping[str, Iterable[Object]]
) -> list[str]:
    """What is not as it should be where each Job is a gang: one Workload and one PodGroup of its own, its pods in that,
    and no pair without a Job."""
    wrong = []
    for job in jobs:
        name, uid = job["metadata"]["name"], job["metadata"]["uid"]
        own = [controlled_by(things, uid) for things in (workloads, groups)]
        if [len(things) for things in own] != [1, 1]:
            wrong.append(f"{name} has {len(own[0])} Workloads and {len(own[1])} PodGroups")
        elif strangers := {group_of(pod) for pod in pods.get(name, ())} - {own[1][0]["metadata"]["name"]}:
            wrong.append(f"{name} has pods in {strangers}, which is not its PodGroup")
    known = [thing["metadata"]["uid"] for job in jobs for things in (workloads, groups)
             for thing in controlled_by(things, job["metadata"]["uid"])]  # fmt: skip
    lost = [each["metadata"]["name"] for each in (*workloads, *groups) if each["metadata"]["uid"] not in known]
    return wrong + [f"{name} belongs to no Job" for name in lost]


def is_refusal(error: Exception, expected: frozenset[int] = frozenset()) -> bool:
    """The API server has answered that it will not do this, and does not ask for another try."""
    return isinstance(error, ApiError) and error.status < 500 and error.status not in {TOO_MANY_REQUESTS, *expected}


class Creation:
    """One every second, and no more at a time than `at_once` that are not complete: a machine with few cores would
    otherwise do nothing but start pods, and every other process on it would be late."""

    def __init__(
        self, api: Api, namespace: str, size: int = 2, at_once: int = 5, expected: frozenset[int] = frozenset()
    ) -> None:
        self._api, self._namespace, self._size, self._at_once = api, namespace, size, at_once
        self._expected = expected
        """Status codes that do not count as a refusal."""
        self._refusals: list[str] = []
        """What the API server has answered to calls that it will never accept."""
        self.names: list[str] = []
        self._pods: dict[str, dict[str, Object]] = defaultdict(dict)
        """By Job and UID: every pod that was ever seen, as it was last."""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self.more(2)
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(60)

    def more(self, count: int = 3) -> None:
        """Wait until so many more were created."""
        goal = len(self.names) + count
        eventually(lambda: len(self.names) >= goal, f"{count} more Jobs are created", MORE_SECONDS)

    def outcome(self) -> Outcome:
        """It ends. Each Job is complete, and all its pods were in one group, or all in none."""
        self.__exit__()
        eventually(self._all_complete, "every Job is complete", COMPLETE_SECONDS, every=1)
        assert self._refusals == [], "the API server has refused a call"
        self._look()
        ended = Outcome([], [], sum(map(len, self._pods.values())), self._refused())
        for name in self.names:
            pods = list(self._pods[name].values())
            indexes = {pod["metadata"]["labels"][INDEX] for pod in pods}
            assert len(indexes) == self._size, f"{name} had pods of the indexes {sorted(indexes)} only"
            groups = {group_of(pod) for pod in pods}
            assert len(groups) == 1, f"{name} is half in and half out: {[group_of(pod) for pod in pods]}"
            (ended.plain if groups == {None} else ended.gangs).append(name)
        logger.info("%s", ended)
        return ended

    def whole_gangs(self) -> Outcome:
        """The same, where Muster was there all the time: every Job is a gang, in one group that is its own."""
        ended = self.outcome()
        assert ended.plain == [], "their pods came without a group"
        eventually(self._one_pair_each, "every Job has one Workload and one PodGroup", PAIR_SECONDS, every=1)
        return ended

    def _one_pair_each(self) -> bool:
        jobs, workloads, groups = (
            self._api.list(plural, self._namespace) for plural in ("jobs", "workloads", "podgroups")
        )
        wrong = wrong_pairs(jobs, workloads, groups, {name: pods.values() for name, pods in self._pods.items()})
        assert not wrong, f"{wrong[:3]}"
        return True

    def _all_complete(self) -> bool:
        try:
            waiting = self._incomplete()
        except NO_ANSWER:
            return False
        assert not waiting, f"{len(waiting)} of {len(self.names)} are not complete: {dict(list(waiting.items())[:3])}"
        return True

    def _incomplete(self) -> dict[str, Object]:
        """The status of each Job that is not complete; empty for one that is not there, though it was created."""
        jobs = {job["metadata"]["name"]: job.get("status", {}) for job in self._api.list("jobs", self._namespace)}
        return {name: jobs.get(name, {}) for name in self.names if jobs.get(name, {}).get("succeeded") != self._size}

    def _refused(self) -> list[str]:
        events = self._api.list("events", self._namespace, fieldSelector=f"reason={REFUSED}")
        return [event["message"] for event in events for _ in range(event.get("count") or 1)]

    def _run(self) -> None:
        while not self._ended.wait(EVERY_SECONDS):
            try:
                if len(self._incomplete()) < self._at_once:
                    self._create(f"gang-{len(self.names)}")
                self._look()
            except NO_ANSWER as error:
                if is_refusal(error, self._expected):
                    self._refusals.append(str(error))
                logger.debug("the API server does not answer: %s", error)

    def _create(self, name: str) -> None:
        """An earlier try whose answer was lost may have made it."""
        try:
            self._api.create("jobs", real_gang(name, self._size, cpu="1m"), self._namespace)
        except ApiError as error:
            if error.status != 409:
                raise
        self.names.append(name)

    def _look(self) -> None:
        for pod in self._api.list("pods", self._namespace):
            self._pods[pod["metadata"]["labels"][JOB_NAME]][pod["metadata"]["uid"]] = pod
