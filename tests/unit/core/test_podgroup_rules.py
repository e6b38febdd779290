"""What Muster does to PodGroups of its CRDs. Rows A36-… are those of the built-in plugins' own tests."""

import pytest

from muster.api.v1alpha2.podgroup import SCHEDULED
from muster.core.podgroup_rules import (
    Completed,
    MarkScheduled,
    PriorityClass,
    Refused,
    RemoveFinalizer,
    check_template,
    protection_step,
    resolve_priority,
)
from tests.builders import Object, PodBuilder, PodGroupBuilder, WorkloadBuilder, a_pod, a_pod_group, a_workload


def without_workload_ref() -> PodGroupBuilder:
    group = a_pod_group()
    group.spec["podGroupTemplateRef"] = {}
    return group


@pytest.mark.parametrize(
    ("group", "workload"),
    [
        pytest.param(a_pod_group(), None, id="A36-21 no templateRef"),
        pytest.param(without_workload_ref(), None, id="A36-22 a templateRef without a workload"),
        pytest.param(a_pod_group().naming_workload("w"), a_workload("w"), id="A36-23 Workload and template are there"),
        pytest.param(
            a_pod_group().naming_workload("w", "second"),
            a_workload("w").templates(
                {"name": "first", "schedulingPolicy": {"basic": {}}},
                {"name": "second", "schedulingPolicy": {"basic": {}}},
            ),
            id="A36-23 it is not the first template",
        ),
        pytest.param(
            a_pod_group().gang(9).naming_workload("w"), a_workload("w").gang(4), id="another policy is not looked at"
        ),
    ],
)
def test_a_pod_group_of_a_usable_template_is_accepted(group: PodGroupBuilder, workload: WorkloadBuilder | None) -> None:
    assert check_template(group.read(), workload.read() if workload else None) is None


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        pytest.param(None, 'PodGroup rejected: Workload "w" not found', id="A36-24 the Workload is missing"),
        pytest.param(
            a_workload("w").being_deleted(),
            'PodGroup rejected: Workload "w" is being deleted',
            id="A36-25 the Workload is being deleted",
        ),
        pytest.param(
            a_workload("w").templates({"name": "other", "schedulingPolicy": {"basic": {}}}),
            'PodGroup rejected: PodGroupTemplate "workers" not found in Workload "w"',
            id="A36-26 the template has another name",
        ),
    ],
)
def test_a_pod_group_of_an_unusable_template_is_refused(workload: WorkloadBuilder | None, message: str) -> None:
    group = a_pod_group().naming_workload("w").read()
    assert check_template(group, workload.read() if workload else None) == Refused(message)


HIGH, LOW = PriorityClass("high", 1000), PriorityClass("low", -5)
USUAL, OTHER_USUAL = PriorityClass("usual", 7, is_default=True), PriorityClass("other", 3, is_default=True)


@pytest.mark.parametrize(
    ("group", "classes", "outcome"),
    [
        pytest.param(a_pod_group(), [HIGH, USUAL], Completed("usual", 7), id="A36-37 the default class"),
        pytest.param(a_pod_group().priority("high"), [HIGH, USUAL], Completed("high", 1000), id="A36-38 a class"),
        pytest.param(a_pod_group().priority("low"), [LOW], Completed("low", -5), id="A36-38 a negative value"),
        pytest.param(
            a_pod_group().priority("none"),
            [HIGH, USUAL],
            Refused("no PriorityClass with name none was found"),
            id="A36-39 an unknown class",
        ),
        pytest.param(a_pod_group(), [HIGH], Completed("", 0), id="A36-41 no class and no default"),
        pytest.param(a_pod_group().priority(""), [HIGH], Completed("", 0), id="A36-41 an empty class is none"),
        pytest.param(a_pod_group().priority("high", 1000), [HIGH], Completed("high", 1000), id="A36-42 it matches"),
        pytest.param(a_pod_group().priority(value=0), [HIGH], Completed("", 0), id="A36-42 it matches without a class"),
        pytest.param(
            a_pod_group().priority("high", 5),
            [HIGH],
            Refused(
                "priority set in the pod group (5) must match the priority computed (1000) based on the priority class "
                "set in the spec"
            ),
            id="A36-43 it differs",
        ),
        pytest.param(a_pod_group(), [USUAL, OTHER_USUAL], Completed("other", 3), id="of two defaults the lowest"),
    ],
)
def test_the_class_gives_the_priority(
    group: PodGroupBuilder, classes: list[PriorityClass], outcome: Completed | Refused
) -> None:
    assert resolve_priority(group.read(), classes) == outcome


def test_a_preset_priority_without_a_class_is_refused_too() -> None:
    assert isinstance(resolve_priority(a_pod_group().priority(value=5).read(), []), Refused)


def pod(name: str, phase: str = "Pending") -> PodBuilder:
    return a_pod(name).naming_group("a-group").phase(phase)


ACTIVE, DONE, FAILED = pod("a", "Running"), pod("d", "Succeeded"), pod("f", "Failed")


def going(protected: bool = True) -> PodGroupBuilder:
    group = a_pod_group().being_deleted()
    return group.protected() if protected else group


@pytest.mark.parametrize(
    ("group", "members", "due"),
    [
        pytest.param(a_pod_group(), [], None, id="A36-45 no finalizer, not deleting"),
        pytest.param(a_pod_group(), [ACTIVE], None, id="A36-45 the same with an active pod"),
        pytest.param(a_pod_group().protected(), [], None, id="A36-46 a finalizer, not deleting"),
        pytest.param(a_pod_group().protected(), [ACTIVE], None, id="A36-46 the same with an active pod"),
        pytest.param(going(), [], RemoveFinalizer(), id="A36-47 and A36-52 deleting, the last pod is gone"),
        pytest.param(going(), [ACTIVE], None, id="A36-48 deleting, an active pod"),
        pytest.param(going(), [DONE, FAILED], RemoveFinalizer(), id="A36-49 only pods that ended"),
        pytest.param(going(), [DONE, ACTIVE, FAILED], None, id="A36-50 some of both"),
        pytest.param(going(protected=False), [], None, id="A36-51 deleting without the finalizer"),
        pytest.param(going(protected=False), [ACTIVE], None, id="A36-51 the same with an active pod"),
        pytest.param(going(), [DONE], RemoveFinalizer(), id="A36-53 the last pod succeeded"),
        pytest.param(going(), [FAILED], RemoveFinalizer(), id="A36-54 the last pod failed"),
        pytest.param(going(), [pod("new")], None, id="A36-55 a new pod that is not scheduled"),
        pytest.param(going(), [pod("dying").being_deleted()], None, id="a pod that is only terminating is active"),
    ],
)
def test_the_finalizer_goes_with_the_last_member(
    group: PodGroupBuilder, members: list[PodBuilder], due: RemoveFinalizer | None
) -> None:
    assert protection_step(group.read(), [member.view() for member in members]) == due


def bound(number: int, phase: str = "Running") -> list[PodBuilder]:
    return [pod(f"b{index}", phase).bound() for index in range(number)]


def reporting(status: str, kind: str = SCHEDULED) -> PodGroupBuilder:
    condition: Object = {"type": kind, "status": status, "reason": "X", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return a_pod_group().gang(3).reporting(condition)


@pytest.mark.parametrize(
    ("group", "members", "due"),
    [
        pytest.param(a_pod_group().gang(3), bound(2), None, id="too few have a node"),
        pytest.param(a_pod_group().gang(3), [*bound(2), pod("waits")], None, id="there are enough, one has no node"),
        pytest.param(a_pod_group().gang(3), bound(3), MarkScheduled(), id="enough"),
        pytest.param(a_pod_group().gang(3), [*bound(3), pod("waits")], MarkScheduled(), id="more than enough exist"),
        pytest.param(a_pod_group().gang(2), bound(3, "Failed"), None, id="pods that ended hold no node"),
        pytest.param(a_pod_group().basic(), [pod("waits")], None, id="basic: none has a node"),
        pytest.param(a_pod_group().basic(), [*bound(1), pod("waits")], MarkScheduled(), id="basic: one is enough"),
        pytest.param(reporting("True"), bound(3), None, id="the condition is true already"),
        pytest.param(reporting("True"), [], None, id="it never goes back"),
        pytest.param(reporting("False"), bound(3), MarkScheduled(), id="from False"),
        pytest.param(reporting("True", "DisruptionTarget"), bound(3), MarkScheduled(), id="another condition"),
        pytest.param(a_pod_group().gang(3).being_deleted(), bound(3), None, id="who goes gets no condition"),
    ],
)
def test_the_condition_follows_the_bound_members(
    group: PodGroupBuilder, members: list[PodBuilder], due: MarkScheduled | None
) -> None:
    assert protection_step(group.read(), [member.view() for member in members]) == due
