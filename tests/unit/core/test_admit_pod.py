"""The pod webhook's answers: to a decision, and after a failure."""

import pytest

from muster.api.keys import JobKey, JobRef, Uid
from muster.core.admit import admit_at_once, admit_on_failure, admit_pod, admit_pod_of_unreadable, needs_job
from muster.core.decide import decide
from muster.core.decision import Decision, Membership
from muster.core.observed import NO_PODS, Observed, Pods
from muster.core.reasons import Reason
from tests.unit.core.seeing import GROUP_NAME, PLAIN_ALIVE, RULES, members_of, our_workload, saw


def test_a_member_joins_its_group() -> None:
    verdict = admit_pod(Decision(Reason.GANG_FORMED, Membership.JOIN, "g"))
    assert (verdict.allowed, verdict.join, verdict.message) == (True, "g", "")


def test_a_plain_pod_passes_untouched() -> None:
    verdict = admit_pod(Decision(Reason.NOT_PARALLEL, Membership.PLAIN))
    assert (verdict.allowed, verdict.join, verdict.reason) == (True, "", Reason.NOT_PARALLEL)


@pytest.mark.parametrize(
    ("name", "group", "allowed"),
    [
        pytest.param("train", "", None, id="its Job decides"),
        pytest.param("train", "g", True, id="it names its group"),
        pytest.param("No/Name", "", False, id="no Job can have this name"),
        pytest.param("No/Name", "g", True, id="it names its group, whatever owns it"),
    ],
)
def test_the_verdict_on_some_pods_needs_no_read(name: str, group: str, allowed: bool | None) -> None:
    verdict = admit_at_once(JobRef(JobKey("default", name), Uid("uid")), group, RULES)
    assert (verdict.allowed if verdict else None) is allowed
    assert verdict is None or verdict.allowed or verdict.reason is Reason.JOB_GONE


def test_a_dry_run_shows_the_pod_as_it_would_be() -> None:
    verdict = admit_pod(decide(saw(), RULES))
    assert (verdict.allowed, verdict.join) == (True, GROUP_NAME)


def test_a_pod_that_has_to_wait_is_told_why_in_one_sentence() -> None:
    verdict = admit_pod(decide(saw(workloads=[our_workload().being_deleted()]), RULES))
    assert not verdict.allowed
    assert verdict.message == (
        "muster: the Workload is being deleted; Muster recreates it afterwards (test-job-6ff4fbf9db)"
        " [WorkloadBeingDeleted]"
    )
    gone = admit_pod(decide(Observed(None), RULES))
    assert gone.message == "muster: the Job does not exist any more [JobGone]"


@pytest.mark.parametrize(
    ("decision", "job_exists", "allowed"),
    [
        pytest.param(
            Decision(Reason.GANG_FORMED, Membership.JOIN, "g"), True, True, id="a member of a Job that exists"
        ),
        pytest.param(Decision(Reason.GANG_FORMED, Membership.JOIN, "g"), False, False, id="a member of a deleted Job"),
        pytest.param(Decision(Reason.NOT_PARALLEL, Membership.PLAIN), False, True, id="a plain pod is not Muster's"),
    ],
)
def test_a_pod_joins_only_if_its_job_still_exists(decision: Decision, job_exists: bool, allowed: bool) -> None:
    verdict = admit_pod(decision, job_exists)
    assert verdict.allowed is allowed
    assert needs_job(decision) is (decision.membership is Membership.JOIN)
    if not allowed:
        assert verdict == admit_pod(decide(Observed(None), RULES)), "the answer of a Job that never existed"


LIVE_MEMBER, UNKNOWN = members_of("theirs"), None


@pytest.mark.parametrize(
    ("pods", "may_pass", "allowed", "join"),
    [
        pytest.param(LIVE_MEMBER, False, True, "theirs", id="Fail: it follows the running or pending pods"),
        pytest.param(LIVE_MEMBER, True, True, "theirs", id="Ignore: it follows the running or pending pods"),
        pytest.param(PLAIN_ALIVE, False, False, "", id="Fail: the running or pending pods are plain"),
        pytest.param(NO_PODS, False, False, "", id="Fail: there are no pods"),
        pytest.param(UNKNOWN, False, False, "", id="Fail: the pods cannot be read"),
        pytest.param(NO_PODS, True, True, "", id="Ignore: there are no pods"),
        pytest.param(UNKNOWN, True, True, "", id="Ignore: the pods cannot be read"),
    ],
)
def test_after_a_failure_a_pod_follows_its_siblings_and_then_the_failure_policy(
    pods: Pods | None, may_pass: bool, allowed: bool, join: str
) -> None:
    verdict = admit_on_failure(Reason.MUSTER_FAILED, "a bug", may_pass, pods)
    assert (verdict.allowed, verdict.join, verdict.reason) == (allowed, join, Reason.MUSTER_FAILED)
    assert verdict.message == ("" if allowed else "muster: a bug [MusterFailed]")


@pytest.mark.parametrize(("pods", "join"), [(LIVE_MEMBER, "theirs"), (PLAIN_ALIVE, ""), (NO_PODS, "")], ids=str)
@pytest.mark.parametrize("fail_open", [False, True], ids=["Fail", "Ignore"])
def test_no_pod_waits_for_an_object_that_cannot_be_read(pods: Pods | None, join: str, fail_open: bool) -> None:
    verdict = admit_pod_of_unreadable("train", fail_open, pods)
    assert (verdict.allowed, verdict.join, verdict.reason) == (True, join, Reason.OBJECT_UNREADABLE)


def test_while_its_pods_cannot_be_listed_either_only_ignore_admits_a_pod_without_a_group() -> None:
    verdict = admit_pod_of_unreadable("train", fail_open=False, pods=UNKNOWN)
    assert (verdict.allowed, verdict.reason) == (False, Reason.NOT_FORMED_YET)
    assert "could not list its pods" in verdict.message
    assert admit_pod_of_unreadable("train", fail_open=True, pods=UNKNOWN).allowed
