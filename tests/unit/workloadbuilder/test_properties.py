"""What holds for every tree."""

from collections.abc import Iterator
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from muster.api import v1beta1
from muster.api.v1alpha2 import workload
from muster.crds.schema import structural
from muster.workloadbuilder import (
    V1ALPHA2,
    V1BETA1,
    BasicPolicy,
    DisruptionMode,
    GangPolicy,
    InvalidConfiguration,
    PolicyKind,
    ResourceClaim,
    SchedulingConfig,
    SchedulingConstraints,
    WorkloadItem,
    merge,
)
from tests.unit.workloadbuilder.drawing import ZONE, Object, builder

FEWER = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
counts = st.none() | st.integers(-1, 5)
policies = st.none() | st.just(BasicPolicy()) | counts.map(GangPolicy)
claims = st.lists(
    st.builds(ResourceClaim, st.sampled_from("abc"), st.none() | st.just("x"), st.none() | st.just("y")), max_size=5
).map(tuple)
configs = st.builds(
    SchedulingConfig,
    policy=policies,
    constraints=st.none()
    | st.lists(st.sampled_from([ZONE, "", "/"]), max_size=2).map(tuple).map(SchedulingConstraints),
    disruption_mode=st.none() | st.sampled_from(DisruptionMode),
    resource_claims=claims,
    priority_class_name=st.none() | st.sampled_from(["", "urgent", "No_Class"]),
    priority=st.none() | st.integers(-1, 1),
)
good = st.builds(
    SchedulingConfig,
    policy=st.none() | st.just(BasicPolicy()) | st.integers(1, 5).map(GangPolicy),
    constraints=st.none() | st.just(SchedulingConstraints((ZONE,))),
)
full = st.builds(
    SchedulingConfig,
    policy=st.integers(1, 2**31 - 1).map(GangPolicy),
    constraints=st.none() | st.just(SchedulingConstraints((ZONE,))),
    disruption_mode=st.none() | st.sampled_from(DisruptionMode),
    resource_claims=st.lists(st.sampled_from("abcd"), unique=True, max_size=4).map(
        lambda names: tuple(ResourceClaim(name, "x") for name in names)
    ),
    priority_class_name=st.none() | st.just("urgent"),
    priority=st.none() | st.integers(-(2**31), 10**9),
)
"""All of it right."""
SHAPES: st.SearchStrategy[Any] = st.recursive(
    st.none(), lambda below: st.lists(below, min_size=1, max_size=4), max_leaves=12
)


@st.composite
def trees(draw: st.DrawFn, of: st.SearchStrategy[SchedulingConfig]) -> WorkloadItem:
    names = (f"n{number}" for number in range(1000))

    def item(shape: Any) -> WorkloadItem:
        return WorkloadItem(
            next(names), draw(st.none() | of), draw(st.none() | of), children=list(map(item, shape or ()))
        )

    return item(draw(SHAPES))


def walk(item: WorkloadItem) -> Iterator[WorkloadItem]:
    yield item
    for child in item.children:
        yield from walk(child)


@given(configs, configs)
def test_merging_again_changes_nothing(default: SchedulingConfig, user: SchedulingConfig) -> None:
    merged = merge(default, user)
    assert merge(merged, user) == merge(default, merged) == merged
    assert merge(merged, None) == merge(None, merged) == merged


def outcome(root: WorkloadItem, target: Any) -> object:
    try:
        return target.manifest(builder(root, target).build_workload())
    except InvalidConfiguration as error:
        return error.errors


@FEWER
@given(trees(configs) | trees(good), st.sampled_from([V1ALPHA2, V1BETA1]))
def test_the_same_tree_gives_the_same_answer(root: WorkloadItem, target: Any) -> None:
    assert outcome(root, target) == outcome(root, target)


@FEWER
@given(trees(configs) | trees(good), st.sampled_from([V1ALPHA2, V1BETA1]))
def test_a_tree_is_built_or_refused_with_reasons_and_validate_agrees(root: WorkloadItem, target: Any) -> None:
    made = outcome(root, target)
    errors = builder(root, target).validate()
    if isinstance(made, dict):
        assert errors == ()
    else:
        assert made
        assert set(map(str, errors)) <= set(map(str, made))  # type: ignore[call-overload]


@FEWER
@given(trees(good))
def test_a_flat_build_says_all_that_the_tree_says_or_refuses(root: WorkloadItem) -> None:
    """A composite that asks for anything cannot be flat."""
    made = outcome(root, V1ALPHA2)
    asks = [
        merge(item.default_config, item.user_config)  # type: ignore[arg-type]
        for item in walk(root)
        if item.children
    ]
    loses = any(isinstance(config.policy, GangPolicy) or config.constraints for config in asks)
    leaves = [item.name for item in walk(root) if not item.children]
    if loses or len(leaves) > 8:
        assert not isinstance(made, dict)
    else:
        assert isinstance(made, dict)
        assert [template["name"] for template in made["spec"]["podGroupTemplates"]] == leaves


def breaks(schema: Object, value: Any, path: str = "") -> Iterator[str]:
    """The keywords of the server's schema that our templates can break."""
    match schema["type"]:
        case "object" if "properties" in schema:
            yield from (f"{path}.{name} is missing" for name in schema.get("required", ()) if name not in value)
            yield from (f"{path}.{name} is unknown" for name in value.keys() - schema["properties"].keys())
            for name in value.keys() & schema["properties"].keys():
                yield from breaks(schema["properties"][name], value[name], f"{path}.{name}")
        case "array":
            if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", 10**6):
                yield f"{path} has {len(value)} items"
            for index, item in enumerate(value):
                yield from breaks(schema["items"], item, f"{path}[{index}]")
        case "string" if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", 10**6):
            yield f"{path} is {value!r}"
        case "integer" if not schema.get("minimum", value) <= value <= schema.get("maximum", value):
            yield f"{path} is {value}"


SCHEMA = structural(workload.Workload)


@FEWER
@given(trees(good) | trees(configs) | st.builds(WorkloadItem, st.just("job"), full))
def test_every_workload_of_v1alpha2_fits_the_schema_of_our_crds(root: WorkloadItem) -> None:
    made = outcome(root, V1ALPHA2)
    if not isinstance(made, dict):
        return
    assert list(breaks(SCHEMA["properties"]["spec"], made["spec"])) == []
    assert V1ALPHA2.manifest(workload.Workload.model_validate(made)) == made


@FEWER
@given(trees(good) | trees(configs) | st.builds(WorkloadItem, st.just("job"), full))
def test_every_workload_of_v1beta1_is_one_tree_of_its_models(root: WorkloadItem) -> None:
    made = outcome(root, V1BETA1)
    if not isinstance(made, dict):
        return
    assert V1BETA1.manifest(TypeAdapter(v1beta1.Workload).validate_python(made)) == made
    spec = made["spec"]
    assert ("podGroupTemplates" in spec) != ("compositePodGroupTemplates" in spec)
    ready = builder(root, V1BETA1)
    ready.build_workload()
    groups = ready.new_groups()
    names = {group.metadata.name for group in groups.composite_pod_groups}
    assert len(groups.pod_groups) + len(names) == sum(1 for _ in walk(root))
    parents = [
        group.spec.parent_composite_pod_group_name for group in (*groups.pod_groups, *groups.composite_pod_groups)
    ]
    assert parents.count(None) == 1
    assert set(parents) - {None} <= names


@FEWER
@given(trees(good), st.sampled_from([V1ALPHA2, V1BETA1]))
def test_a_policy_that_is_not_allowed_is_never_built(root: WorkloadItem, target: Any) -> None:
    kinds = {
        (merge(item.default_config, item.user_config).policy or BasicPolicy()).kind  # type: ignore[arg-type]
        for item in walk(root)
    }
    for allowed in PolicyKind:
        if kinds - {allowed}:
            assert builder(root, target, allowed_policies=[allowed]).validate() != ()
