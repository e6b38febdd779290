"""Mutation tests: the sweep must find each planted bug."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from muster.admission import pod
from muster.api.job import JobView
from muster.api.profile import NATIVE, ApiProfile
from muster.api.v1alpha2.podgroup import PodGroup
from muster.controllers.job.executor import Executor
from muster.controllers.job.observer import Observer
from muster.controllers.job.pod_reader import PodReader
from muster.core import decide, desired, ownership
from muster.core.actions import CreateWorkload
from muster.core.admit import ALLOWED, Verdict, admit_pod
from muster.core.decision import Decision, Membership
from muster.core.desired import desired_pod_group
from muster.core.observed import NO_PODS, Observed, Pods, Replaced, ResizeNeeded
from muster.core.outcome import Written
from muster.core.policy import Rules
from muster.core.reasons import Reason
from muster.core.resize import resize_needed
from muster.core.witness import CachedDecision
from muster.kube.objects import Workloads
from tests.faults.disturbances import ACTORS, FAULTS, REJECTED
from tests.faults.scenarios import (
    ALL,
    DIFFERENT_SETTINGS,
    LOST_AFTER_SUCCESS,
    ONE_RESTARTS,
    REPLICAS,
    RESIZING_REPLICAS,
    WITH_CRDS,
)
from tests.faults.sweep import splits_of, sweep_single

Patch = pytest.MonkeyPatch


def random_names(patch: Patch) -> None:
    patch.setattr(decide, "workload_name", lambda job, uid, nth=0: f"{job}-{random.getrandbits(64):x}")


def names_prove_ownership(patch: Patch) -> None:
    patch.setattr(ownership, "is_leftover", lambda metadata, job: False)


def pod_group_before_workload(patch: Patch) -> None:
    original = decide._begin

    def begin(job: JobView, seen: Observed, rules: Rules) -> Decision:
        decision = original(job, seen, rules)
        if not isinstance(decision.write, CreateWorkload):
            return decision
        group = desired_pod_group(job, decision.write.workload, decision.group, NATIVE)
        return decide._create_pod_group(group)

    patch.setattr(decide, "_begin", begin)


def pods_are_not_looked_at(patch: Patch) -> None:
    async def pods(self: PodReader, ref: object) -> Pods:
        return NO_PODS

    patch.setattr(PodReader, "listed", pods)
    patch.setattr(PodReader, "recent", pods)


def membership_is_not_sticky(patch: Patch) -> None:
    patch.setattr(decide, "_follow", lambda group, job, seen, rules: decide._form(job, seen, rules))


def the_webhook_never_holds(patch: Patch) -> None:
    def admit(decision: Decision, job_exists: bool = True) -> Verdict:
        return ALLOWED if decision.membership is Membership.HOLD else admit_pod(decision, job_exists)

    patch.setattr(pod, "admit_pod", admit)


def pods_before_their_pod_group(patch: Patch) -> None:
    def create(workload: object, group: str) -> Decision:
        return Decision(Reason.GANG_FORMED, Membership.JOIN, group)

    patch.setattr(decide, "_create_workload", create)


def a_lost_pod_group_stays_lost(patch: Patch) -> None:
    patch.setattr(decide, "_make_again", lambda group, job, seen, rules: decide._stay(group))


def an_unfinished_pair_is_given_up(patch: Patch) -> None:
    patch.setattr(decide, "_complete", lambda job, workload, seen, rules: decide._plain(Reason.GANG_FORMED))


def what_already_exists_is_not_looked_at(patch: Patch) -> None:
    async def nothing(self: Workloads, namespace: str, name: str) -> None:
        return None

    patch.setattr(Workloads, "get", nothing)


def the_annotation_is_not_read(patch: Patch) -> None:
    patch.setattr(ApiProfile, "group_of", lambda self, pod: pod.group)


MUTANTS = (
    random_names,
    names_prove_ownership,
    pod_group_before_workload,
    pods_are_not_looked_at,
    membership_is_not_sticky,
    the_webhook_never_holds,
    pods_before_their_pod_group,
    a_lost_pod_group_stays_lost,
    an_unfinished_pair_is_given_up,
    what_already_exists_is_not_looked_at,
    the_annotation_is_not_read,
)


async def killed() -> str:
    """The first problem that the single sweep finds."""
    for kinds in (ACTORS, FAULTS):
        for scenario in (*WITH_CRDS, *ALL):
            try:
                problems = await sweep_single(scenario, kinds, enough=1)
            except AssertionError as error:
                return str(error)
            if problems:
                return problems[0]
    return ""


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__.replace("_", " "))
async def test_the_sweep_finds_a_planted_bug(mutant: Callable[[Patch], None], monkeypatch: Patch) -> None:
    mutant(monkeypatch)
    assert await killed()


def own_pair_is_not_read_by_name(patch: Patch) -> None:
    async def as_it_was(self: Observer, seen: Observed, job: object) -> Observed:
        return replace(seen, proof=seen.proof.after_read(own_pair_read=True))

    patch.setattr(Observer, "with_own_pair", as_it_was)


def witnesses_are_not_asked(patch: Patch) -> None:
    async def as_cached(self: Observer, ref: object, cached: CachedDecision) -> CachedDecision:
        return cached

    patch.setattr(Observer, "ask_witness", as_cached)


def a_rival_beats_the_own_pod_group(patch: Patch) -> None:
    patch.setattr(decide, "own_pod_group", lambda seen: None)


def pods_are_looked_for_in_the_server_s_cache(patch: Patch) -> None:
    patch.setattr(PodReader, "listed", PodReader.recent)


REPLICA_MUTANTS = (
    own_pair_is_not_read_by_name,
    witnesses_are_not_asked,
    a_rival_beats_the_own_pod_group,
    pods_are_looked_for_in_the_server_s_cache,
)


async def split() -> str:
    """The first problem that two replicas show, with views that are some changes old."""
    for lag in (2, 4):
        for scenario in (ONE_RESTARTS, REPLICAS):
            if problems := await sweep_single(scenario, [*ACTORS, REJECTED], lag, enough=1):
                return problems[0]
        for call in range(1, 40):
            for actor in ACTORS:
                if problems := await splits_of(DIFFERENT_SETTINGS, {call: actor}, lag):
                    return problems[0]
    return ""


@pytest.mark.parametrize("mutant", REPLICA_MUTANTS, ids=lambda mutant: mutant.__name__.replace("_", " "))
async def test_two_replicas_show_a_planted_bug(mutant: Callable[[Patch], None], monkeypatch: Patch) -> None:
    mutant(monkeypatch)
    assert await split()


def a_group_is_made_again_in_its_old_size(patch: Patch) -> None:
    patch.setattr(desired, "group_size", lambda job, workload, policy: None)


def what_is_half_replaced_is_left_so(patch: Patch) -> None:
    def found(seen: Observed, rules: Rules) -> ResizeNeeded | None:
        it = resize_needed(seen, rules)
        return None if it is None or it.group.metadata.deletion_timestamp else it

    patch.setattr(decide, "resize_needed", found)


def the_protection_stays(patch: Patch) -> None:
    async def nothing(self: Executor, group: PodGroup, replaced: Replaced, seen: Observed) -> Written:
        return Written(replace(seen.with_pod_group(group.metadata.name, None), replaced=replaced))

    patch.setattr(Executor, "_remove_protection", nothing)


RESIZE_MUTANTS = (
    a_group_is_made_again_in_its_old_size,
    what_is_half_replaced_is_left_so,
    the_protection_stays,
)


@pytest.mark.parametrize("mutant", RESIZE_MUTANTS, ids=lambda mutant: mutant.__name__.replace("_", " "))
async def test_a_resize_shows_a_planted_bug(mutant: Callable[[Patch], None], monkeypatch: Patch) -> None:
    mutant(monkeypatch)
    try:
        stories = (LOST_AFTER_SUCCESS, RESIZING_REPLICAS)
        problems = [each for story in stories for each in await sweep_single(story, FAULTS, enough=1)]
    except AssertionError as error:
        problems = [str(error)]
    assert problems
