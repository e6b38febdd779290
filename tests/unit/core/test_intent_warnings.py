"""The warnings about the annotation: mistakes, and changes that come too late."""

import pytest

from muster.core.intent_warnings import MOST, IntentWarning, intent_warnings
from muster.core.policy import Policy
from muster.core.reasons import EventReason
from tests.builders import JobBuilder, PodGroupBuilder, a_gang, a_job, a_pod_group

DEFAULTS = Policy()
ZONED = {"topology": [{"key": "zone"}]}
OR_DROPPED = " (if the annotation had this value when the Job was created, see the event PolicyDropped)"


def about(job: JobBuilder, group: PodGroupBuilder | None = None, policy: Policy = DEFAULTS) -> list[IntentWarning]:
    return list(intent_warnings(job.view(), group.read() if group else None, policy))


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
def test_a_correct_annotation_gives_no_warning(job: JobBuilder) -> None:
    assert about(job) == []


def test_all_mistakes_are_one_event_and_one_warning_each() -> None:
    (warning,) = about(a_gang().asking("policy: {gang: {minCount: 0}}\nqueue: fast"))
    assert warning.event is EventReason.INTENT_IGNORED
    ignored = "muster.dev/scheduling is ignored, as if it were not there: "
    assert warning.sentence.startswith(ignored)
    assert warning.sentence.count(";") == len(warning.warnings) - 1
    assert any(each == f"{ignored}policy.gang.minCount: 0 must be at least 1" for each in warning.warnings)


def test_of_many_mistakes_only_the_first_are_reported() -> None:
    (warning,) = about(a_gang().asking("\n".join(f"k{n}: 1" for n in range(300))))
    assert len(warning.warnings) == MOST + 1
    assert warning.warnings[-1].endswith(f"and {300 - MOST} more")


def test_a_group_that_exists_does_not_change_the_warnings() -> None:
    job = a_gang().asking("policy: {gang: {minCount: 9}}")
    assert about(job) == about(job, a_group())


@pytest.mark.parametrize(
    ("job", "sentence"),
    [
        (a_gang().with_pods(schedulingGroup={"podGroupName": "mine"}), "the pod template already names"),
        (a_gang().having(managedBy="example.com/another"), "spec.managedBy gives the Job to another controller"),
    ],
)
def test_muster_warns_about_an_intent_that_another_field_overrules(job: JobBuilder, sentence: str) -> None:
    assert about(job) == []
    (warning,) = about(job.asking("policy: {gang: {}}"))
    assert warning.event is EventReason.INTENT_IGNORED
    assert sentence in warning.sentence


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
        pytest.param(
            "none", a_group(), ["the pods stay in that group, although the Job now requests 'none'"], id="none"
        ),
        pytest.param(None, a_group(), [], id="never asked"),
        pytest.param(None, a_group().basic(), [], id="a Basic group of another setting"),
        pytest.param(None, a_group(schedulingConstraints=ZONED), ["its topology is zone, not none"], id="taken away"),
    ],
)
def test_muster_warns_about_a_change_after_the_group_was_created(
    intent: str | None, group: PodGroupBuilder, changes: list[str]
) -> None:
    job = a_gang().asking(intent) if intent is not None else a_gang()
    found = about(job, group)
    assert [part for each in found for part in each.parts] == changes
    if found:
        assert found[0].event is EventReason.INTENT_WITHOUT_EFFECT
        assert "has no effect on PodGroup train-group, which already exists: " in found[0].sentence


def test_a_gang_that_muster_resized_is_no_change_by_the_user() -> None:
    job = a_gang().asking("policy: {gang: {}}").with_status(succeeded=1)
    assert about(job, a_group().gang(3)) == []


def test_the_warning_names_the_setting_that_a_job_out_of_scope_needs() -> None:
    (warning,) = about(a_job().having(parallelism=4).asking("policy: {gang: {}}"))
    assert "`scope: all-jobs`" in warning.sentence
