"""Two replicas never split a gang: every order of their requests, for every view that they may begin with.

docs/replicas.md has the four rules. Without one of them, the model finds a split. The model forms gangs; tests/faults
has resizes, releases at suspend, and gangs that are formed again.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest

from muster.core import decide as decide_module
from muster.core import proof, witness
from muster.core.actions import ConfirmPodGroup, Read, ReadEverything, ReadOwnPair
from muster.core.decision import Decision
from muster.core.observed import Observed
from muster.core.policy import Policy
from muster.core.proof import missing_read
from tests.unit.core.replica_requests import Replica, Store
from tests.unit.core.replicas import World, ended, reachable, start
from tests.unit.core.seeing import GROUP_NAME

NOTHING, CLAIMED, FORMED = Store(), Store(workload=1), Store(workload=1, group=2)
STORES = {"nothing": NOTHING, "the Workload": CLAIMED, "the pair": FORMED}
VIEWS = {
    "no view": None,
    "the Job": NOTHING,
    "the Workload": CLAIMED,
    "the pair": FORMED,
    "a pair that is gone": Store(workload=8, group=9),
}
RARE_VIEWS = {
    "the PodGroup without its Workload": Store(group=2),
    "not even the Job": Store(has_job=False),
    "the pair without the Job": Store(workload=1, group=2, has_job=False),
    "a user's own Workload, which is gone": Store(workload=1, rival=True),
}
"""The streams of an informer are independent, and each can be behind."""
OPTED_OUT = Policy(opt_in=True)


def violations(world: World) -> set[str]:
    return {state.violation for state in reachable(world) if state.violation}


def assert_outcome(world: World, pods: tuple[str, ...]) -> None:
    """No state is a violation, and the stored pods have these groups in every state in which nothing more happens."""
    states = [*reachable(world)]
    assert not {state.violation for state in states if state.violation}
    assert {state.store.pods for state in states if ended(state)} == {pods}


ALL_VIEWS = VIEWS | RARE_VIEWS
EVERY_PAIR = [*product(VIEWS, VIEWS), *((view, view) for view in RARE_VIEWS)]
OTHER_PAIRS = [pair for pair in product(ALL_VIEWS, ALL_VIEWS) if pair not in EVERY_PAIR]


@pytest.mark.parametrize("stored", STORES)
@pytest.mark.parametrize(
    ("one", "other"), [*EVERY_PAIR, *(pytest.param(*pair, marks=pytest.mark.full) for pair in OTHER_PAIRS)]
)
def test_the_whole_gang_joins_one_group(one: str, other: str, stored: str) -> None:
    replicas = (Replica(informer=ALL_VIEWS[one]), Replica(informer=ALL_VIEWS[other]))
    assert_outcome(start(replicas, STORES[stored]), (GROUP_NAME,) * 2)


PODS = {
    "a plain pod": (Store(pods=("",)), ""),
    "a plain pod and the Workload": (replace(CLAIMED, pods=("",)), ""),
    "a plain pod and the pair": (replace(FORMED, pods=("",)), ""),
    "a member": (replace(FORMED, pods=(GROUP_NAME,)), GROUP_NAME),
}
"""What is stored at the start, and the group of each further pod: running or pending pods take precedence (rule 1)."""
LOST = {
    "a member whose PodGroup is gone": replace(CLAIMED, pods=(GROUP_NAME,)),
    "a member whose pair is gone": Store(pods=(GROUP_NAME,)),
}
SOME_VIEWS = [view if view == "the Job" else pytest.param(view, marks=pytest.mark.full) for view in ALL_VIEWS]


@pytest.mark.parametrize("view", SOME_VIEWS)
@pytest.mark.parametrize("stored", PODS)
def test_further_pods_follow_the_first_one(stored: str, view: str) -> None:
    store, group = PODS[stored]
    replicas = (Replica(informer=ALL_VIEWS[view]), Replica(informer=ALL_VIEWS[view]))
    assert_outcome(start(replicas, store), (group,) * 3)


@pytest.mark.parametrize("view", SOME_VIEWS)
@pytest.mark.parametrize("stored", LOST)
def test_further_pods_join_the_group_of_the_first_one_also_while_it_is_gone(stored: str, view: str) -> None:
    """An informer that still shows the PodGroup lets them join before it is created again under its name."""
    replicas = (Replica(informer=ALL_VIEWS[view]), Replica(informer=ALL_VIEWS[view]))
    states = [*reachable(start(replicas, LOST[stored]))]
    assert {state.violation for state in states} <= {"", "a pod before its PodGroup"}
    assert {group for state in states for group in state.store.pods} == {GROUP_NAME}


BEHIND = Replica(informer=NOTHING)
DIFFERENT = {
    "the other's settings leave the Job alone": (BEHIND, replace(BEHIND, policy=OPTED_OUT)),
    "the leader's settings leave the Job alone": (replace(BEHIND, policy=OPTED_OUT), BEHIND),
    "the API server rejects what the other creates": (BEHIND, replace(BEHIND, rejects=True)),
    "the API server rejects what the leader creates": (replace(BEHIND, rejects=True), BEHIND),
}


@pytest.mark.parametrize("stored", STORES)
@pytest.mark.parametrize("case", DIFFERENT)
def test_replicas_that_differ_do_not_split_a_gang(case: str, stored: str) -> None:
    assert not violations(start(DIFFERENT[case], STORES[stored]))


@pytest.mark.parametrize("case", [*DIFFERENT][:2])
@pytest.mark.parametrize("stored", [*PODS, *(pytest.param(stored, marks=pytest.mark.full) for stored in LOST)])
def test_further_pods_follow_the_first_one_also_at_replicas_that_differ(stored: str, case: str) -> None:
    store = LOST[stored] if stored in LOST else PODS[stored][0]
    found = violations(start(DIFFERENT[case], store))
    assert found <= ({"a pod before its PodGroup"} if stored in LOST else set())


@pytest.mark.full
@pytest.mark.parametrize("stored", STORES)
@pytest.mark.parametrize("views", [*product(ALL_VIEWS, ALL_VIEWS)], ids=" and ".join)
@pytest.mark.parametrize("case", DIFFERENT)
def test_replicas_that_differ_do_not_split_a_gang_whatever_they_see(
    case: str, views: tuple[str, str], stored: str
) -> None:
    seeing = zip(DIFFERENT[case], views, strict=True)
    one, other = (replace(replica, informer=ALL_VIEWS[view]) for replica, view in seeing)
    assert not violations(start((one, other), STORES[stored]))


@pytest.mark.parametrize("case", DIFFERENT)
def test_an_api_server_whose_cache_is_behind_does_not_split_a_formed_gang(case: str) -> None:
    assert not violations(start(DIFFERENT[case], replace(FORMED, lagging=True)))


@pytest.mark.parametrize("stored", STORES)
def test_replicas_that_drain_one_after_the_other_do_not_split_a_gang(stored: str) -> None:
    """No replica stands aside while another one may lead, so there is no leader here."""
    assert not violations(start((replace(BEHIND, draining=True), BEHIND), STORES[stored], leads=False))


@pytest.mark.parametrize("stored", STORES)
@pytest.mark.parametrize("user", ["adds a Workload", "deletes their Workload"])
def test_a_user_s_own_workload_does_not_split_a_gang(user: str, stored: str) -> None:
    store = Store(STORES[stored].workload, STORES[stored].group, rival=user.startswith("deletes"))
    assert not violations(start((BEHIND, BEHIND), store, user, leads=False))


@pytest.mark.parametrize(
    "stored", ["the pair", *(pytest.param(each, marks=pytest.mark.full) for each in [*STORES][:2])]
)
@pytest.mark.parametrize("user", ["deletes the PodGroup", pytest.param("deletes both", marks=pytest.mark.full)])
def test_a_user_who_deletes_muster_s_objects_does_not_split_a_gang(user: str, stored: str) -> None:
    """A pod may be stored in the moment after the PodGroup was deleted. No replica can prevent that; the PodGroup is
    created again under its name, so that all pods are in one group."""
    found = violations(start((BEHIND, BEHIND), STORES[stored], user))
    assert found <= {"a pod before its PodGroup"}


def test_the_gap_that_docs_replicas_md_names() -> None:
    """Replicas with different settings, and an API server whose cache of pods is behind: the model shows the split."""
    store = Store(lagging=True)
    assert violations(start(DIFFERENT["the other's settings leave the Job alone"], store)) == {"the gang is split"}


def without(kind: type[Read]) -> Callable[[pytest.MonkeyPatch], None]:
    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        def read(decision: Decision, seen: Observed) -> Read | None:
            needed = missing_read(decision, seen)
            return None if isinstance(needed, kind) else needed

        monkeypatch.setattr(decide_module, "missing_read", read)

    return patch


def the_own_pod_group_does_not_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decide_module, "own_pod_group", lambda seen: None)


def a_cached_decision_needs_no_witness(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("confirmed_by_group", "confirmed_by_pod"):
        monkeypatch.setattr(witness, name, lambda cached, *_: cached)


def a_cache_is_as_good_as_a_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "_may_join", lambda decision, seen: True)


RULES = {
    "1. Muster's own PodGroup decides": the_own_pod_group_does_not_decide,
    "2. a plain pod only after that name was read": without(ReadOwnPair),
    "3. a pod joins only after a list of the pods": without(ConfirmPodGroup),
    "4. no cached answer without a witness": a_cached_decision_needs_no_witness,
    "everything is read first": without(ReadEverything),
    "from a cache, a pod joins only Muster's own PodGroup": a_cache_is_as_good_as_a_read,
}


@pytest.mark.parametrize("rule", RULES)
def test_without_one_of_the_rules_the_model_finds_a_split(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    RULES[rule](monkeypatch)
    stores = (*STORES.values(), replace(FORMED, lagging=True), *LOST.values())
    worlds = (start(replicas, store) for replicas in DIFFERENT.values() for store in stores)
    assert any("the gang is split" in violations(world) for world in worlds)
