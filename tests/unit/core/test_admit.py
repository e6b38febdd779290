"""The parallelism guard's answers to a change of parallelism."""

from dataclasses import replace
from itertools import product

import pytest

from muster.api.job import QUEUE_NAME
from muster.api.profile import CRD_IN_OWN_GROUP, NATIVE
from muster.core.actions import Read, ReadEverything, ReadOwnPair
from muster.core.admit import (
    admit_parallelism,
    cannot_tell,
    parallelism_read,
)
from muster.core.naming import pod_group_name
from muster.core.observed import NO_PODS, Observed, Pods, Proof
from muster.core.policy import Policy, ReleaseOnSuspend, Rules
from muster.core.reasons import EventReason, Reason
from tests.builders import JobBuilder, PodGroupBuilder, a_gang, a_job, a_pod_group, a_workload
from tests.unit.core.seeing import (
    EARLIER,
    ENDED,
    GROUP_NAME,
    JOB,
    PLAIN_ALIVE,
    RULES,
    members_of,
    our_group,
    our_workload,
    saw,
)


def four_to(pods: int, job: JobBuilder = JOB) -> JobBuilder:
    changed = JobBuilder(job.name)
    changed.raw = job.build()
    return changed.having(parallelism=pods, completions=pods)


def guarded(job: JobBuilder, seen: Observed, pods: int = 2) -> str:
    """What the guard says to 4 → `pods`: empty if it lets it pass."""
    verdict = admit_parallelism(job.view(), four_to(pods, job).view(), seen, RULES)
    assert bool(verdict.message) is not verdict.allowed
    return verdict.message


PRESET = a_gang("test-job").uid("test-job-uid").with_pods(schedulingGroup={"podGroupName": "preset"})
SUSPENDED = a_gang("test-job").uid("test-job-uid").suspended()
OURS, OUR_GROUP = [our_workload()], [our_group()]


def in_queue(job: JobBuilder) -> JobBuilder:
    return four_to(4, job).labelled(**{QUEUE_NAME: "team"})


@pytest.mark.parametrize(
    ("job", "seen", "pods", "says"),
    [
        pytest.param(JOB, saw(), 2, "being formed", id="A36-02 differs: no PodGroup yet, but it may be forming"),
        pytest.param(JOB, saw(workloads=OURS, groups=OUR_GROUP), 4, "", id="A36-03 parallelism unchanged"),
        pytest.param(
            PRESET, saw(PRESET, groups=[a_pod_group("preset")]), 2, "'preset'", id="A36-04 preset gang PodGroup"
        ),
        pytest.param(
            PRESET, saw(PRESET, groups=[a_pod_group("preset").basic()]), 2, "", id="A36-05 preset Basic PodGroup"
        ),
        pytest.param(PRESET, saw(PRESET), 2, "", id="A36-06 preset PodGroup that does not exist"),
        pytest.param(
            JOB, saw(groups=[a_pod_group("mine").controlled_by(JOB)]), 2, "'mine'", id="A36-07 gang PodGroup of the Job"
        ),
        pytest.param(
            JOB,
            saw(workloads=[a_workload("w").describing(JOB)], groups=[a_pod_group("b").basic().controlled_by(JOB)]),
            2,
            "",
            id="A36-08 Basic PodGroup of the Job",
        ),
        pytest.param(
            a_job("plain").having(parallelism=4),
            saw(a_job("plain"), groups=[a_pod_group().controlled_by(EARLIER)]),
            2,
            "",
            id="A36-09 gang PodGroup of another Job, and this one is no gang",
        ),
        pytest.param(
            JOB,
            saw(groups=[a_pod_group().controlled_by(EARLIER)]),
            2,
            "being formed",
            id="A36-09 differs for a Job whose own gang may be forming",
        ),
    ],
)
def test_the_rows_of_the_built_in_plugin(job: JobBuilder, seen: Observed, pods: int, says: str) -> None:
    message = guarded(job, seen, pods)
    assert (says in message) if says else (message == "")


@pytest.mark.parametrize(
    ("job", "seen"),
    [
        pytest.param(SUSPENDED, saw(SUSPENDED), id="created suspended and never started, as Kueue resizes it"),
        pytest.param(JOB, saw(pods=PLAIN_ALIVE), id="its running or pending pods are plain"),
        pytest.param(JOB, saw(pods=ENDED), id="it had pods before it had a Workload"),
        pytest.param(JOB, saw(rejected="no"), id="its objects are refused permanently"),
        pytest.param(
            JOB,
            saw(workloads=[our_workload(), a_workload("rival").describing(JOB)]),
            id="Muster stands aside because of ambiguity",
        ),
        pytest.param(a_gang().having(completions=8), saw(a_gang().having(completions=8)), id="8 completions by 4"),
        pytest.param(a_gang().with_pods(nodeName="n"), saw(a_gang().with_pods(nodeName="n")), id="nodeName preset"),
    ],
)
def test_jobs_that_stay_plain_scale_freely(job: JobBuilder, seen: Observed) -> None:
    changed = four_to(2, job).having(completions=job.spec["completions"])
    assert admit_parallelism(job.view(), changed.view(), seen, RULES).allowed


@pytest.mark.parametrize(
    ("job", "seen", "says"),
    [
        pytest.param(JOB, saw(workloads=[our_workload()]), "being formed", id="its Workload is there already"),
        pytest.param(
            SUSPENDED, saw(SUSPENDED, OURS, OUR_GROUP, members_of(GROUP_NAME)), GROUP_NAME, id="suspended, pods live"
        ),
        pytest.param(
            JOB, saw(pods=members_of("strangers")), "being formed", id="running or pending pods name a missing group"
        ),
        pytest.param(
            JOB,
            saw(groups=[a_pod_group("strangers")], pods=members_of("strangers")),
            "'strangers'",
            id="running or pending pods name a group that is not the Job's",
        ),
        pytest.param(
            JOB,
            saw(workloads=[a_workload("w").describing(JOB)], groups=[a_pod_group("users").naming_workload("w")]),
            "'users'",
            id="a user's own gang",
        ),
    ],
)
def test_a_gang_keeps_its_size(job: JobBuilder, seen: Observed, says: str) -> None:
    message = guarded(job, seen)
    assert says in message
    assert any(what in message for what in ("elete the Job", "Try again after they have been deleted")), (
        "it says what to do"
    )


def own_claiming() -> PodGroupBuilder:
    group = our_group()
    group.spec["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "gpus"}]
    return group


MINE = a_workload("mine").describing(SUSPENDED).gang(3)
MADE_FROM_MINE = a_pod_group(pod_group_name("mine", "workers")).ours().made_from(MINE).controlled_by(SUSPENDED).gang(3)


@pytest.mark.parametrize(
    ("seen", "pods", "says"),
    [
        pytest.param(saw(SUSPENDED), 2, "", id="created suspended and never started"),
        pytest.param(saw(SUSPENDED, OURS), 2, "", id="its PodGroup was released"),
        pytest.param(saw(SUSPENDED, OURS), 8, "", id="its PodGroup was released, up"),
        pytest.param(saw(SUSPENDED, OURS, OUR_GROUP), 2, "", id="its pair is kept"),
        pytest.param(saw(SUSPENDED, OURS, OUR_GROUP), 8, "", id="its pair is kept, up"),
        pytest.param(saw(SUSPENDED, OURS, OUR_GROUP, ENDED), 2, "", id="its pair is kept, and pods ended"),
        pytest.param(saw(SUSPENDED, [], OUR_GROUP), 2, "", id="its Workload is gone, and Muster recreates it"),
        pytest.param(saw(SUSPENDED, OURS, [our_group().being_deleted()]), 2, "", id="its PodGroup is being deleted"),
        pytest.param(saw(SUSPENDED, OURS, [own_claiming()]), 2, GROUP_NAME, id="with resource claims"),
        pytest.param(
            saw(SUSPENDED, OURS, [a_pod_group("aaa").ours().controlled_by(SUSPENDED)]), 2, "'aaa'", id="a planted one"
        ),
        pytest.param(saw(SUSPENDED, [MINE]), 2, "'mine'", id="a user's Workload asks for more"),
        pytest.param(saw(SUSPENDED, [MINE]), 3, "", id="a user's Workload asks for so many"),
        pytest.param(saw(SUSPENDED, [MINE], [MADE_FROM_MINE]), 2, "'mine'", id="the same with its PodGroup"),
        pytest.param(saw(SUSPENDED, [MINE], [MADE_FROM_MINE]), 8, "", id="the same with its PodGroup, up"),
        pytest.param(saw(SUSPENDED, [MINE], [a_pod_group("g").made_from(MINE)]), 8, "'g'", id="a user's PodGroup"),
        pytest.param(
            saw(SUSPENDED, [MINE, a_workload("too").describing(SUSPENDED)]), 2, "", id="Muster stands aside at resume"
        ),
    ],
)
@pytest.mark.parametrize("choice", ReleaseOnSuspend)
def test_a_suspended_job_without_pods_changes_its_size_if_its_gang_can_start_in_it(
    seen: Observed, pods: int, says: str, choice: ReleaseOnSuspend
) -> None:
    rules = Rules(RULES.profile, Policy(release_on_suspend=choice))
    for completions, suspend in product((pods, 4), (True, False)):
        new = four_to(pods, SUSPENDED).having(completions=completions, suspend=suspend)
        verdict = admit_parallelism(SUSPENDED.view(), new.view(), seen, rules)
        assert (says in verdict.message) if says else (verdict.message == "")
        assert (verdict.reason is Reason.GANG_SIZE_FIXED) is bool(says)


@pytest.mark.parametrize(
    ("rules", "job", "says"),
    [
        pytest.param(RULES, JOB, ". Delete the Job", id="built-in API, kept while it is suspended"),
        pytest.param(RULES, in_queue(JOB), "Suspend the Job", id="built-in API, released by Auto"),
        pytest.param(
            Rules(NATIVE, Policy(release_on_suspend=ReleaseOnSuspend.PAIR)),
            JOB,
            "Suspend the Job",
            id="released by Pair",
        ),
        pytest.param(Rules(CRD_IN_OWN_GROUP), JOB, "Suspend the Job", id="Muster's CRDs"),
    ],
)
def test_the_remedy_is_one_that_works(rules: Rules, job: JobBuilder, says: str) -> None:
    verdict = admit_parallelism(job.view(), four_to(2, job).view(), saw(job, OURS, OUR_GROUP), rules)
    assert says in verdict.message
    assert verdict.message.endswith("[GangSizeFixed]")


def test_every_refusal_has_a_reason_whose_event_is_posted() -> None:
    for verdict in (cannot_tell(JOB.view(), "slow"), admit_parallelism(JOB.view(), four_to(2).view(), saw(), RULES)):
        assert verdict.reason is not None
        assert verdict.reason.event is EventReason.PARALLELISM_REFUSED
        assert verdict.message.endswith(f"[{verdict.reason}]")


@pytest.mark.parametrize(
    ("old", "new", "pods", "allowed"),
    [
        pytest.param(a_job().indexed(1), a_job().indexed(2), PLAIN_ALIVE, True, id="J36-63 one plain pod becomes two"),
        pytest.param(
            a_job().indexed(1), a_job().indexed(4), NO_PODS, False, id="one pod becomes a gang: it could be half in"
        ),
        pytest.param(a_job().having(parallelism=None), a_job(), NO_PODS, True, id="an absent parallelism is 1"),
        pytest.param(a_job(), a_job().having(parallelism=3), NO_PODS, True, id="a NonIndexed Job"),
    ],
)
def test_what_a_job_is_after_the_change_counts_too(old: JobBuilder, new: JobBuilder, pods: Pods, allowed: bool) -> None:
    assert admit_parallelism(old.view(), new.view(), saw(old, pods=pods), RULES).allowed is allowed


NOT_READ, BY_NAME = Proof(), Proof(complete=True, by_name=True)


def guard_reads(job: JobBuilder, seen: Observed, proof: Proof, pods: int = 2) -> Read | None:
    return parallelism_read(job.view(), four_to(pods, job).view(), replace(seen, proof=proof), RULES)


READS: dict[str, tuple[Read | None, Read | None]] = {
    "nothing was read": (guard_reads(JOB, saw(), NOT_READ), ReadEverything(by_name=True)),
    "it names a group": (guard_reads(PRESET, saw(PRESET), NOT_READ), ReadEverything(by_name=True, preset="preset")),
    "the review names a group, and the stored Job does not": (
        guard_reads(PRESET, saw(), NOT_READ),
        ReadEverything(by_name=True),
    ),
    "its pods get no group, as far as was read": (guard_reads(JOB, saw(pods=ENDED), BY_NAME), ReadOwnPair()),
    "its pods get no group, and its own pair does not exist": (
        guard_reads(JOB, saw(pods=ENDED), replace(BY_NAME, own_pair_read=True)),
        None,
    ),
    "it may be forming": (guard_reads(JOB, saw(), BY_NAME), None),
    "it has its group": (guard_reads(JOB, saw(groups=OUR_GROUP), BY_NAME), None),
    "it names its group, which was read": (guard_reads(PRESET, saw(PRESET), BY_NAME), None),
    "parallelism does not change": (guard_reads(JOB, saw(), NOT_READ, 4), None),
    "the Job is not stored": (guard_reads(JOB, saw(None), NOT_READ), None),
}


@pytest.mark.parametrize(("read", "needed"), READS.values(), ids=READS)
def test_the_guard_proves_that_pods_get_no_group_as_the_pod_webhook_does(
    read: Read | None, needed: Read | None
) -> None:
    assert read == needed
