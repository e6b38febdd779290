"""Is the sweep awake? Each bug that is planted here must be found by it."""

import random
from collections.abc import Callable

import pytest

from muster.admission import pod
from muster.api.job import JobView
from muster.api.profile import NATIVE, ApiProfile
from muster.controllers import resync
from muster.controllers.job import executor, observer, reconciler, resizing
from muster.controllers.job.gang_former import GangFormer
from muster.controllers.job.observer import Observer
from muster.controllers.job.verdicts import CachedDecision
from muster.core import decide, desired, ownership
from muster.core.actions import CreateWorkload
from muster.core.admit import ALLOWED, Verdict, admit_pod
from muster.core.decide import Decision, Membership, Rules
from muster.core.desired import desired_pod_group
from muster.core.observed import NO_PODS, Observed, Pods
from muster.core.reasons import Reason
from muster.core.resize import ResizeNeeded, resize_needed
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
    for module in (ownership, executor):
        patch.setattr(module, "is_leftover", lambda metadata, job: False)


def pod_group_before_workload(patch: Patch) -> None:
    original = decide._begin

    def begin(job: JobView, seen: Observed, rules: decide.Rules) -> Decision:
        decision = original(job, seen, rules)
        if not isinstance(decision.action, CreateWorkload):
            return decision
        group = desired_pod_group(job, decision.action.workload, decision.group, NATIVE)
        return decide._create_pod_group(group)

    patch.setattr(decide, "_begin", begin)


def pods_are_not_looked_at(patch: Patch) -> None:
    async def pods(self: Observer, ref: object) -> Pods:
        return NO_PODS

    patch.setattr(Observer, "pods", pods)
    patch.setattr(Observer, "recent_pods", pods)


def membership_is_not_sticky(patch: Patch) -> None:
    patch.setattr(decide, "_follow", lambda group, job, seen, rules: decide._form(job, seen, rules))


def the_webhook_never_holds(patch: Patch) -> None:
    def admit(decision: Decision) -> Verdict:
        return ALLOWED if decision.membership is Membership.HOLD else admit_pod(decision)

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
    async def nothing(self: Observer, namespace: str, name: str) -> None:
        return None

    patch.setattr(observer.Observer, "workload", nothing)


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
        return seen

    patch.setattr(Observer, "with_own_pair", as_it_was)


def witnesses_are_not_asked(patch: Patch) -> None:
    async def as_cached(self: GangFormer, ref: object, cached: CachedDecision) -> CachedDecision:
        return cached

    patch.setattr(GangFormer, "_ask_witness", as_cached)


def a_rival_beats_the_own_pod_group(patch: Patch) -> None:
    patch.setattr(decide, "own_pod_group", lambda seen: None)


def pods_are_looked_for_in_the_server_s_cache(patch: Patch) -> None:
    patch.setattr(Observer, "pods", Observer.recent_pods)


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

    for module in (resync, reconciler, resizing):
        patch.setattr(module, "resize_needed", found)


def the_protection_stays(patch: Patch) -> None:
    async def let_go(self: object, group: object) -> bool:
        return True

    patch.setattr(resizing.Resizing, "_let_go", let_go)


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
