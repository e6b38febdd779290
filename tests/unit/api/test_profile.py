"""How a pod says which group it is in, per profile: written by the patch, read back by `group_of`."""

import pytest

from muster.api.pod import PodView
from muster.api.profile import CRD_IN_KUBERNETES_GROUP, CRD_IN_OWN_GROUP, NATIVE, ApiProfile
from tests.builders import Builder, Object, PodBuilder, a_job, a_pod, a_pod_group
from tests.fake_cluster import patched

DIALECTS = [
    pytest.param(NATIVE, id="built in"),
    pytest.param(CRD_IN_KUBERNETES_GROUP, id="CRDs in scheduling.k8s.io"),
    pytest.param(CRD_IN_OWN_GROUP, id="CRDs in scheduling.muster.dev"),
]


def with_nulls() -> PodBuilder:
    pod = a_pod()
    pod.metadata.update(annotations=None, labels=None)
    return pod


PODS = [
    pytest.param(a_pod(), id="neither labels nor annotations"),
    pytest.param(a_pod().labelled(app="x"), id="labels"),
    pytest.param(a_pod().annotated(**{"a/b": "c"}), id="annotations"),
    pytest.param(a_pod().labelled(app="x").annotated(**{"a/b": "c"}), id="both"),
    pytest.param(with_nulls(), id="nulls"),
    pytest.param(a_pod().annotated(**{"muster.dev/pod-group": ""}), id="an empty annotation of ours"),
]


def kept(pod: Object, field: str) -> Object:
    found = pod["metadata"].get(field) or {}
    return {key: value for key, value in found.items() if not key.startswith("muster.dev/")}


@pytest.mark.parametrize("pod", PODS)
@pytest.mark.parametrize("profile", DIALECTS)
def test_a_pod_that_joined_is_in_the_group_and_keeps_its_metadata(profile: ApiProfile, pod: Builder) -> None:
    before = pod.build()
    joined = patched(before, profile.join("g-1", before))
    assert profile.group_of(PodView.parse(before)) == ""
    assert profile.group_of(PodView.parse(joined)) == "g-1"
    for field in ("labels", "annotations"):
        assert kept(joined, field) == kept(before, field)
    assert patched(joined, profile.join("g-1", joined)) == joined, "once more changes nothing"


@pytest.mark.parametrize("profile", [CRD_IN_KUBERNETES_GROUP, CRD_IN_OWN_GROUP], ids=lambda profile: profile.group)
def test_members_by_annotation_can_be_selected_by_label(profile: ApiProfile) -> None:
    pod = a_pod().build()
    joined = patched(pod, profile.join("g-1", pod))
    assert joined["metadata"]["labels"] == {"muster.dev/grouped": "true"}
    assert joined["spec"] == pod["spec"], "a stock server would drop the field"


def test_on_the_built_in_api_joining_does_not_change_the_metadata() -> None:
    pod = a_pod().build()
    joined = patched(pod, NATIVE.join("g-1", pod))
    assert joined["metadata"] == pod["metadata"]
    assert joined["spec"]["schedulingGroup"] == {"podGroupName": "g-1"}


def test_a_profile_ignores_the_field_of_the_other_profile() -> None:
    assert NATIVE.group_of(a_pod().naming_group("g").view()) == ""
    assert CRD_IN_OWN_GROUP.group_of(a_pod().in_group("g").view()) == ""


def test_the_three_profiles_differ() -> None:
    assert NATIVE != CRD_IN_KUBERNETES_GROUP
    assert NATIVE.api_version == CRD_IN_KUBERNETES_GROUP.api_version == "scheduling.k8s.io/v1alpha2"
    assert CRD_IN_OWN_GROUP.api_version == "scheduling.muster.dev/v1alpha2"


@pytest.mark.parametrize(
    ("pod", "bound"),
    [
        pytest.param(a_pod(), False, id="no node yet"),
        pytest.param(a_pod().bound("node-1"), True, id="a node"),
        pytest.param(a_pod().bound(""), False, id="an empty name"),
    ],
)
def test_a_pod_is_bound_once_it_names_its_node(pod: PodBuilder, bound: bool) -> None:
    assert pod.view().bound is bound


def test_a_template_can_name_its_group_by_annotation() -> None:
    assert a_job().naming_group("mine").view().annotated_group == "mine"
    assert not a_job().view().annotated_group


@pytest.mark.parametrize("profile", DIALECTS)
def test_a_resized_group_is_the_same_but_for_its_size_and_what_the_server_wrote(profile: ApiProfile) -> None:
    before = a_pod_group("g").ours().naming_workload("w").protected("theirs").priority("high", 7).being_deleted()
    before.annotated(note="b").reporting({"type": "PodGroupScheduled", "status": "True"}).controlled_by(a_job())
    stored = before.build()
    stored["spec"]["schedulingConstraints"] = {"topology": [{"key": "rack"}]}
    resized = profile.resized(stored, 3)
    assert resized["apiVersion"] == profile.api_version
    assert resized["spec"] == {**stored["spec"], "schedulingPolicy": {"gang": {"minCount": 3}}}
    kept = ("name", "namespace", "labels", "annotations", "ownerReferences")
    assert resized["metadata"] == {field: stored["metadata"][field] for field in kept}
    assert "status" not in resized
    assert stored["spec"]["schedulingPolicy"] == {"gang": {"minCount": 4}}, "what was read is not changed"
