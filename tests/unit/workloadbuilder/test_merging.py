"""Defaults, users and callbacks: the rows B-14, B-29, B-30, B-32 and B-33."""

from dataclasses import fields, replace
from typing import Any

import pytest

from muster.workloadbuilder import (
    V1BETA1,
    BasicPolicy,
    DisruptionMode,
    GangPolicy,
    InvalidConfiguration,
    PodGroupScheduling,
    ResourceClaim,
    SchedulingConfig,
    SchedulingConstraints,
    WorkloadItem,
    default_min_count,
    merge,
)
from tests.unit.workloadbuilder.drawing import ZONE, builder, gang, leaf, options

BASIC = SchedulingConfig(policy=BasicPolicy())
CLAIM = {"name": "gpus", "resourceClaimTemplateName": "gpu"}


def test_b_14_the_caller_s_objects_are_not_changed() -> None:
    asked = leaf(policy={"gang": {}}, resourceClaims=[CLAIM])
    default = replace(BASIC, priority_class_name="urgent")
    item = WorkloadItem("job", default, asked, (default_min_count(4),))
    before = (asked.model_dump_json(), repr(default), repr(item))
    builder(item).build_workload()
    assert (asked.model_dump_json(), repr(default), repr(item)) == before


FULL = SchedulingConfig(
    policy=GangPolicy(3),
    constraints=SchedulingConstraints((ZONE,)),
    disruption_mode=DisruptionMode.ALL,
    resource_claims=(ResourceClaim("a", "x"),),
    priority_class_name="urgent",
    priority=7,
)


@pytest.mark.parametrize("field", [field.name for field in fields(SchedulingConfig)])
def test_b_29_every_field_is_merged(field: str) -> None:
    """A field that somebody adds is in FULL, or this fails."""
    value = getattr(FULL, field)
    assert value not in (None, ()), "FULL has to have the new field"
    assert merge(None, FULL) == merge(FULL, None) == merge(FULL, SchedulingConfig()) == FULL
    only = SchedulingConfig(**{field: value})
    assert merge(BASIC, only) == replace(BASIC, **{field: value})


def test_b_30_a_builder_keeps_what_it_was_given() -> None:
    root, said = WorkloadItem("job"), options()
    made = builder(root)
    assert (made.root, made.options, made.target) == (root, said, V1BETA1)


def test_b_32_the_workload_is_built_once() -> None:
    calls: list[str] = []

    def counted(item: WorkloadItem, config: SchedulingConfig) -> SchedulingConfig:
        calls.append(item.name)
        return config

    made = builder(WorkloadItem("job", callbacks=[counted]))
    assert made.build_workload() is made.build_workload()
    assert calls == ["job"]


def test_b_33_a_failure_is_not_kept() -> None:
    counts: list[int | None] = [None, 4]
    made = builder(WorkloadItem("job", callbacks=[lambda _item, _config: gang(counts.pop(0))]))
    with pytest.raises(InvalidConfiguration, match="minCount"):
        made.build_workload()
    assert made.build_workload().spec.pod_group_templates[0].scheduling_policy.gang.min_count == 4


def test_a_callback_that_returns_nothing_is_named_in_the_error() -> None:
    def forgot(_item: WorkloadItem, _config: SchedulingConfig) -> Any:
        return None

    with pytest.raises(TypeError, match="callback forgot of 'job' returned None"):
        builder(WorkloadItem("job", callbacks=[forgot])).build_workload()


def test_a_callback_sees_the_item_that_it_is_on() -> None:
    seen: list[PodGroupScheduling | Any] = []

    def look(item: WorkloadItem, config: SchedulingConfig) -> SchedulingConfig:
        seen.append(item.user_config)
        return config

    asked = leaf(policy={"basic": {}})
    builder(WorkloadItem("job", user_config=asked, callbacks=[look])).build_workload()
    assert seen == [asked]
