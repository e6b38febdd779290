"""Parsing at the border: whatever arrives, it is a view or it is Unreadable with the field's name. Nothing else."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muster.admission.review import NotAReview, Review
from muster.api.job import GROUP_TEMPLATE_ANNOTATION, MAX_INTENT, SCHEDULING_ANNOTATION, JobView
from muster.api.keys import JobKey, JobRef, Uid
from muster.api.meta import OwnerReference
from muster.api.pod import PodView
from muster.api.profile import NATIVE
from muster.api.wire import MAX_NAME, STANDS_IN, Unreadable
from muster.core.decide import decide
from muster.core.observed import NO_PODS, Observed
from muster.core.policy import Rules
from tests.builders import PodBuilder, a_gang, a_job, a_pod, a_pod_group, a_workload

FEWER = settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow], deadline=None)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
)


def shaped(*fields: str, inside: st.SearchStrategy[Any] = anything) -> st.SearchStrategy[dict[str, Any]]:
    """An object with fields of the right names and of any value."""
    return st.fixed_dictionaries({}, optional=dict.fromkeys(fields, inside | anything))


owners = st.lists(shaped("apiVersion", "kind", "name", "uid", "controller") | anything, max_size=3)
annotations = shaped(SCHEDULING_ANNOTATION, GROUP_TEMPLATE_ANNOTATION, inside=st.text(max_size=20)) | anything
metadata = st.fixed_dictionaries(
    {},
    optional={
        "name": anything,
        "namespace": anything,
        "uid": anything,
        "ownerReferences": owners,
        "annotations": annotations,
    },
)
pod_spec = shaped("schedulingGroup", "schedulerName", "nodeName", "priorityClassName", inside=shaped("podGroupName"))
job_spec = st.fixed_dictionaries(
    {},
    optional={
        "parallelism": anything,
        "completions": anything,
        "completionMode": anything,
        "suspend": anything,
        "template": st.fixed_dictionaries({}, optional={"spec": pod_spec | anything}) | anything,
    },
)
status = st.fixed_dictionaries({}, optional={"conditions": st.lists(shaped("type", "status") | anything, max_size=3)})
raw_jobs = anything | st.fixed_dictionaries(
    {}, optional={"metadata": metadata | anything, "spec": job_spec | anything, "status": status | anything}
)
raw_pods = anything | st.fixed_dictionaries(
    {}, optional={"metadata": metadata | anything, "spec": pod_spec | anything, "status": anything}
)


@FEWER
@given(raw_jobs)
def test_any_json_as_a_job_is_decided_on_or_unreadable(raw: object) -> None:
    try:
        job = JobView.parse(raw)
    except Unreadable:
        return
    decide(Observed(job, pods=NO_PODS), Rules(NATIVE))


@FEWER
@given(raw_pods)
def test_any_json_as_a_pod_is_a_view_or_unreadable(raw: object) -> None:
    try:
        pod = PodView.parse(raw)
    except Unreadable:
        return
    assert pod.job is None or pod.controller is not None


@FEWER
@given(anything | shaped("metadata", "spec", "status"))
def test_any_json_as_a_workload_or_pod_group_is_read_or_unreadable(raw: object) -> None:
    for read in (NATIVE.read_workload, NATIVE.read_pod_group):
        with contextlib.suppress(Unreadable):
            read(raw)


def test_the_error_of_an_unreadable_object_names_the_field_and_not_the_value() -> None:
    raw = a_workload().build()
    raw["spec"]["podGroupTemplates"][0]["schedulingPolicy"] = "gotcha\n" * 100
    with pytest.raises(Unreadable) as raised:
        NATIVE.read_workload(raw)
    assert "Workload spec.podGroupTemplates.0.schedulingPolicy" in str(raised.value)
    assert "gotcha" not in str(raised.value)


@FEWER
@given(anything | st.fixed_dictionaries({"request": shaped("uid", "operation", "namespace", "object", "dryRun")}))
def test_any_json_as_a_review_is_read_or_unreadable(raw: object) -> None:
    try:
        review = Review.parse(json.dumps(raw).encode())
    except NotAReview:
        return
    assert review.uid


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"parallelism": "4"}, "parallelism is not an integer"),
        ({"parallelism": True}, "parallelism is not an integer"),
        ({"parallelism": 4.0}, "parallelism is not an integer"),
        ({"suspend": "true"}, "suspend is not a boolean"),
        ({"template": []}, "template is not an object"),
    ],
)
def test_a_value_of_the_wrong_type_is_named(change: dict[str, Any], says: str) -> None:
    with pytest.raises(Unreadable, match=says):
        a_job().having(**change).view()


def test_a_condition_that_is_no_object_is_named_with_its_index() -> None:
    with pytest.raises(Unreadable, match=r"conditions\[1\] is not an object"):
        a_job().with_status(conditions=[{}, "Complete"]).view()


def test_null_means_not_set() -> None:
    view = JobView.parse({"metadata": None, "spec": {"parallelism": None, "template": None}, "status": None})
    assert (view.parallelism, view.completions, view.scheduling_group) == (None, None, None)
    assert view.scheduler_name == "default-scheduler"


def test_ended_pods_are_counted_together() -> None:
    assert a_gang().with_status(succeeded=2, failed=1).view().counted_pods == 3


def test_a_job_equals_itself_at_another_revision() -> None:
    assert a_gang().version(1).view() == a_gang().version(2).view()
    assert a_gang().view() != a_gang().suspended().view()


@pytest.mark.parametrize(
    ("pod", "job"),
    [
        pytest.param(
            a_pod().of(a_gang("train").uid("u")), JobRef(JobKey("default", "train"), Uid("u")), id="a Job's pod"
        ),
        pytest.param(a_pod(), None, id="nobody's pod"),
        pytest.param(
            a_pod().labelled(**{"batch.kubernetes.io/controller-uid": "u"}), None, id="a label is no proof"
        ),
        pytest.param(a_pod().owned_by("apps/v1", "ReplicaSet", "web", "u"), None, id="a ReplicaSet's pod"),
        pytest.param(a_pod().owned_by("other.dev/v1", "Job", "train", "u"), None, id="another kind of Job"),
        pytest.param(
            a_pod().owned_by("batch/v1", "Job", "train", "u", controller=False), None, id="not the controller"
        ),
    ],
)  # fmt: skip
def test_the_controller_reference_gives_the_job_of_a_pod(pod: PodBuilder, job: JobRef | None) -> None:
    assert pod.view().job == job


@pytest.mark.parametrize(
    ("phase", "live"),
    [("Pending", True), ("Running", True), ("Unknown", True), ("Succeeded", False), ("Failed", False)],
)
def test_the_phase_shows_whether_a_pod_lives(phase: str, live: bool) -> None:
    assert a_pod().phase(phase).view().live is live


def test_the_api_version_gives_the_api_group_of_an_owner() -> None:
    def group(api_version: str) -> str:
        return OwnerReference(api_version=api_version, kind="Pod", name="p", uid=Uid("u")).group

    assert group("batch/v1") == "batch"
    assert group("v1") == ""


def test_fields_that_the_server_adds_are_never_written_back() -> None:
    """Unknown fields of a newer server are no error, and defaults of ours are not sent."""
    raw = a_workload().build()
    raw["spec"]["somethingNew"] = {"a": 1}
    raw["metadata"]["managedFields"] = [{}]
    assert "somethingNew" not in NATIVE.manifest(NATIVE.read_workload(raw))["spec"]
    assert "priority" not in NATIVE.manifest(a_pod_group().read())["spec"]


def test_the_scheduler_s_verdict_on_a_group() -> None:
    raw = a_pod_group().build()
    assert NATIVE.read_pod_group(raw).scheduled is None
    raw["status"] = {
        "conditions": [{"type": "Other", "status": "True"}, {"type": "PodGroupScheduled", "status": "False"}]
    }
    scheduled = NATIVE.read_pod_group(raw).scheduled
    assert scheduled is not None
    assert scheduled.status == "False"


def test_a_view_keeps_only_the_part_of_an_annotation_that_muster_reads() -> None:
    endless = "x" * 200_000
    job = a_gang().asking(endless).annotated(**{GROUP_TEMPLATE_ANNOTATION: endless}).view()
    assert len(job.intent or "") == MAX_INTENT + 1
    assert len(job.group_template) <= MAX_NAME
    assert STANDS_IN in job.group_template
    assert a_gang().view().intent is None
