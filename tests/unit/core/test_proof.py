"""Which read a decision still needs: a table, a row for each rule."""

from dataclasses import replace

import pytest

from muster.api.keys import Uid
from muster.core.actions import (
    Action,
    ConfirmPodGroup,
    ConfirmSuspended,
    CreatePodGroup,
    CreateWorkload,
    DeleteObject,
    DeletePodGroup,
    ReadEverything,
    ReadOwnPair,
    ReadStoredPodGroup,
    ReadWaitingPods,
    RecreatePodGroup,
    RemoveProtection,
)
from muster.core.decide import decide
from muster.core.decision import Decision
from muster.core.observed import GONE, NOTHING_PROVEN, Observed, Proof, Replaced, StoredPodGroup
from muster.core.policy import Policy, ReleaseOnSuspend, Rules
from muster.core.proof import cache_suffices, lasting_group
from muster.core.reasons import Reason
from tests.builders import PodGroupBuilder, a_gang, a_job, a_pod_group, a_workload
from tests.unit.core.seeing import GROUP_NAME, JOB, PLAIN_ALIVE, RULES, members_of, our_group, our_workload, saw

READ = Proof(complete=True)
MINE = a_workload("mine").describing(JOB)
MADE = saw(workloads=[our_workload()], groups=[our_group()])
STRANGE = saw(workloads=[MINE], groups=[a_pod_group("my-group").made_from(MINE)])
RELEASING = Rules(RULES.profile, Policy(release_on_suspend=ReleaseOnSuspend.POD_GROUP))
SUSPENDED = saw(
    a_gang("test-job").uid("test-job-uid").suspended().with_status(active=0), [our_workload()], [our_group()]
)


def proven(seen: Observed, proof: Proof) -> Observed:
    return replace(seen, proof=proof)


CASES: dict[str, tuple[Observed, Action | type[Action] | None]] = {
    "the informer shows Muster's own PodGroup": (
        replace(MADE, pods=None, proof=Proof()),
        ConfirmPodGroup(GROUP_NAME, own=True),
    ),
    "the informer shows a stranger's PodGroup": (replace(STRANGE, pods=None, proof=Proof()), ReadEverything()),
    "the informer shows nothing": (proven(saw(pods=None), Proof()), ReadEverything()),
    "the informer shows a plain Job": (proven(saw(a_job(), pods=None), Proof()), ReadEverything()),
    "the informer does not know the Job": (Observed(None), ReadEverything()),
    "the API server does not know the Job": (GONE, None),
    "the informer's group was confirmed": (proven(MADE, Proof(group_uid=Uid("g"))), None),
    "the informer's group was confirmed, and plain pods live": (
        proven(replace(MADE, pods=PLAIN_ALIVE), Proof(group_uid=Uid("g"))),
        ReadEverything(),
    ),
    "the informer's group was replaced during the list": (proven(MADE, Proof()), ConfirmPodGroup(GROUP_NAME, own=True)),
    "everything was read, and the pair exists": (proven(MADE, READ), ConfirmPodGroup(GROUP_NAME, own=True)),
    "running or pending pods name the group": (proven(replace(MADE, pods=members_of(GROUP_NAME)), READ), None),
    "running or pending pods are plain": (proven(replace(MADE, pods=PLAIN_ALIVE), READ), None),
    "everything was read, and nothing was made": (proven(saw(), READ), CreateWorkload),
    "the Workload was just made": (
        proven(saw(workloads=[our_workload()]), replace(READ, made=frozenset({"other"}))),
        CreatePodGroup,
    ),
    "the PodGroup that was just made is gone": (
        proven(saw(workloads=[our_workload()]), replace(READ, made=frozenset({GROUP_NAME}))),
        ReadEverything(),
    ),
    "a plain Job": (proven(saw(a_job()), READ), ReadOwnPair()),
    "a plain Job, and Muster's pair was looked for": (proven(saw(a_job()), replace(READ, own_pair_read=True)), None),
}


@pytest.mark.parametrize("case", CASES)
def test_a_pod_gets_its_answer_only_after_the_reads_that_prove_it(case: str) -> None:
    seen, expected = CASES[case]
    action = decide(seen, RULES).action
    assert isinstance(action, expected) if isinstance(expected, type) else action == expected


def test_a_pod_group_is_released_only_after_a_list_of_the_pods() -> None:
    assert decide(proven(SUSPENDED, READ), RELEASING).action == ConfirmSuspended()
    assert isinstance(decide(proven(SUSPENDED, replace(READ, suspended=True)), RELEASING).action, DeleteObject)


LOST = (
    a_gang("test-job").uid("test-job-uid").with_status(completedIndexes="0", succeeded=1, failed=1, active=3, ready=2)
)
BY_NAME = Proof(complete=True, by_name=True)


def shrinking(group: PodGroupBuilder | None = None, **known: object) -> Observed:
    """Index 0 has succeeded, and a pod of the other three is back: the controller asks."""
    seen = saw(LOST, [our_workload()], [group or our_group().protected()], members_of(GROUP_NAME))
    return replace(seen, form_only=False, proof=BY_NAME, **known)  # type: ignore[arg-type]


STORED = StoredPodGroup(GROUP_NAME, our_group().protected().build())


def resize(seen: Observed) -> Decision:
    return decide(seen, RULES)


def test_a_resize_reads_the_waiting_pods_then_everything_then_the_stored_object() -> None:
    assert resize(replace(shrinking(), proof=NOTHING_PROVEN)).action == ReadWaitingPods(GROUP_NAME)
    assert resize(replace(shrinking(members_wait=True), proof=READ)).action == ReadEverything(by_name=True)
    assert isinstance(resize(shrinking(members_wait=True)).action, ReadStoredPodGroup)
    assert isinstance(resize(shrinking(members_wait=True, stored=STORED)).action, DeletePodGroup)


@pytest.mark.parametrize("proof", [NOTHING_PROVEN, READ, BY_NAME], ids=["nothing", "everything", "by name"])
def test_a_resize_without_a_waiting_pod_is_not_needed_and_needs_no_further_read(proof: Proof) -> None:
    decision = resize(replace(shrinking(members_wait=False), pods=None, proof=proof))
    assert (decision.action, decision.resize) == (None, None)


def test_a_pod_does_not_wait_for_a_resize() -> None:
    decision = resize(replace(shrinking(), form_only=True))
    assert (decision.action, decision.resize) == (None, None)


def test_a_resize_deletes_then_removes_the_protection_then_creates_in_the_new_size() -> None:
    seen = shrinking(stored=STORED, members_wait=True)
    delete = resize(seen).action
    assert isinstance(delete, DeletePodGroup)
    leaving = shrinking(our_group().protected().being_deleted(), stored=STORED, members_wait=True)
    assert isinstance(resize(leaving).action, RemoveProtection)
    gone = replace(seen.with_pod_group(GROUP_NAME, None), replaced=delete.replaced)
    again = resize(gone).action
    assert isinstance(again, RecreatePodGroup)
    assert again.body["spec"]["schedulingPolicy"]["gang"]["minCount"] == 3


def test_a_body_that_the_server_rejects_is_made_from_the_template() -> None:
    needed = resize(shrinking(stored=STORED, members_wait=True)).resize
    assert needed is not None
    gone = shrinking().with_pod_group(GROUP_NAME, None)
    assert isinstance(resize(replace(gone, replaced=Replaced(needed, None))).action, CreatePodGroup)


def test_a_finalizer_of_somebody_else_is_waited_for() -> None:
    theirs = our_group().being_deleted()
    theirs.metadata["finalizers"] = ["theirs"]
    decision = resize(shrinking(theirs, stored=STORED, members_wait=True))
    assert decision.action is None
    assert not decision.settled


def test_a_size_that_a_webhook_changes_is_not_asked_for_again() -> None:
    stored = replace(STORED, requested_size=3)
    decision = resize(shrinking(stored=stored, members_wait=True))
    assert decision.action is None
    assert decision.resize is not None
    assert decision.resize.obstacle is Reason.SIZE_NOT_STORED


@pytest.mark.parametrize("will_write", [True, False], ids=["a run that writes", "a dry run"])
def test_who_writes_nothing_reads_muster_s_own_objects_by_name(will_write: bool) -> None:
    seen = replace(saw(pods=None), will_write=will_write)
    assert decide(seen, RULES).action == ReadEverything(by_name=not will_write)


ONE: tuple[str, ...] = ("one",)
NONE: tuple[str, ...] = ()
FROM_CACHE: dict[str, tuple[tuple[str, ...], tuple[str, ...], bool, bool, bool]] = {
    # known, others, has_synced, by_name; whether the cache suffices
    "it shows Muster's own": (ONE, NONE, True, False, True),
    "it shows Muster's own beside others": (ONE, ONE, True, False, True),
    "it shows Muster's own to a caller that creates nothing": (ONE, NONE, True, True, True),
    "it has synced and shows none": (NONE, NONE, True, False, True),
    "it shows none, and others were found": (NONE, ONE, True, False, False),
    "it shows none to a caller that creates nothing": (NONE, NONE, True, True, False),
    "it has not synced": (NONE, NONE, False, False, False),
}


@pytest.mark.parametrize(("known", "others", "has_synced", "by_name", "suffices"), FROM_CACHE.values(), ids=FROM_CACHE)
def test_muster_s_own_objects_come_from_the_cache_where_a_lag_does_no_harm(
    known: tuple[str, ...], others: tuple[str, ...], has_synced: bool, by_name: bool, suffices: bool
) -> None:
    assert cache_suffices(known, others, has_synced, by_name) is suffices


LASTING: dict[str, tuple[PodGroupBuilder | None, PodGroupBuilder | None, str | None]] = {
    "it was there all the time": (our_group().uid("a"), our_group().uid("a"), "a"),
    "it was made again meanwhile": (our_group().uid("a"), our_group().uid("b"), None),
    "it has gone": (our_group().uid("a"), None, None),
    "it came meanwhile": (None, our_group().uid("a"), None),
    "it was never there": (None, None, None),
}


@pytest.mark.parametrize(("before", "after", "uid"), LASTING.values(), ids=LASTING)
def test_only_the_same_pod_group_before_and_after_was_there_during_the_list(
    before: PodGroupBuilder | None, after: PodGroupBuilder | None, uid: str | None
) -> None:
    first, last = (saw(groups=[group] if group else []) for group in (before, after))
    assert lasting_group(first, last, GROUP_NAME) == uid
