"""One trial: inputs are applied, gangs of other people start beside them, and nothing of Muster's shows a trace."""

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.clusters.api import Api, ApiError, Object
from tests.clusters.audit import touches_jobs_or_pods
from tests.clusters.cluster import Cluster
from tests.clusters.objects import all_pods, gang_job, group_of, is_bound
from tests.clusters.replicas import Replica, Replicas
from tests.clusters.waiting import eventually
from tests.e2e.hostile.attack import Attack, Attacker, by_muster, plain_namespace
from tests.e2e.hostile.checks import (
    event_problems,
    events_of_muster,
    log_problems,
    metric_problems,
    resident_bytes,
)
from tests.e2e.hostile.table import INPUTS

START_SECONDS = 30
"""For a gang to have its nodes. Without hostile inputs, one or two are enough."""
SIZE = 3
MOST_CALLS = 600
"""Calls of the API server for one input and two gangs: more is a storm."""
MOST_GROWTH = 64 * 1024 * 1024
"""Bytes of resident memory over a whole run. The bound of each cache has a test of its own."""
USUAL = {"WorkloadCreated", "PodGroupCreated", "GangScheduled", "GangWaiting"}
WAITING_OR_NOT = {"GangWaiting", "GangScheduled"}
NEVER = "example.com/never"


@dataclass
class Trial:
    cluster: Cluster
    replica: Replica
    native: bool
    attacker: Attacker = field(init=False)
    neighbour: str = field(init=False)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        self.attacker = Attacker(self.cluster)
        self.neighbour = plain_namespace(self.api)
        self.api.create("jobs", gang_job("resident", SIZE, cpu="10m"), self.neighbour)
        self._started(self.neighbour, "resident")

    @property
    def api(self) -> Api:
        return self.cluster.api

    def run(self, *sentences: str) -> None:
        """Each in a namespace of its own, all at the same time. If that goes wrong, one by one: which one was it?"""
        problems = self._problems(sentences)
        if problems and len(sentences) > 1:
            alone = {sentence: self._problems([sentence]) for sentence in sentences}
            problems = [f"{sentence}: {each}" for sentence, found in alone.items() for each in found] or problems
        assert not problems, "\n".join([f"after {' + '.join(sentences)}:", *problems[:20]])

    def _problems(self, sentences: Sequence[str]) -> list[str]:
        audited, logged = self.cluster.audit_position(), len(self.replica.log())
        attacks: list[Attack] = []
        try:
            for sentence in sentences:
                attacks.append(attack := self._attack())
                apply(sentence, attack)
                for namespace in (attack.namespace, self.neighbour):
                    self.api.create("jobs", gang_job(attack.beside, SIZE, cpu="10m"), namespace)
            for attack in attacks:
                self._started(attack.namespace, attack.beside)
                self._started(self.neighbour, attack.beside)
                self._ends_well(attack)
            return [*self._of_muster(audited, logged, len(attacks)), *self._of_events(attacks)]
        except (AssertionError, ApiError) as error:
            return [f"{error} (Muster's log ends with {self.replica.log()[-1500:]!r})"]
        finally:
            self._clean_up(attacks)

    def _attack(self) -> Attack:
        place = self.attacker.namespace()
        return Attack(self.attacker, place, self.neighbour, f"h{next(self._numbers)}", self.native)

    def _started(self, namespace: str, name: str) -> None:
        """All pods are on nodes, in one group, which exists."""
        what = f"the gang {name} in {'its' if namespace == self.neighbour else 'the same'} namespace starts"
        pods = eventually(lambda: all_pods(self.api, namespace, name, SIZE, is_bound), what, START_SECONDS)
        (group,) = {group_of(pod) for pod in pods}
        assert group is not None, f"{name} is no gang"
        assert self.api.find("podgroups", group, namespace) is not None, f"{name} has no PodGroup"

    def _ends_well(self, attack: Attack) -> None:
        """Whatever Muster makes of its Jobs. The Job controller may have to try again, with its own backoff."""
        for name in attack.must_run:
            size = self.api.get("jobs", name, attack.namespace)["spec"]["parallelism"]
            run = partial(all_pods, self.api, attack.namespace, name, size, is_bound)
            eventually(run, f"the Job {name} runs", 2 * START_SECONDS)
        for name in attack.must_hear:
            said = partial(self._says_what_it_waits_for, attack.namespace, name)
            eventually(said, f"an event on {name} says what it waits for", START_SECONDS)

    def _says_what_it_waits_for(self, namespace: str, name: str) -> bool:
        found = events_of_muster(self.api, namespace)
        return any(e["involvedObject"]["name"] == name and e["reason"] in WAITING_OR_NOT for e in found)

    def _of_muster(self, audited: int, logged: int, inputs: int) -> Iterator[str]:
        if not self.replica.running:
            yield "Muster ended"
            return
        status, sentence = self.replica.readyz()
        if status != 200:
            yield f"Muster is not ready: {sentence}"
        yield from log_problems(self.replica.log()[logged:])
        yield from metric_problems(self.replica.metrics())
        for write in self.cluster.writes_by_muster(audited):
            if touches_jobs_or_pods(write):
                yield f"Muster wrote: {write['verb']} {write['requestURI'][:200]}"
        calls = len(self.cluster.calls_by_muster(audited))
        if calls > MOST_CALLS * inputs:
            yield f"Muster called the API server {calls} times"

    def _of_events(self, attacks: Sequence[Attack]) -> Iterator[str]:
        others = events_of_muster(self.api, self.neighbour)
        for attack in attacks:
            for place in (attack.namespace, *attack.spare):
                found = events_of_muster(self.api, place)
                yield from event_problems(found)
                others += [event for event in found if event["involvedObject"]["name"] == attack.beside]
        yield from event_problems(others)
        for event in others:
            mentioned = [each for each in attacks if each.name in event["message"].replace(each.beside, "")]
            if mentioned or event["reason"] not in USUAL:
                yield f"an event on somebody else's Job says {event['reason']}: {event['message'][:200]!r}"

    def _clean_up(self, attacks: Sequence[Attack]) -> None:
        for place in (each for attack in attacks for each in (attack.namespace, *attack.spare)):
            for kind in ("jobs", "workloads", "podgroups", "configmaps"):
                for thing in self.api.list(kind, place):
                    self._let_go(kind, thing, place)
            with contextlib.suppress(ApiError):
                self.api.delete("namespaces", place)
        for attack in attacks:
            with contextlib.suppress(ApiError):
                self.api.delete("jobs", attack.beside, self.neighbour)

    def _let_go(self, kind: str, thing: Object, namespace: str) -> None:
        if NEVER in thing["metadata"].get("finalizers", []):
            with contextlib.suppress(ApiError):
                self.api.patch(kind, thing["metadata"]["name"], {"metadata": {"finalizers": None}}, namespace)


def apply(sentence: str, attack: Attack) -> None:
    """An input that the server refuses shows nothing about Muster: it has no place in the table."""
    try:
        INPUTS[sentence](attack)
    except ApiError as refusal:
        if not by_muster(refusal):
            raise AssertionError(f"{sentence}: the API server refused it, so Muster never saw it: {refusal}") from None


@contextlib.contextmanager
def trial_on(cluster: Cluster, folder: Path, native: bool, log_format: str) -> Iterator[Trial]:
    """Muster as it is installed, one replica, which logs all that it can."""
    settings = {"logging": {"format": log_format, "level": "debug"}}
    with Replicas(cluster, folder, count=1, settings=settings) as replicas:
        replicas.wait_until_ready()
        trial = Trial(cluster, replicas[0], native)
        process = replicas[0].process
        assert process is not None
        began = resident_bytes(process.pid)
        yield trial
        if replicas[0].running:
            growth = resident_bytes(process.pid) - began
            print(f"memory grew by {growth / 2**20:.1f} MiB")
            assert growth < MOST_GROWTH, f"Muster's memory grew by {growth / 2**20:.0f} MiB"
