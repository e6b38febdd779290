"""The building blocks: embedded in anybody's API they have the same fields, rules and spellings everywhere."""

import pytest
from pydantic import BaseModel, ValidationError

import muster.workloadbuilder as library
from muster.api import blocks
from muster.api.blocks import CompositePodGroupScheduling, PodGroupScheduling, TopologyConstraint
from muster.crds.schema import structural
from tests.unit.workloadbuilder.drawing import ZONE, leaf

LEAVES = [name for name in library.__all__ if name.startswith("WorkloadPodGroup")]
COMPOSITES = [name for name in library.__all__ if name.startswith("WorkloadCompositePodGroup")]


class RayJobSpec(BaseModel):
    """A stranger's API."""

    workers: int
    scheduling: PodGroupScheduling | None = None
    overall: CompositePodGroupScheduling | None = None


def test_a_controller_of_others_can_embed_the_blocks() -> None:
    spec = RayJobSpec.model_validate(
        {
            "workers": 3,
            "scheduling": {"policy": {"gang": {"minCount": 3}}, "constraints": {"topology": [{"level": ZONE}]}},
            "overall": {"schedulingPolicy": {"gang": {"minGroupCount": 2}}},
        }
    )
    assert spec.scheduling == leaf(
        schedulingPolicy={"gang": {"minCount": 3}}, schedulingConstraints={"topology": [{"key": ZONE}]}
    )
    assert spec.model_dump(by_alias=True, exclude_none=True)["overall"] == {
        "schedulingPolicy": {"gang": {"minGroupCount": 2}}
    }


def test_a_crd_can_be_generated_from_them_with_the_rules_of_the_api_server() -> None:
    spec = structural(RayJobSpec)["properties"]
    fields = spec["scheduling"]["properties"]
    assert list(fields) == ["schedulingPolicy", "schedulingConstraints", "disruptionMode", "resourceClaims"]
    policy = fields["schedulingPolicy"]
    assert policy["x-kubernetes-validations"][0]["message"] == "must specify exactly one of: basic, gang"
    assert policy["properties"]["gang"]["properties"]["minCount"]["minimum"] == 1
    assert fields["schedulingConstraints"]["properties"]["topology"]["maxItems"] == 1
    assert fields["resourceClaims"]["maxItems"] == 4
    over = spec["overall"]["properties"]
    assert list(over) == ["schedulingPolicy", "schedulingConstraints", "disruptionMode"]
    assert over["schedulingPolicy"]["properties"]["gang"]["properties"]["minGroupCount"]["minimum"] == 1


def test_every_leaf_block_has_its_like_over_groups_except_claims() -> None:
    like = {name.replace("WorkloadPodGroup", "WorkloadCompositePodGroup") for name in LEAVES}
    assert like - set(COMPOSITES) == {"WorkloadCompositePodGroupResourceClaim"}
    assert set(COMPOSITES) <= like


def test_the_topology_constraint_is_shared_and_the_rest_is_typed_by_level() -> None:
    for constraints in (
        blocks.WorkloadPodGroupSchedulingConstraints,
        blocks.WorkloadCompositePodGroupSchedulingConstraints,
    ):
        assert constraints.model_fields["topology"].annotation == tuple[TopologyConstraint, ...]
    leaf_types = {field.annotation for field in PodGroupScheduling.model_fields.values()}
    assert leaf_types.isdisjoint(field.annotation for field in CompositePodGroupScheduling.model_fields.values())


@pytest.mark.parametrize("name", [*LEAVES, *COMPOSITES, "TopologyConstraint"])
def test_an_option_that_is_not_known_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        getattr(library, name).model_validate({"later": {}, "name": "a", "key": "a"})
