"""What a server did not keep, found by comparing what was sent with its answer."""

import pytest

from muster.core.dropped_fields import dropped_policy
from tests.builders import Object, PodGroupBuilder, a_pod_group, a_workload

EVERYTHING: Object = {
    "schedulingConstraints": {"topology": [{"key": "rack"}]},
    "resourceClaims": [{"name": "gpu", "resourceClaimName": "gpus"}],
    "disruptionMode": "PodGroup",
    "priorityClassName": "high",
    "priority": 1000,
}


def group(**fields: object) -> PodGroupBuilder:
    built = a_pod_group("g")
    built.spec.update(fields)
    return built


@pytest.mark.parametrize(
    ("field", "gate"),
    [
        ("schedulingConstraints", "TopologyAwareWorkloadScheduling"),
        ("resourceClaims", "DRAWorkloadResourceClaims"),
        ("disruptionMode", "WorkloadAwarePreemption"),
        ("priorityClassName", "WorkloadAwarePreemption"),
        ("priority", "WorkloadAwarePreemption"),
    ],
)
def test_each_field_is_named_with_its_gate(field: str, gate: str) -> None:
    kept = {name: value for name, value in EVERYTHING.items() if name != field}
    sentence = dropped_policy(group(**EVERYTHING).read(), group(**kept).read(), native=True)
    assert sentence == (
        f"The API server did not store these fields of PodGroup g: {field} (feature gate {gate} is off). "
        "The gang is scheduled without them"
    )


def test_several_fields_are_one_sentence() -> None:
    sentence = dropped_policy(group(**EVERYTHING).read(), group().read(), native=True)
    assert all(field in sentence for field in EVERYTHING)


def test_a_default_does_not_hide_a_dropped_field() -> None:
    assert "disruptionMode" in dropped_policy(
        group(disruptionMode="PodGroup").read(), group(disruptionMode="Pod").read(), native=True
    )


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        pytest.param({}, {}, id="nothing was asked for"),
        pytest.param(EVERYTHING, EVERYTHING, id="all is kept"),
        pytest.param({}, {"priorityClassName": "default", "priority": 7, "disruptionMode": "Pod"}, id="more came back"),
    ],
)
def test_no_sentence_when_the_server_keeps_every_field(sent: Object, kept: Object) -> None:
    assert not dropped_policy(group(**sent).read(), group(**kept).read(), native=True)


def test_a_workload_is_compared_by_its_template() -> None:
    bare = {"name": "workers", "schedulingPolicy": {"gang": {"minCount": 4}}}
    sent, kept = a_workload("w").templates({**bare, "priorityClassName": "high"}), a_workload("w").templates(bare)
    assert "priorityClassName" in dropped_policy(sent.read(), kept.read(), native=True)
    assert "of Workload w" in dropped_policy(sent.read(), kept.read(), native=True)
    assert not dropped_policy(sent.read(), sent.read(), native=True)


def test_for_crds_the_sentence_names_the_install_command_and_no_gate() -> None:
    sentence = dropped_policy(group(**EVERYTHING).read(), group().read(), native=False)
    assert "muster crds install" in sentence
    assert "gate" not in sentence
