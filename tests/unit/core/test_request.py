"""What a Job gets: its own request before the operator's default, and the default if its request is wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.profile import NATIVE
from muster.core.actions import CreatePodGroup, CreateWorkload
from muster.core.decide import decide
from muster.core.decision import Membership
from muster.core.desired import desired_workload
from muster.core.eligibility import skip_reason
from muster.core.gang_size import wanted_size
from muster.core.observed import NO_PODS, Observed, Pods
from muster.core.policy import Policy, Rules
from muster.core.reasons import Reason
from muster.core.request import request_of
from tests.builders import JobBuilder, a_gang, a_job, a_workload
from tests.unit.core.seeing import GROUP_NAME, members_of, our_workload, saw

DEFAULTS = Policy()
OPT_IN = Policy(opt_in=True)
ALL_JOBS = Policy(all_jobs=True)
BASIC_TOO = Policy(all_jobs=True, basic_for_others=True)
CRDS = Policy(groups_by_annotation=True)
GANG, GANG_OF_2, BASIC = "policy: {gang: {}}", "policy: {gang: {minCount: 2}}", "policy: {basic: {}}"
WRONG = "policy: {gang: {minCount: 0}}"


def queue(pods: int = 4) -> JobBuilder:
    """A Job that is not Indexed."""
    return a_job().having(parallelism=pods, completions=8)


def owned(job: JobBuilder) -> JobBuilder:
    return job.owned_by("jobset.x-k8s.io/v1alpha2", "JobSet", "set", "set-uid")


def becomes(job: JobBuilder, policy: Policy) -> str:
    """The policy of the Workload's template, or why there is none."""
    view = job.view()
    if (why := skip_reason(view, policy)) is not None:
        return why.value
    (template,) = desired_workload(view, "w", policy).spec.pod_group_templates
    gang = template.scheduling_policy.gang
    return f"gang of {gang.min_count}" if gang else "basic"


@pytest.mark.parametrize(
    ("job", "policy", "what"),
    [
        pytest.param(a_gang(), DEFAULTS, "gang of 4", id="a Job that qualifies"),
        pytest.param(a_gang(), OPT_IN, "NotAsked", id="opt-in: a Job that does not ask"),
        pytest.param(a_gang().asking(GANG), OPT_IN, "gang of 4", id="opt-in: a Job that asks"),
        pytest.param(a_gang().asking("disruption: {all: {}}"), OPT_IN, "gang of 4", id="opt-in: asking for anything"),
        pytest.param(a_gang().asking("none"), DEFAULTS, "OptedOut", id="a Job that opts out"),
        pytest.param(owned(a_gang()).asking("none"), BASIC_TOO, "OptedOut", id="opting out is more than any default"),
        pytest.param(a_gang().asking(BASIC), DEFAULTS, "basic", id="a Basic group"),
        pytest.param(a_gang().asking(GANG_OF_2), DEFAULTS, "gang of 2", id="a smaller gang"),
        pytest.param(a_gang(pods=1).asking(GANG), DEFAULTS, "gang of 1", id="a gang of one, if it has to be"),
        pytest.param(
            a_gang().having(completions=9).asking(GANG), DEFAULTS, "gang of 4", id="more completions than parallelism"
        ),
        pytest.param(a_gang().having(completions=9), DEFAULTS, "CompletionsDiffer", id="the same without asking"),
        pytest.param(
            a_gang().having(completions=9).asking("disruption: {single: {}}"),
            DEFAULTS,
            "basic",
            id="a block without a policy, on a Job that does not qualify",
        ),
        pytest.param(queue().asking(GANG_OF_2), ALL_JOBS, "gang of 2", id="not Indexed, scope all-jobs"),
        pytest.param(queue().asking(GANG_OF_2), DEFAULTS, "NotIndexed", id="not Indexed, scope indexed-jobs"),
        pytest.param(queue(), ALL_JOBS, "NotIndexed", id="the scope alone gives nobody a group"),
        pytest.param(queue(), BASIC_TOO, "basic", id="basicForOthers"),
        pytest.param(a_job(), BASIC_TOO, "basic", id="basicForOthers: a Job of one pod"),
        pytest.param(a_gang(), BASIC_TOO, "gang of 4", id="basicForOthers: a gang stays one"),
        pytest.param(
            a_gang(), Policy(opt_in=True, all_jobs=True, basic_for_others=True), "basic", id="opt-in and basicForOthers"
        ),
        pytest.param(owned(queue()), BASIC_TOO, "OwnedByController", id="basicForOthers: not what others group"),
        pytest.param(
            queue().with_pods(schedulerName="volcano"), BASIC_TOO, "NotScheduledHere", id="basicForOthers is quiet"
        ),
        pytest.param(
            queue().with_pods(schedulerName="volcano").asking(BASIC), BASIC_TOO, "OtherScheduler", id="asking is not"
        ),
        pytest.param(owned(a_gang()).asking(GANG), DEFAULTS, "gang of 4", id="owned by a controller, and opted in"),
        pytest.param(owned(a_gang()).asking(WRONG), DEFAULTS, "OwnedByController", id="owned, with a wrong request"),
        pytest.param(
            a_gang().having(managedBy="kueue.x-k8s.io/multikueue").asking(GANG),
            DEFAULTS,
            "ManagedElsewhere",
            id="managed elsewhere stays so",
        ),
        pytest.param(
            a_gang().with_pods(schedulingGroup={"podGroupName": "mine"}).asking(GANG),
            DEFAULTS,
            "GroupPreset",
            id="a preset group wins",
        ),
    ],
)
def test_the_job_s_request_wins_over_the_default(job: JobBuilder, policy: Policy, what: str) -> None:
    assert becomes(job, policy) == what


@pytest.mark.parametrize(
    ("job", "policy", "sentence"),
    [
        pytest.param(
            a_gang().asking("policy: {gang: {minCount: 5}}"),
            DEFAULTS,
            "policy.gang.minCount: 5 must not be greater than parallelism (4)",
            id="more than there are pods",
        ),
        pytest.param(
            a_gang().having(parallelism=None).asking("policy: {gang: {minCount: 2}}"),
            DEFAULTS,
            "policy.gang.minCount: 2 must not be greater than parallelism (1)",
            id="parallelism that is not set is 1",
        ),
        pytest.param(
            a_gang().asking("policy: {basic: {}}\ndisruption: {all: {}}"),
            DEFAULTS,
            'disruption: "all" is not supported with the Basic scheduling policy: must be single, or the policy gang',
            id="Basic that is disrupted as a whole",
        ),
        pytest.param(
            queue().asking(GANG_OF_2),
            DEFAULTS,
            "is not supported for a Job that is not Indexed, unless Muster's setting is `scope: all-jobs`",
            id="out of scope",
        ),
        pytest.param(
            a_gang().asking("resourceClaims: [{name: ring, resourceClaimName: x}]"),
            CRDS,
            'resourceClaims: ["ring"] is not supported with Muster\'s CRDs: '
            "no component allocates claims for their PodGroups",
            id="claims with CRDs",
        ),
        pytest.param(
            owned(a_gang()).annotated(**{"scheduling.k8s.io/parent-composite-podgroup": "all"}).asking(GANG),
            DEFAULTS,
            'scheduling.k8s.io/parent-composite-podgroup: "all" is not supported: v1alpha2 has no groups of groups',
            id="a group of groups",
        ),
    ],
)
def test_a_request_that_does_not_fit_is_an_error_and_is_ignored(job: JobBuilder, policy: Policy, sentence: str) -> None:
    request = request_of(job.view(), policy)
    assert [str(error) for error in request.errors] == [sentence]
    assert not request.asked
    job.metadata.pop("annotations")
    assert (request.why, request.config) == (request_of(job.view(), policy).why, request_of(job.view(), policy).config)


def test_the_workload_and_the_pod_group_are_as_the_job_asks() -> None:
    text = """
      policy: {gang: {minCount: 3}}
      constraints: {topology: [{level: rack}]}
      disruption: {all: {}}
      resourceClaims: [{name: ring, resourceClaimTemplateName: a-ring}]
    """
    job = a_gang().with_pods(priorityClassName="urgent").asking(text)
    (template,) = NATIVE.manifest(desired_workload(job.view(), "w"))["spec"]["podGroupTemplates"]
    assert template == {
        "name": "train-pgt-0",
        "schedulingPolicy": {"gang": {"minCount": 3}},
        "schedulingConstraints": {"topology": [{"key": "rack"}]},
        "disruptionMode": "PodGroup",
        "resourceClaims": [{"name": "ring", "resourceClaimTemplateName": "a-ring"}],
        "priorityClassName": "urgent",
    }


@pytest.mark.parametrize(
    ("job", "size"),
    [(a_gang(), 4), (a_gang().asking(GANG_OF_2), 2), (a_gang().asking(BASIC), None), (a_gang().asking("none"), None)],
)
def test_the_wanted_size_follows_the_job(job: JobBuilder, size: int | None) -> None:
    assert wanted_size(job.view(), DEFAULTS) == size


@given(
    pods=st.integers(2, 1000),
    name=st.from_regex(r"[a-z0-9]([-a-z0-9]{0,59}[a-z0-9])?", fullmatch=True),
    priority=st.sampled_from(["", "urgent"]),
)
def test_a_job_that_asks_for_nothing_gets_the_in_tree_workload(pods: int, name: str, priority: str) -> None:
    """Byte for byte what the in-tree controller makes, and Muster made before Jobs could ask."""
    job = a_gang(name, pods).with_pods(priorityClassName=priority)
    by_hand = a_workload("w").ours().describing(job).controlled_by(job).gang(pods).build()
    for field in ("uid", "resourceVersion"):
        by_hand["metadata"].pop(field)
    made = NATIVE.manifest(desired_workload(job.view(), "w"))
    (template,) = by_hand["spec"]["podGroupTemplates"]
    template["name"] = made["spec"]["podGroupTemplates"][0]["name"]
    template |= {"priorityClassName": priority} if priority else {}
    assert made == by_hand


@given(text=st.text(max_size=60), pods=st.none() | st.integers(0, 5), indexed=st.booleans(), all_jobs=st.booleans())
def test_a_job_runs_with_any_request(text: str, pods: int | None, indexed: bool, all_jobs: bool) -> None:
    mode = "Indexed" if indexed else "NonIndexed"
    job = a_job().having(parallelism=pods, completions=pods, completionMode=mode).asking(text).view()
    decision = decide(Observed(job, pods=NO_PODS), Rules(NATIVE, Policy(all_jobs=all_jobs)))
    assert decision.membership is Membership.PLAIN or isinstance(decision.write, CreateWorkload)


@pytest.mark.parametrize(
    ("job", "policy"),
    [
        pytest.param(a_gang("test-job").asking("none"), DEFAULTS, id="it opted out meanwhile"),
        pytest.param(a_gang("test-job"), OPT_IN, id="the operator made it opt-in meanwhile"),
        pytest.param(owned(a_gang("test-job")), DEFAULTS, id="a Job of a controller does not ask any more"),
    ],
)
def test_muster_creates_the_group_of_living_pods_again_even_if_the_job_does_not_qualify_now(
    job: JobBuilder, policy: Policy
) -> None:
    seen = saw(job.uid("test-job-uid"), workloads=[our_workload()], pods=members_of(GROUP_NAME))
    decision = decide(seen, Rules(NATIVE, policy))
    assert isinstance(decision.action, CreatePodGroup)
    assert decision.action.name == GROUP_NAME
    lost = decide(saw(job, pods=members_of(GROUP_NAME)), Rules(NATIVE, policy))
    assert (lost.membership, lost.action) == (Membership.JOIN, None)


def test_a_job_that_ran_before_basic_groups_were_on_gets_no_event() -> None:
    rules = Rules(NATIVE, BASIC_TOO)
    for pods in (Pods(exist=True, live=False), Pods(exist=True, live=True)):
        decision = decide(Observed(queue().view(), pods=pods), rules)
        assert (decision.reason, decision.membership) == (Reason.STARTED_BEFORE, Membership.PLAIN)
        assert decision.reason.event is None
