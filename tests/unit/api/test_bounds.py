"""Strings are bounded where they are parsed, and one oversized field does not hide the others."""

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.job import MAX_INTENT, JobView
from muster.api.keys import JobKey, Uid
from muster.api.pod import PodView
from muster.api.profile import NATIVE
from muster.api.wire import MAX_NAME, MAX_UID, STANDS_IN, Unreadable, integer, text, words
from muster.core.decide import decide
from muster.core.decision import Membership
from muster.core.eligibility import skip_reason
from muster.core.observed import NO_PODS, Observed
from muster.core.policy import Policy, Rules
from muster.core.reasons import Reason
from tests.builders import a_gang, a_pod, a_pod_group, a_workload, copied

ENDLESS = "x" * 1_000_000


@given(st.text(min_size=1, max_size=2 * MAX_NAME), st.text(min_size=1, max_size=2 * MAX_NAME))
def test_different_strings_stay_different(one: str, other: str) -> None:
    assert (text({"a": one}, "a") == text({"a": other}, "a")) is (one == other)


def test_two_long_uids_with_one_prefix_stay_different_and_are_no_uid() -> None:
    one, other = (text({"uid": ENDLESS + end}, "uid", MAX_UID) for end in "ab")
    assert one != other
    assert all(STANDS_IN in each and len(each) <= MAX_UID for each in (one, other))


def test_a_string_that_fits_stays_as_it_is() -> None:
    assert text({"a": "x" * MAX_NAME}, "a") == "x" * MAX_NAME
    assert words({"a": ENDLESS}, "a", 5) == "xxxxx"


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**4_000])
def test_a_number_beyond_64_bits_is_unreadable(value: int) -> None:
    with pytest.raises(Unreadable, match="a is out of range"):
        integer({"a": value}, "a")


@pytest.mark.parametrize("value", ["\ud800", "ab\udfffcd"])
def test_half_a_surrogate_pair_is_unreadable(value: str) -> None:
    with pytest.raises(Unreadable, match="a is not valid Unicode"):
        text({"a": value}, "a")


def strings_of(view: JobView | PodView) -> dict[str, str]:
    values = {field.name: getattr(view, field.name) for field in fields(view)}
    return {name: value for name, value in values.items() if isinstance(value, str)}


def test_every_string_of_a_view_is_bounded() -> None:
    def endless(raw: Any) -> Any:
        if isinstance(raw, dict):
            return {key: endless(value) if key != "completionMode" else value for key, value in raw.items()}
        if isinstance(raw, list):
            return [endless(each) for each in raw]
        return ENDLESS if isinstance(raw, str) else raw

    job = a_gang().asking("x").having(managedBy="x").owned_by("a/v1", "X", "x", "x").build()
    names = dict.fromkeys(("schedulerName", "priorityClassName", "nodeName"), "x")
    job["spec"]["template"]["spec"].update(names, schedulingGroup={"podGroupName": "x"})
    view = JobView.parse(endless(job))
    most = {"intent": MAX_INTENT + 1}
    assert all(len(value) <= most.get(name, MAX_NAME) for name, value in strings_of(view).items())
    assert view.controller is not None
    assert len(view.controller.uid) <= MAX_UID
    pod = PodView.parse(endless(a_pod().of(a_gang()).naming_group("x").build()))
    assert all(len(value) <= 1024 for value in strings_of(pod).values())


def test_the_pod_of_a_gang_is_recognised_whatever_else_is_in_it() -> None:
    """Else it would pass without its group. The API server accepts all of these, or asks before it refuses them."""
    raw = a_pod("train-0").of(a_gang("train").uid("u")).build()
    raw["metadata"].update(name=ENDLESS, generateName=ENDLESS, labels={"a": ENDLESS}, annotations={"b": ENDLESS})
    raw["metadata"]["ownerReferences"].insert(0, dict.fromkeys(("apiVersion", "kind", "name", "uid"), ENDLESS))
    raw["spec"].update(schedulerName=ENDLESS, priorityClassName=ENDLESS, nodeName="")
    ref = PodView.parse(raw).job
    assert ref == (JobKey("default", "train"), Uid("u"))


@pytest.mark.parametrize(
    ("field", "reason"),
    [("schedulerName", Reason.OTHER_SCHEDULER), ("nodeName", Reason.NODE_NAME_PRESET)],
)
def test_muster_stands_aside_with_a_reason_from_a_job_with_an_oversized_name(field: str, reason: Reason) -> None:
    job = a_gang().build()
    job["spec"]["template"]["spec"][field] = ENDLESS
    view = JobView.parse(job)
    assert skip_reason(view, Policy()) is reason
    assert decide(Observed(view, pods=NO_PODS), Rules(NATIVE)).membership is Membership.PLAIN


def test_muster_stands_aside_from_a_job_whose_workload_cannot_be_built() -> None:
    job = a_gang().build()
    job["spec"]["template"]["spec"]["priorityClassName"] = ENDLESS
    decision = decide(Observed(JobView.parse(job), pods=NO_PODS), Rules(NATIVE))
    assert (decision.reason, decision.membership) == (Reason.REJECTED, Membership.PLAIN)
    assert "priorityClassName" in decision.detail
    assert len(decision.detail) <= 400


def test_the_group_of_a_gang_stays_readable_whatever_is_added_to_its_metadata() -> None:
    raw = copied(a_pod_group("g").controlled_by(a_gang("train").uid("u")).build())
    raw["metadata"]["labels"] = {f"l{n}": ENDLESS for n in range(3)} | raw["metadata"].get("labels", {})
    raw["metadata"]["annotations"] = {"a": ENDLESS}
    raw["metadata"]["ownerReferences"].append({"apiVersion": "v1", "kind": "X", "name": ENDLESS, "uid": ENDLESS})
    raw["metadata"]["managedFields"] = [{"manager": ENDLESS}]
    group = NATIVE.read_pod_group(raw)
    assert group.metadata.controller is not None
    assert group.metadata.controller.uid == "u"
    assert len(group.model_dump_json()) < 4_000


@pytest.mark.parametrize(
    "finalizers", [[f"example.dev/f{n}" for n in range(500)], ["example.dev/" + ENDLESS]], ids=["many", "long"]
)
def test_oversized_finalizers_are_not_kept_so_that_muster_never_writes_them(finalizers: list[str]) -> None:
    raw = copied(a_pod_group("g").build())
    raw["metadata"]["finalizers"] = finalizers
    assert NATIVE.read_pod_group(raw).metadata.finalizers == ()


def test_a_workload_with_an_oversized_controller_name_describes_no_job() -> None:
    raw = a_workload("w").describing(a_gang("train")).build()
    raw["spec"]["controllerRef"]["name"] = ENDLESS
    described = NATIVE.read_workload(raw).job_key
    assert described is not None
    assert STANDS_IN in described.name


def test_a_workload_that_is_larger_than_the_limit_is_unreadable() -> None:
    raw = a_workload("w").describing(a_gang("train")).build()
    raw["spec"]["podGroupTemplates"][0]["priorityClassName"] = ENDLESS
    with pytest.raises(Unreadable, match="Workload is larger than 65536 bytes"):
        NATIVE.read_workload(raw)
