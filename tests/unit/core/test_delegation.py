"""Jobs whose controller describes them in a Workload of its own (KEP-6089)."""

import pytest

from muster.core.actions import CreatePodGroup
from muster.core.decide import decide
from muster.core.decision import Membership
from muster.core.eligibility import skip_reason
from muster.core.intent_warnings import intent_warnings
from muster.core.observed import Observed
from muster.core.policy import Policy
from muster.core.reasons import Reason
from tests.builders import JobBuilder, WorkloadBuilder, a_gang, a_job, a_pod_group, a_workload
from tests.unit.core.seeing import RULES, members_of, saw

TEMPLATE = "scheduling.k8s.io/group-template-name"
PARENT = "scheduling.k8s.io/parent-composite-podgroup"
TEMPLATES = (
    {"name": "driver", "schedulingPolicy": {"basic": {}}},
    {"name": "workers", "schedulingPolicy": {"gang": {"minCount": 3}}, "priorityClassName": "urgent"},
)


def child(name: str = "set-0", template: str = "workers") -> JobBuilder:
    made = a_gang(name).owned_by("jobset.x-k8s.io/v1alpha2", "JobSet", "set", "set-uid")
    return made.annotated(**{TEMPLATE: template})


def the_sets(name: str = "set-workload") -> WorkloadBuilder:
    return a_workload(name).templates(*TEMPLATES).referring_to("jobset.x-k8s.io", "JobSet", "set")


def created(seen: Observed) -> CreatePodGroup:
    action = decide(seen, RULES).action
    assert isinstance(action, CreatePodGroup)
    return action


def test_a_delegated_job_gets_a_pod_group_from_the_template_that_it_names_and_no_workload() -> None:
    group = created(saw(child(), workloads=[the_sets()])).pod_group
    assert group.workload_name == "set-workload"
    assert group.gang is not None
    assert (group.gang.min_count, group.spec.priority_class_name) == (3, "urgent")
    assert [owner.kind for owner in group.metadata.owner_references] == ["Job"]


def test_two_jobs_of_one_template_have_two_groups() -> None:
    names = {created(saw(child(name), workloads=[the_sets()])).name for name in ("set-0", "set-1")}
    assert len(names) == 2


def test_a_job_does_not_use_the_group_of_a_sibling() -> None:
    sibling = child("set-1")
    theirs = a_pod_group("theirs").ours().naming_workload("set-workload").controlled_by(sibling)
    decision = decide(saw(child(), workloads=[the_sets()], groups=[theirs]), RULES)
    assert decision.reason is Reason.POD_GROUP_MISSING
    mine = a_pod_group("mine").ours().naming_workload("set-workload").controlled_by(child())
    assert decide(saw(child(), workloads=[the_sets()], groups=[theirs, mine]), RULES).group == "mine"


@pytest.mark.parametrize(
    ("job", "workloads", "reason"),
    [
        pytest.param(child(), [], Reason.PARENT_UNDESCRIBED, id="no Workload of the controller"),
        pytest.param(child(template="nobody"), [the_sets()], Reason.PARENT_UNDESCRIBED, id="no such template"),
        pytest.param(child(), [the_sets("a"), the_sets("b")], Reason.AMBIGUOUS_WORKLOADS, id="two Workloads"),
        pytest.param(
            child(),
            [a_workload("other").templates(*TEMPLATES).referring_to("jobset.x-k8s.io", "JobSet", "another")],
            Reason.PARENT_UNDESCRIBED,
            id="the Workload of another controller",
        ),
    ],
)
def test_with_an_unclear_template_the_pods_are_plain_and_the_reason_has_an_event(
    job: JobBuilder, workloads: list[WorkloadBuilder], reason: Reason
) -> None:
    decision = decide(saw(job, workloads=workloads), RULES)
    assert (decision.reason, decision.membership) == (reason, Membership.PLAIN)
    assert reason.event is not None


def test_muster_creates_a_group_again_that_was_deleted_under_its_pods() -> None:
    name = created(saw(child(), workloads=[the_sets()])).name
    assert created(saw(child(), workloads=[the_sets()], pods=members_of(name))).name == name
    assert decide(saw(child(), pods=members_of(name)), RULES).reason is Reason.GROUP_LOST


@pytest.mark.parametrize(
    ("job", "why"),
    [
        pytest.param(child(), None, id="delegated"),
        pytest.param(child().asking("none"), Reason.OPTED_OUT, id="opted out"),
        pytest.param(child().annotated(**{PARENT: "all"}), Reason.OWNED_BY_CONTROLLER, id="a group of groups"),
        pytest.param(a_gang().annotated(**{TEMPLATE: "workers"}), None, id="without a controller it means nothing"),
        pytest.param(a_job().annotated(**{TEMPLATE: "workers"}), Reason.NOT_INDEXED, id="nor on any other Job"),
        pytest.param(
            child().having(completionMode="NonIndexed"),
            Reason.OWNED_BY_CONTROLLER,
            id="out of scope: left to the owner",
        ),
    ],
)
def test_which_jobs_are_delegated(job: JobBuilder, why: Reason | None) -> None:
    assert skip_reason(job.view(), Policy()) is why


@pytest.mark.parametrize(
    ("job", "warnings"),
    [
        (child(), []),
        (
            child().annotated(**{PARENT: "all"}),
            [
                (
                    f"{TEMPLATE} is ignored, as if it were not there: "
                    f'{PARENT}: "all" is not supported: v1alpha2 has no groups of groups'
                )
            ],
        ),
        (
            child().asking("policy: {gang: {}}"),
            [
                (
                    "muster.dev/scheduling is ignored, as if it were not there: "
                    f'{TEMPLATE}: "workers" already determines the group of the pods'
                )
            ],
        ),
    ],
)
def test_muster_warns_about_intents_of_delegated_jobs(job: JobBuilder, warnings: list[str]) -> None:
    assert [each.sentence for each in intent_warnings(job.view(), None, Policy())] == warnings
