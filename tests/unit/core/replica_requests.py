"""The requests of one replica in the model of `replicas`: which ones an action needs, and what each of them shows."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

from muster.api.profile import NATIVE
from muster.api.v1alpha2.podgroup import PodGroup
from muster.api.v1alpha2.workload import Workload
from muster.core import decide as decide_module
from muster.core import proof, witness
from muster.core.actions import (
    ConfirmPodGroup,
    CreatePodGroup,
    CreateWorkload,
    Read,
    ReadEverything,
    ReadOwnPair,
    Write,
)
from muster.core.decision import Decision
from muster.core.observed import NO_PODS, Observed, Pods, Proof
from muster.core.policy import Policy, Rules
from muster.core.witness import CachedDecision, PodWitness
from tests.builders import a_workload
from tests.unit.core.seeing import GROUP_NAME, JOB, WORKLOAD_NAME, our_group, our_workload

Step = str


@lru_cache
def workload(uid: int) -> Workload:
    return our_workload().uid(f"workload-{uid}").read()


@lru_cache
def pod_group(uid: int) -> PodGroup:
    return our_group().uid(f"group-{uid}").read()


THE_JOB = JOB.view()
RIVAL = a_workload("rival").describing(JOB).read()


@dataclass(frozen=True)
class Store:
    """What the API server stores. A UID of 0: there is none."""

    workload: int = 0
    group: int = 0
    pods: tuple[str, ...] = ()
    """The group of each; empty: it is plain."""
    rival: bool = False
    """A user's own Workload describes the Job, too."""
    has_job: bool = True
    """False in the view of an informer that does not show the Job yet: its streams are independent."""
    created: int = 10
    lagging: bool = False
    """The API server's own cache of pods is behind."""

    def shown(self) -> "Store":
        """What an informer shows of it."""
        return Store(self.workload, self.group, rival=self.rival)

    def listed_pods(self) -> Pods:
        return Pods(exist=True, live=True, group=self.pods[0], name="first") if self.pods else NO_PODS


@dataclass(frozen=True)
class Replica:
    policy: Policy = field(default_factory=Policy)
    informer: Store | None = None
    """What its informer shows; None: it has not synced."""
    draining: bool = False
    rejects: bool = False
    """The API server rejects what this replica creates."""
    cached: CachedDecision | None = None
    rejected: str = ""


@dataclass(frozen=True)
class Run:
    """One run of the loop, in the middle of an action."""

    replica: int
    seen: Observed
    steps: tuple[Step, ...] = ()
    decision: Decision | None = None
    done: bool = False


def begun(number: int, replica: Replica) -> Run:
    seen = known(replica)
    return next_action(Run(number, replace(seen, form_only=True)), replica)[1]


def known(replica: Replica) -> Observed:
    shown = replica.informer
    return Observed(None) if shown is None or not shown.has_job else Observed(THE_JOB, *objects_in(shown))


def objects_in(shown: Store) -> tuple[tuple[Workload, ...], tuple[PodGroup, ...]]:
    """As `Cache.observe` finds them: a PodGroup by its Workload or by its Job."""
    workloads = (*([workload(shown.workload)] if shown.workload else []), *([RIVAL] if shown.rival else []))
    found = shown.group and (shown.workload or shown.has_job)
    return workloads, (pod_group(shown.group),) if found else ()


def witness_steps(replica: Replica) -> tuple[Step, ...]:
    if replica.cached is None:
        return ()
    return ("witness pod",) if isinstance(replica.cached.witness, PodWitness) else ("witness group", "witness pods")


def next_action(run: Run, replica: Replica) -> tuple[Replica, Run]:
    seen = replace(run.seen, draining=replica.draining)
    decision = decided(seen, replica)
    if decision.action is None:
        cached = witness.cacheable(seen, decision) or replica.cached
        return replace(replica, cached=cached), replace(run, seen=seen, decision=decision, done=True)
    return replica, replace(run, seen=seen, decision=decision, steps=steps_of(decision.action, replica))


decisions: dict[Hashable, Decision] = {}


def decided(seen: Observed, replica: Replica) -> Decision:
    """A decision depends on nothing else, so it is computed once."""
    key = (replica.policy, replica.draining, seen_key(seen))
    if key not in decisions:
        decisions[key] = decide_module.decide(seen, Rules(NATIVE, replica.policy))
    return decisions[key]


def steps_of(action: Read | Write, replica: Replica) -> tuple[Step, ...]:
    match action:
        case ReadEverything():
            return ("pods", "rivals", "workloads", "groups", "followed", "all read")
        case ConfirmPodGroup():
            return ("confirmed pods", "confirmed group", "followed")
        case ReadOwnPair():
            return ("own workload", "own group")
        case CreateWorkload():
            return ("create workload",)
        case CreatePodGroup():
            return ("create group",)
    raise AssertionError(f"no scenario here asks for {action} ({replica})")


TOGETHER = {("pods", "rivals"), ("confirmed pods", "confirmed group"), ("witness group", "witness pods")}
"""Requests that Muster sends at the same time."""


def progressed(run: Run, store: Store, replica: Replica) -> Iterator[tuple[Store, Replica, Run]]:
    """One request. Those that Muster sends at the same time are answered in any order."""
    orders = [run.steps]
    if run.steps[:2] in TOGETHER:
        orders.append((run.steps[1], run.steps[0], *run.steps[2:]))
    for steps in orders:
        stored, acting, after = perform(steps[0], replace(run, steps=steps[1:]), store, replica)
        if not after.steps and not after.done:
            acting, after = next_action(after, acting)
        yield stored, acting, after


def perform(step: Step, run: Run, store: Store, replica: Replica) -> tuple[Store, Replica, Run]:
    if step.startswith("witness"):
        return store, *_asked(step, run, replica, store)
    if step.startswith("create"):
        return _created(step, run, replica, store)
    return store, replica, replace(run, seen=READS[step](run.seen, store, replica))


def _every_workload(seen: Observed, store: Store, replica: Replica) -> Observed:
    """From a synced informer where it shows them; by name otherwise, or beside a stranger's."""
    own = [each for each in objects_in(replica.informer or Store())[0] if each is not RIVAL]
    if not proof.cache_suffices(own, seen.workloads, replica.informer is not None, by_name=False):
        own = [workload(store.workload)] if store.workload else []
    return replace(seen, workloads=(*seen.workloads, *own))


def _every_group(seen: Observed, store: Store, replica: Replica) -> Observed:
    groups = objects_in(replica.informer or Store())[1]
    described = any(each is not RIVAL for each in seen.workloads)
    if not proof.cache_suffices(groups, (), replica.informer is not None, by_name=False) and described and store.group:
        groups = (pod_group(store.group),)
    return replace(seen, pod_groups=groups)


def _all_read(seen: Observed, _: Store, replica: Replica) -> Observed:
    return replace(seen, job=THE_JOB, proof=Proof(complete=True), rejected=replica.rejected, rejected_now=False)


def _followed(seen: Observed, store: Store, _: Replica) -> Observed:
    name = seen.pods.group if seen.pods else ""
    if not name or seen.pod_group(name) is not None or not store.group:
        return seen
    return seen.with_pod_group(name, pod_group(store.group))


def _confirmed(seen: Observed, store: Store, _: Replica) -> Observed:
    now = pod_group(store.group) if store.group else None
    after = replace(seen.with_pod_group(GROUP_NAME, now), job=THE_JOB)
    return replace(after, proof=seen.proof.after_read(group_uid=proof.lasting_group(seen, after, GROUP_NAME)))


def _own_group(seen: Observed, store: Store, _: Replica) -> Observed:
    found = seen.with_pod_group(GROUP_NAME, pod_group(store.group)) if store.group else seen
    return replace(found, proof=seen.proof.after_read(own_pair_read=True))


def _own_workload(seen: Observed, store: Store, _: Replica) -> Observed:
    others = tuple(each for each in seen.workloads if each.metadata.name != WORKLOAD_NAME)
    return replace(seen, workloads=(*others, workload(store.workload))) if store.workload else seen


READS: dict[Step, Callable[[Observed, Store, Replica], Observed]] = {
    "pods": lambda seen, store, _: replace(seen, pods=store.listed_pods(), workloads=(), pod_groups=()),
    "rivals": lambda seen, store, _: replace(seen, workloads=(RIVAL,) if store.rival else (), pod_groups=()),
    "workloads": _every_workload,
    "groups": _every_group,
    "all read": _all_read,
    "followed": _followed,
    "confirmed pods": lambda seen, store, _: replace(seen, pods=store.listed_pods()),
    "confirmed group": _confirmed,
    "own workload": _own_workload,
    "own group": _own_group,
}


def _created(step: Step, run: Run, replica: Replica, store: Store) -> tuple[Store, Replica, Run]:
    seen, uid = run.seen, store.created
    if replica.rejects:
        rejected = replace(seen, rejected="no", rejected_now=True, proof=seen.proof.after_write())
        return store, replace(replica, rejected="no"), replace(run, seen=rejected)
    if step == "create workload":
        made = store.workload == 0
        store = replace(store, workload=store.workload or uid, created=uid + made)
        seen = replace(seen, workloads=(*seen.workloads, workload(store.workload)))
    elif not store.workload:  # the server refuses a PodGroup without its Workload: decide again
        return store, replica, replace(run, seen=replace(seen, workloads=(), proof=seen.proof.after_write()))
    else:
        made = store.group == 0
        store = replace(store, group=store.group or uid, created=uid + made)
        seen = seen.with_pod_group(GROUP_NAME, pod_group(store.group))
    name = WORKLOAD_NAME if step == "create workload" else GROUP_NAME
    proven = seen.proof.after_write(name if made else "")
    return store, replica, replace(run, seen=replace(seen, proof=proven))


def _asked(step: Step, run: Run, replica: Replica, store: Store) -> tuple[Replica, Run]:
    """The witness of a cached decision is read again for each pod."""
    cached, seen = replica.cached, run.seen
    if step == "witness group":
        seen = replace(seen, pod_groups=(pod_group(store.group),) if store.group else ())
    else:
        lags = store.lagging and step == "witness pods"
        seen = replace(seen, pods=NO_PODS if lags else store.listed_pods())
    if run.steps:
        return replica, replace(run, seen=seen)
    pods, confirmed = seen.pods or NO_PODS, None
    if cached is not None and isinstance(cached.witness, PodWitness):
        confirmed = witness.confirmed_by_pod(cached, pods)
    elif cached is not None:
        confirmed = witness.confirmed_by_group(cached, seen.pod_group(GROUP_NAME), pods)
    if confirmed is None:
        forgetful = replace(replica, cached=None)
        return forgetful, begun(run.replica, forgetful)
    return replace(replica, cached=confirmed), replace(run, decision=confirmed.decision, done=True)


def seen_key(seen: Observed) -> Hashable:
    workloads = tuple(each.metadata.uid for each in seen.workloads)
    groups = tuple(each.metadata.uid for each in seen.pod_groups)
    return seen.job is None, workloads, groups, seen.pods, seen.proof, seen.rejected, seen.rejected_now
