"""A cluster, Muster in it, and what goes wrong: a run is data, and the failing data is the bug report."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TypeVar

from muster.api.job import JobView
from muster.api.keys import JobKey
from muster.api.profile import NATIVE, ApiProfile
from muster.controllers.job.gang_former import Unsettled
from muster.core.policy import Policy
from muster.kube.client import Object
from muster.kube.errors import KubeError, Terminating
from muster.kube.resources import Resource
from muster.runtime import ttl_cache
from tests.builders import Builder
from tests.fake_cluster import FakeClient, FakeCluster
from tests.faults.job_controller import JobController
from tests.faults.nodes import Nodes
from tests.oracles import Oracle
from tests.unit.controllers.parts import build

Answer = TypeVar("Answer")
Call = Callable[[], Awaitable[Answer]]
MAX_ROUNDS = 25
RESYNC_WHEN_QUIET_FOR = 2
CAUGHT_UP_AFTER = 6
"""Rounds after which a stale view has caught up, also where nothing new happens."""
ROUND_SECONDS = 2.0
"""What Muster remembers for some seconds it has forgotten after some rounds."""
WATCHED = {"jobs", "workloads", "podgroups"}


class Crash(BaseException):
    """The process is gone. No handler of ours may see it."""


class NeverSettled(AssertionError):
    pass


@dataclass(frozen=True)
class Scenario:
    """Objects at the start, and what people do in which round."""

    name: str
    start: tuple[Builder, ...]
    profile: ApiProfile = NATIVE
    watching: bool = True
    """False: the streams are down, and the webhook is on its own."""
    leads: bool = True
    """False: they look, but nobody leads, so nothing is made before a pod asks for it."""
    racing: bool = False
    """Controller and webhook at the same time, instead of one after the other."""
    replicas: int = 1
    """With two, both work on every Job, and the webhook is asked in turn."""
    policies: tuple[Policy, ...] = (Policy(),)
    """The settings of each replica; the last one's are those of the rest."""
    creates: int = 2
    """Workloads and PodGroups that Muster makes in it."""
    pods_from_round: int = 0
    collector_lag: int = 0
    script: Mapping[int, Callable[["World"], None]] = field(default_factory=dict)
    releases: bool = False
    """Muster deletes the PodGroup of a suspended Job in it."""
    fates: Mapping[int, str] = field(default_factory=dict)
    """Indexes whose pods end, and how, once all have run. Only with any of them are there nodes at all."""

    def __str__(self) -> str:
        return self.name


Disturbance = Callable[["World", "Process", Call[object]], Awaitable[object]]


class Process:
    """One Muster process: its in-memory state, which a crash loses."""

    def __init__(self, world: "World", number: int = 0) -> None:
        self.world, self.number, self.dead, self.draining = world, number, False, False
        client = DisturbedClient(FakeClient(world.cluster), self)
        self.profile = profile = world.scenario.profile
        policy = world.scenario.policies[min(number, len(world.scenario.policies) - 1)]
        parts = build(client, profile, policy, lambda: self.draining, FakeClient(world.cluster))
        self.cache, self.queue, self.recorder = parts.cache, parts.queue, parts.recorder
        self.reconciler, self.resync = parts.reconciler, parts.resync
        self.webhook, self.intake = parts.pod_webhook(), parts.intake()
        self.position = 0
        self._posting = asyncio.create_task(self.recorder.run())

    def end(self) -> None:
        self.dead = True
        self._posting.cancel()

    async def watch(self, lag: int) -> None:
        """List once, then show the cache what happened since, `lag` changes late."""
        if not self.cache.has_synced:
            self.position = self.world.cluster.revision
            await self.resync.once()
            self.cache.mark_synced(True)
        upto = max(self.position, self.world.cluster.revision - lag)
        for change in self.world.cluster.history[self.position : upto]:
            if change.plural in WATCHED:
                self._show(change.plural, change.object, change.verb == "DELETED")
        self.position = upto

    def _show(self, plural: str, raw: Object, deleted: bool) -> None:
        if plural == "jobs":
            self.intake.job(JobView.parse(raw), deleted)
        elif plural == "workloads":
            self.intake.workload(self.profile.read_workload(raw), deleted)
        else:
            self.intake.pod_group(self.profile.read_pod_group(raw), deleted)

    async def work(self, lag: int) -> bool:
        """Look, then do everything that is queued once; False if something has to be tried again."""
        await self.watch(lag)
        return await self.work_off()

    async def work_off(self) -> bool:
        if not self.world.scenario.leads:
            return True
        failed: list[JobKey] = []
        while len(self.queue):
            key = await self.queue.get()
            try:
                await self.reconciler.reconcile(key)
            except Terminating:
                pass
            except (KubeError, Unsettled):
                failed.append(key)
            self.queue.done(key)
        for key in failed:
            self.queue.add(key)
        return not failed


class World:
    def __init__(self, scenario: Scenario, plan: Mapping[int, Disturbance] | None = None, lag: int = 0) -> None:
        self.scenario, self.plan, self.lag = scenario, dict(plan or {}), lag
        self.cluster = FakeCluster(read_lag=lag)
        self.oracle = Oracle(self.cluster, resizes=bool(scenario.fates), releases=scenario.releases)
        self.nodes = Nodes(self.cluster, scenario.fates) if scenario.fates else None
        self.calls = 0
        self.now = 0.0
        self.later: list[Callable[[], None]] = []
        """What actors do at the start of the next round."""
        for thing in scenario.start:
            self.cluster.apply(thing)
        self.processes = [Process(self, number) for number in range(scenario.replicas)]
        turns = count()
        self.job_controller = JobController(
            self.cluster, lambda: self.processes[next(turns) % len(self.processes)].webhook
        )

    async def disturbed(self, process: Process, call: Call[Answer]) -> Answer:
        if process.dead:
            raise Crash
        self.calls += 1
        disturbance = self.plan.pop(self.calls, None)
        return await (disturbance(self, process, call) if disturbance else call())  # type: ignore[return-value]

    async def run(self) -> "World":
        """Round after round, until a whole round changes nothing and nothing waits to be tried again."""
        quiet = 0
        vars(ttl_cache)["time"] = self  # its clock is ours, so that no run has to wait
        for number in range(MAX_ROUNDS):
            self.now += ROUND_SECONDS
            before = self.cluster.revision
            content = await self._round(number)
            going_on = number <= max(self.scenario.script, default=0) or self.later
            quiet = quiet + 1 if content and not going_on and self.cluster.revision == before else 0
            if quiet or number == CAUGHT_UP_AFTER:
                self.lag = self.cluster.read_lag = 0
            if quiet == RESYNC_WHEN_QUIET_FOR:
                quiet = quiet if await self._resync() else 0
            if quiet > max(RESYNC_WHEN_QUIET_FOR + 1, self.scenario.collector_lag):
                self._end()
                return self
        self._end()
        raise NeverSettled(f"not settled after {MAX_ROUNDS} rounds: {set(self.job_controller.refusals)}")

    def monotonic(self) -> float:
        return self.now

    async def _round(self, number: int) -> bool:
        self.processes = [Process(self, process.number) if process.dead else process for process in self.processes]
        if number in self.scenario.script:
            self.scenario.script[number](self)
        later, self.later = self.later, []
        for act in later:
            act()
        refused = len(self.job_controller.refusals)
        content = await self._controllers(number)
        if self.nodes is not None:
            self.nodes.play()
        for process in self.processes:
            if process.recorder._queue.qsize() and not process.dead:
                await process.recorder.drain(1.0)
        if number >= self.scenario.collector_lag:
            self.cluster.collect_garbage()
        return content and refused == len(self.job_controller.refusals)

    async def _resync(self) -> bool:
        """Muster's own list, which it makes every few minutes whether the streams are up or not."""
        try:
            for process in self.processes:
                await process.resync.once()
                if not await process.work_off():
                    return False
        except (KubeError, Crash):
            return False
        return True

    async def _controllers(self, number: int) -> bool:
        steps = [self._work()]
        if number >= self.scenario.pods_from_round:
            steps.append(self._make_pods())
        if self.scenario.racing:
            return all(await asyncio.gather(*steps))
        return all([await step for step in steps])

    async def _work(self) -> bool:
        if not self.scenario.watching:
            return True
        return all(await asyncio.gather(*(self._work_in(process) for process in self.processes)))

    async def _work_in(self, process: Process) -> bool:
        try:
            return await process.work(self.lag)
        except (KubeError, Crash):
            return False  # the first list failed, or the process did: again in the next round

    async def _make_pods(self) -> bool:
        try:
            await self.job_controller.sync()
        except Crash:
            return False
        return True

    def _end(self) -> None:
        for process in self.processes:
            process.end()


@dataclass(slots=True)
class DisturbedClient:
    """Every call of Muster passes here; the world decides what becomes of it."""

    inner: FakeClient
    process: Process

    async def get(self, resource: Resource, namespace: str, name: str) -> Object:
        return await self._call(lambda: self.inner.get(resource, namespace, name))

    async def list(self, resource: Resource, namespace: str = "", params: Mapping[str, str] | None = None) -> Object:
        return await self._call(lambda: self.inner.list(resource, namespace, params))

    async def try_watch(self, resource: Resource) -> None:
        await self._call(lambda: self.inner.try_watch(resource))

    async def create(self, resource: Resource, namespace: str, body: Object) -> Object:
        return await self._call(lambda: self.inner.create(resource, namespace, body))

    async def replace(self, resource: Resource, namespace: str, name: str, body: Object) -> Object:
        return await self._call(lambda: self.inner.replace(resource, namespace, name, body))

    async def patch(self, resource: Resource, namespace: str, name: str, body: Object, part: str = "") -> Object:
        return await self._call(lambda: self.inner.patch(resource, namespace, name, body, part))

    async def delete(self, resource: Resource, namespace: str, name: str, preconditions: Mapping[str, str]) -> None:
        await self._call(lambda: self.inner.delete(resource, namespace, name, preconditions))

    async def _call(self, call: Call[Answer]) -> Answer:
        return await self.process.world.disturbed(self.process, call)
