"""From blocks to the one representation: the rows B-52..B-62."""

import pytest

from muster.workloadbuilder import (
    V1BETA1,
    BasicPolicy,
    DisruptionMode,
    GangPolicy,
    ResourceClaim,
    SchedulingConfig,
    SchedulingConstraints,
    WorkloadItem,
    map_composite_group_config,
    map_pod_group_config,
)
from tests.unit.workloadbuilder.drawing import ZONE, Object, built, composite, gang, leaf

RACK = "topology.kubernetes.io/rack"
LEAVES: dict[str, tuple[Object, SchedulingConfig]] = {
    "B-52 no blocks": ({}, SchedulingConfig()),
    "B-53 empty blocks ask for nothing": (
        {"policy": {}, "constraints": {}, "disruption": {}, "resourceClaims": []},
        SchedulingConfig(),
    ),
    "B-53 a constraint without topology asks for nothing": ({"constraints": {"topology": []}}, SchedulingConfig()),
    "B-54 basic": ({"policy": {"basic": {}}}, SchedulingConfig(BasicPolicy())),
    "B-55 a gang": ({"policy": {"gang": {"minCount": 4}}}, gang(4)),
    "B-56 a gang without minCount stays one": ({"policy": {"gang": {}}}, gang()),
    "B-57 topology": (
        {"constraints": {"topology": [{"level": ZONE}, {"key": RACK}]}},
        SchedulingConfig(constraints=SchedulingConstraints((ZONE, RACK))),
    ),
    "B-58 all": ({"disruption": {"all": {}}}, SchedulingConfig(disruption_mode=DisruptionMode.ALL)),
    "single": ({"disruptionMode": {"single": {}}}, SchedulingConfig(disruption_mode=DisruptionMode.SINGLE)),
    "B-59 claims": (
        {"resourceClaims": [{"name": "a", "resourceClaimName": "x"}, {"name": "b", "resourceClaimTemplateName": "y"}]},
        SchedulingConfig(resource_claims=(ResourceClaim("a", "x"), ResourceClaim("b", None, "y"))),
    ),
    "B-60 all of them": (
        {
            "schedulingPolicy": {"gang": {"minCount": 2}},
            "schedulingConstraints": {"topology": [{"key": ZONE}]},
            "disruptionMode": {"all": {}},
            "resourceClaims": [{"name": "a", "resourceClaimName": "x"}],
        },
        SchedulingConfig(GangPolicy(2), SchedulingConstraints((ZONE,)), DisruptionMode.ALL, (ResourceClaim("a", "x"),)),
    ),
    "the first of a union that has both, as upstream": (
        {"policy": {"basic": {}, "gang": {"minCount": 3}}, "disruption": {"single": {}, "all": {}}},
        SchedulingConfig(BasicPolicy(), disruption_mode=DisruptionMode.SINGLE),
    ),
}


@pytest.mark.parametrize(("blocks", "config"), LEAVES.values(), ids=LEAVES)
def test_the_blocks_of_a_leaf(blocks: Object, config: SchedulingConfig) -> None:
    given = leaf(**blocks)
    mapped = map_pod_group_config(given.policy, given.constraints, given.disruption_mode, given.resource_claims)
    assert mapped == config


COMPOSITES: dict[str, tuple[Object, SchedulingConfig]] = {
    "B-61 no blocks": ({}, SchedulingConfig()),
    "B-61 empty blocks": ({"policy": {}, "constraints": {}, "disruption": {}}, SchedulingConfig()),
    "B-61 basic": ({"policy": {"basic": {}}}, SchedulingConfig(BasicPolicy())),
    "B-61 minGroupCount is the gang's count": ({"policy": {"gang": {"minGroupCount": 3}}}, gang(3)),
    "B-61 a gang without it stays one": ({"policy": {"gang": {}}}, gang()),
    "B-61 topology and all": (
        {"constraints": {"topology": [{"key": ZONE}]}, "disruption": {"all": {}}},
        SchedulingConfig(None, SchedulingConstraints((ZONE,)), DisruptionMode.ALL),
    ),
}


@pytest.mark.parametrize(("blocks", "config"), COMPOSITES.values(), ids=COMPOSITES)
def test_the_blocks_of_a_composite(blocks: Object, config: SchedulingConfig) -> None:
    given = composite(**blocks)
    assert map_composite_group_config(given.policy, given.constraints, given.disruption_mode) == config


def test_b_61_the_blocks_are_not_shared_with_the_configuration() -> None:
    given = composite(policy={"gang": {"minGroupCount": 3}})
    mapped = map_composite_group_config(given.policy)
    assert mapped == gang(3)
    with pytest.raises(AttributeError):
        mapped.policy.min_count = 5  # type: ignore[union-attr, misc]


def test_b_62_from_blocks_to_the_workload() -> None:
    asked, above = leaf(policy={"gang": {"minCount": 4}}), composite(policy={"gang": {"minGroupCount": 1}})
    tree = WorkloadItem(
        "root",
        user_config=map_composite_group_config(above.policy),
        children=[WorkloadItem("workers", user_config=map_pod_group_config(asked.policy))],
    )
    assert built(tree, V1BETA1)["spec"]["compositePodGroupTemplates"] == [
        {
            "name": "root",
            "schedulingPolicy": {"gang": {"minGroupCount": 1}},
            "podGroupTemplates": [{"name": "workers", "schedulingPolicy": {"gang": {"minCount": 4}}}],
        }
    ]


@pytest.mark.parametrize("make", [leaf, composite])
def test_a_policy_is_typed_by_its_level(make: type) -> None:
    wrong = "minGroupCount" if make is leaf else "minCount"
    with pytest.raises(ValueError, match=wrong):
        make(policy={"gang": {wrong: 2}})
