"""Which Jobs become gangs. Rows J36-… are those of the in-tree controller's own tests."""

import pytest

from muster.core.eligibility import preset_group, skip_reason
from muster.core.policy import Policy
from muster.core.reasons import Reason
from tests.builders import JobBuilder, a_gang, a_job

POLICY = Policy()


@pytest.mark.parametrize(
    ("job", "why"),
    [
        pytest.param(a_job().indexed(4), None, id="J36-01 eligible: Indexed 4/4"),
        pytest.param(a_job().indexed(2), None, id="J36-02 minimum parallelism: Indexed 2/2"),
        pytest.param(a_gang().having(parallelism=None), Reason.NOT_PARALLEL, id="J36-03 parallelism is not set"),
        pytest.param(a_job().indexed(1), Reason.NOT_PARALLEL, id="J36-04 parallelism 1"),
        pytest.param(a_job().indexed(0), Reason.NOT_PARALLEL, id="J36-05 parallelism 0"),
        pytest.param(a_gang().having(completionMode="NonIndexed"), Reason.NOT_INDEXED, id="J36-06 not Indexed: 4/4"),
        pytest.param(a_gang().having(completions=None), Reason.COMPLETIONS_DIFFER, id="J36-07 completions not set"),
        pytest.param(a_gang().having(completions=8), Reason.COMPLETIONS_DIFFER, id="J36-08 completions 8 of 4"),
        pytest.param(
            a_gang().with_pods(schedulingGroup={"podGroupName": "mine"}),
            Reason.GROUP_PRESET,
            id="J36-09 the template presets a group",
        ),
        pytest.param(a_gang(), None, id="J36-10 eligible; J36-11 has no webhook here"),
        pytest.param(a_gang().having(parallelism=None), Reason.NOT_PARALLEL, id="J36-12 parallelism is not set"),
        pytest.param(a_job().indexed(1), Reason.NOT_PARALLEL, id="J36-13 parallelism 1"),
        pytest.param(a_gang().having(completionMode="NonIndexed"), Reason.NOT_INDEXED, id="J36-14 NonIndexed"),
        pytest.param(a_gang().having(completions=None), Reason.COMPLETIONS_DIFFER, id="J36-15 completions not set"),
        pytest.param(a_gang().having(completions=8), Reason.COMPLETIONS_DIFFER, id="J36-16 completions 8 of 4"),
        pytest.param(
            a_gang().with_pods(schedulingGroup={"podGroupName": "mine"}), Reason.GROUP_PRESET, id="J36-17 opt-out"
        ),
        pytest.param(a_gang().having(completionMode=None), Reason.NOT_INDEXED, id="J36-18 completionMode is not set"),
    ],
)
def test_the_rows_of_the_in_tree_controller(job: JobBuilder, why: Reason | None) -> None:
    assert skip_reason(job.view(), POLICY) is why


@pytest.mark.parametrize(
    ("job", "why"),
    [
        pytest.param(
            a_gang().having(managedBy="kueue.x-k8s.io/multikueue"),
            Reason.MANAGED_ELSEWHERE,
            id="a Job that another controller manages is left to it",
        ),
        pytest.param(
            a_gang().having(managedBy="kubernetes.io/job-controller"), None, id="the built-in controller by its name"
        ),
        pytest.param(
            a_gang().owned_by("batch/v1", "CronJob", "nightly", "cron-uid"), None, id="a CronJob's Job becomes a gang"
        ),
        pytest.param(
            a_gang().owned_by("other.dev/v1", "CronJob", "nightly", "cron-uid"),
            Reason.OWNED_BY_CONTROLLER,
            id="somebody else's kind of CronJob is another controller",
        ),
        pytest.param(
            a_gang().owned_by("jobset.x-k8s.io/v1alpha2", "JobSet", "set", "set-uid"),
            Reason.OWNED_BY_CONTROLLER,
            id="a JobSet groups its pods itself",
        ),
        pytest.param(
            a_gang().owned_by("jobset.x-k8s.io/v1alpha2", "JobSet", "set", "set-uid", controller=False),
            None,
            id="an owner that does not control the Job does not count",
        ),
        pytest.param(a_gang().finished("Complete"), Reason.JOB_FINISHED, id="a complete Job"),
        pytest.param(a_gang().finished("Failed"), Reason.JOB_FINISHED, id="a failed Job"),
        pytest.param(
            a_gang().with_status(conditions=[{"type": "Complete", "status": "False"}]), None, id="not complete yet"
        ),
        pytest.param(
            a_gang().with_status(conditions=[{"type": "Suspended", "status": "True"}]), None, id="suspended before"
        ),
        pytest.param(
            a_gang().with_pods(schedulingGroup={}), Reason.GROUP_PRESET, id="an empty preset group is a preset group"
        ),
        pytest.param(a_gang().with_pods(schedulingGroup=None), None, id="a null group is none"),
        pytest.param(
            a_gang().with_pods(nodeName="node-1"),
            Reason.NODE_NAME_PRESET,
            id="pods that name their node",
        ),
        pytest.param(
            a_gang().with_pods(schedulerName="volcano"), Reason.OTHER_SCHEDULER, id="a scheduler that knows no gangs"
        ),
        pytest.param(a_gang().with_pods(schedulerName="default-scheduler"), None, id="the default scheduler by name"),
        pytest.param(a_gang().in_namespace("kube-system"), Reason.NAMESPACE_EXCLUDED, id="kube-system"),
        pytest.param(a_gang().in_namespace("muster-system"), Reason.NAMESPACE_EXCLUDED, id="Muster's own namespace"),
        pytest.param(a_gang().in_namespace("kube-systems"), None, id="a namespace that is only named alike"),
        pytest.param(a_gang().having(parallelism=-3), Reason.NOT_PARALLEL, id="a negative number is not parallel"),
    ],
)
def test_other_reasons_keep_a_job_from_becoming_a_gang(job: JobBuilder, why: Reason | None) -> None:
    assert skip_reason(job.view(), POLICY) is why


def test_the_operator_names_the_schedulers_and_the_namespaces() -> None:
    policy = Policy(excluded_namespaces=frozenset({"quiet"}), scheduler_names=frozenset({"volcano"}))
    assert skip_reason(a_gang().with_pods(schedulerName="volcano").view(), policy) is None
    assert skip_reason(a_gang().view(), policy) is Reason.OTHER_SCHEDULER
    assert skip_reason(a_gang().in_namespace("quiet").view(), policy) is Reason.NAMESPACE_EXCLUDED


def test_only_a_job_that_could_be_a_gang_gets_an_event() -> None:
    """A Job that never could be a gang gets no event; one that could be, and that Muster skips, does."""
    silent = {Reason.NOT_PARALLEL, Reason.NOT_INDEXED, Reason.COMPLETIONS_DIFFER, Reason.JOB_FINISHED}
    assert not any(reason.event for reason in silent)
    assert Reason.NODE_NAME_PRESET.event
    assert Reason.OTHER_SCHEDULER.event


BY_ANNOTATION = Policy(groups_by_annotation=True)


@pytest.mark.parametrize(
    ("job", "group", "why"),
    [
        pytest.param(a_gang(), None, None, id="no group"),
        pytest.param(a_gang().naming_group("mine"), "mine", Reason.GROUP_PRESET, id="by annotation"),
        pytest.param(
            a_gang().with_pods(schedulingGroup={"podGroupName": "theirs"}),
            "theirs",
            Reason.GROUP_PRESET,
            id="by the field, on a server that keeps it",
        ),
        pytest.param(
            a_gang().naming_group("mine").with_pods(schedulingGroup={"podGroupName": "theirs"}),
            "mine",
            Reason.GROUP_PRESET,
            id="by both: the annotation counts",
        ),
        pytest.param(
            a_gang().naming_group(""),
            "",
            Reason.GROUP_PRESET,
            id="an empty annotation opts out: the webhook is not asked for such pods",
        ),
    ],
)
def test_on_crd_profiles_an_annotation_names_the_group(job: JobBuilder, group: str | None, why: Reason | None) -> None:
    assert preset_group(job.view(), BY_ANNOTATION) == group
    assert skip_reason(job.view(), BY_ANNOTATION) is why


def test_on_the_built_in_api_the_annotation_is_ignored() -> None:
    job = a_gang().naming_group("mine").view()
    assert preset_group(job, POLICY) is None
    assert skip_reason(job, POLICY) is None
