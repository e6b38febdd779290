"""What people are told about the annotation: what is wrong with it, and what comes too late."""

import pytest

from muster.core.intent_warnings import MOST, Complaint, complaints
from muster.core.policy import Policy
from muster.core.reasons import EventReason
from tests.builders import JobBuilder, PodGroupBuilder, a_gang, a_job, a_pod_group

DEFAULTS = Policy()
ZONED = {"topology": [{"key": "zone"}]}
OR_DROPPED = " (if that was asked for from the start, see PolicyDropped)"


def about(job: JobBuilder, group: PodGroupBuilder | None = None, policy: Policy = DEFAULTS) -> list[Complaint]:
    return list(complaints(job.view(), group.read() if group else None, policy))


def a_group(**spec: object) -> PodGroupBuilder:
    made = a_pod_group("train-group")
    made.spec.update(spec)
    return made


@pytest.mark.parametrize(
    "job",
    [
        pytest.param(a_gang(), id="no annotation"),
        pytest.param(a_gang().asking("policy: {gang: {}}"), id="a right one"),
        pytest.param(a_gang().asking("none"), id="none"),
        pytest.param(a_gang().asking("wrong").finished(), id="wrong, on a Job that is done"),
        pytest.param(a_gang().asking("wrong").being_deleted(), id="wrong, on a Job that goes"),
        pytest.param(a_gang().asking("wrong").in_namespace("kube-system"), id="wrong, where Muster has no business"),
    ],
)
def test_nothing_is_told(job: JobBuilder) -> None:
    assert about(job) == []


def test_all_that_is_wrong_is_one_event_and_a_warning_each() -> None:
    (told,) = about(a_gang().asking("policy: {gang: {minCount: 0}}\nqueue: fast"))
    assert told.event is EventReason.INTENT_IGNORED
    ignored = "muster.dev/scheduling is ignored, as if it were not there: "
    assert told.sentence.startswith(ignored)
    assert told.sentence.count(";") == len(told.warnings) - 1
    assert any(each == f"{ignored}policy.gang.minCount: 0 must be at least 1" for each in told.warnings)


def test_who_makes_very_many_mistakes_is_told_of_the_first() -> None:
    (told,) = about(a_gang().asking("\n".join(f"k{n}: 1" for n in range(300))))
    assert len(told.warnings) == MOST + 1
    assert told.warnings[-1].endswith(f"and {300 - MOST} more")


def test_a_group_that_was_made_meanwhile_does_not_change_what_is_told() -> None:
    job = a_gang().asking("policy: {gang: {minCount: 9}}")
    assert about(job) == about(job, a_group())


@pytest.mark.parametrize(
    ("job", "sentence"),
    [
        (a_gang().with_pods(schedulingGroup={"podGroupName": "mine"}), "the pod template already names"),
        (a_gang().having(managedBy="example.com/another"), "spec.managedBy gives the Job to another controller"),
    ],
)
def test_what_is_overruled_is_told(job: JobBuilder, sentence: str) -> None:
    assert about(job) == []
    (told,) = about(job.asking("policy: {gang: {}}"))
    assert told.event is EventReason.INTENT_IGNORED
    assert sentence in told.sentence


@pytest.mark.parametrize(
    ("intent", "group", "changes"),
    [
        pytest.param("policy: {gang: {}}", a_group(), [], id="as it was made"),
        pytest.param("policy: {gang: {}}", a_group(disruptionMode="Pod", priority=0), [], id="with defaults"),
        pytest.param("policy: {gang: {minCount: 3}}", a_group(), [], id="another size, which it gets"),
        pytest.param(
            "{policy: {gang: {minCount: 3}}, resourceClaims: [{name: a, resourceClaimName: x}]}",
            a_group(resourceClaims=[{"name": "a", "resourceClaimName": "x"}]),
            ["its minCount is 4, not 3"],
            id="another size, with claims",
        ),
        pytest.param("policy: {basic: {}}", a_group(), ["its policy is gang, not basic"], id="no gang"),
        pytest.param("policy: {gang: {}}", a_group().basic(), ["its policy is basic, not gang"], id="a gang"),
        pytest.param(
            "constraints: {topology: [{key: rack}]}\ndisruption: {all: {}}",
            a_group(schedulingConstraints=ZONED),
            ["its topology is zone, not rack", f"its disruption mode is Pod, not PodGroup{OR_DROPPED}"],
            id="two at once",
        ),
        pytest.param(
            "resourceClaims: [{name: a, resourceClaimName: x}]",
            a_group(),
            [f"its resource claims is none, not a{OR_DROPPED}"],
            id="claims",
        ),
        pytest.param("none", a_group(), ["its pods stay in it, although the Job asks for 'none'"], id="none"),
        pytest.param(None, a_group(), [], id="never asked"),
        pytest.param(None, a_group().basic(), [], id="a Basic group of another setting"),
        pytest.param(None, a_group(schedulingConstraints=ZONED), ["its topology is zone, not none"], id="taken away"),
    ],
)
def test_a_change_after_the_group_was_made(intent: str | None, group: PodGroupBuilder, changes: list[str]) -> None:
    job = a_gang().asking(intent) if intent is not None else a_gang()
    told = about(job, group)
    assert [part for each in told for part in each.parts] == changes
    if told:
        assert told[0].event is EventReason.INTENT_WITHOUT_EFFECT
        assert "has no effect on PodGroup train-group, which was made already: " in told[0].sentence


def test_a_gang_that_shrank_with_its_unfinished_pods_is_no_change_of_anybody() -> None:
    job = a_gang().asking("policy: {gang: {}}").with_status(succeeded=1)
    assert about(job, a_group().gang(3)) == []


def test_a_job_out_of_scope_is_told_which_setting_it_takes() -> None:
    (told,) = about(a_job().having(parallelism=4).asking("policy: {gang: {}}"))
    assert "`scope: all-jobs`" in told.sentence
