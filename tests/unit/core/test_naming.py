"""Names are those of the in-tree controller, byte for byte, and valid for every Job."""

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.keys import Uid
from muster.core.naming import MAX_LABEL, MAX_NAME, is_dns_label, pod_group_name, template_name, workload_name

SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")

_EDGE = string.ascii_lowercase + string.digits
label_names = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True)
job_names = st.one_of(
    label_names,
    st.lists(label_names, min_size=1, max_size=3).map(".".join).filter(lambda name: len(name) <= 63),
    st.text(_EDGE, min_size=56, max_size=63),
)
uids = st.uuids().map(lambda uid: Uid(str(uid)))


@pytest.mark.parametrize(
    ("job", "uid", "workload", "group"),
    [
        ("my-job", "uid-123", "my-job-795ddf89fd", "my-job-795ddf89fd-my-job-pgt-0-74cffdfb57"),
        (
            "train",
            "3f1c2d34-5b6a-4c7d-8e9f-0a1b2c3d4e5f",
            "train-7699b9c659",
            "train-7699b9c659-train-pgt-0-7888779766",
        ),
        ("test-job", "test-job-uid", "test-job-6ff4fbf9db", "test-job-6ff4fbf9db-test-job-pgt-0-5cdc87fdc8"),
    ],
    ids=["my-job", "train", "test-job"],
)
def test_names_are_those_that_the_go_code_computes(job: str, uid: str, workload: str, group: str) -> None:
    assert workload_name(job, Uid(uid)) == workload
    assert pod_group_name(workload, template_name(job)) == group


def test_the_go_code_s_names_of_other_templates_and_of_names_that_are_too_long() -> None:
    assert pod_group_name("my-workload", "my-template") == "my-workload-my-template-67bd6bbcc4"
    assert pod_group_name("w" * 200, "t" * 200) == "w" * 121 + "-" + "t" * 120 + "-6f9f45db49"


@pytest.mark.parametrize(
    ("job", "template"),
    [
        pytest.param("my-training-job", "my-training-job-pgt-0", id="J36-19 my-training-job"),
        pytest.param("small-job", "small-job-pgt-0", id="J36-20 small-job"),
        pytest.param("j" * 57, "j" * 57 + "-pgt-0", id="the longest Job name that in-tree can handle"),
    ],
)
def test_a_template_is_named_after_its_job(job: str, template: str) -> None:
    assert template_name(job) == template


@pytest.mark.parametrize("job", [pytest.param("my-job", id="J36-21 short"), pytest.param("j" * 300, id="J36-22 long")])
def test_a_workload_name(job: str) -> None:
    name = workload_name(job, Uid("uid-1"))
    assert len(name) <= MAX_NAME
    assert name == workload_name(job, Uid("uid-1"))
    assert name != workload_name(job, Uid("uid-2"))
    assert re.fullmatch(r"[bcdfghjklmnpqrstvwxz2456789]{1,10}", name.rpartition("-")[2])


@pytest.mark.parametrize(
    ("workload", "template"),
    [
        pytest.param("my-workload", "my-template", id="J36-23 short and short"),
        pytest.param("w" * 250, "my-template", id="J36-24 long workload"),
        pytest.param("my-workload", "t" * 250, id="J36-25 long template"),
        pytest.param("w" * 200, "t" * 200, id="J36-26 both long"),
    ],
)
def test_a_pod_group_name(workload: str, template: str) -> None:
    name = pod_group_name(workload, template)
    assert len(name) <= MAX_NAME
    assert len(name.split("-")) >= 3
    assert name == pod_group_name(workload, template)
    assert name != pod_group_name(workload, f"other-{template}")


def test_j36_27_truncation_keeps_something_of_both_parts() -> None:
    name = pod_group_name("w" * 200, "t" * 200)
    assert "www" in name
    assert "ttt" in name


def test_j36_28_a_short_workload_name_is_not_truncated() -> None:
    assert pod_group_name("wl", "t" * 250).startswith("wl-")


@pytest.mark.parametrize("length", [58, 59, 60, 61])
def test_names_that_hang_a_job_in_tree_give_a_valid_label_here(length: int) -> None:
    name = template_name("j" * length)
    assert LABEL.fullmatch(name)
    assert len(name) <= MAX_LABEL
    assert name != template_name("j" * (length - 1) + "k"), "the hash tells long names apart"


def test_a_shortened_name_does_not_end_its_head_in_a_dash() -> None:
    assert "--" not in template_name("a" * 44 + "-" * 14 + "b")


@given(job_names, uids)
def test_every_job_name_gives_valid_names(job: str, uid: Uid) -> None:
    workload, template = workload_name(job, uid), template_name(job)
    group = pod_group_name(workload, template)
    assert LABEL.fullmatch(template)
    assert len(template) <= MAX_LABEL
    for name in (workload, group):
        assert SUBDOMAIN.fullmatch(name)
        assert len(name) <= MAX_NAME


@given(job_names, uids, st.integers(0, 50), st.integers(0, 50))
def test_each_collision_has_its_own_name_and_always_the_same(job: str, uid: Uid, first: int, second: int) -> None:
    workload = workload_name(job, uid)
    template = template_name(job)
    assert (workload_name(job, uid, first) == workload_name(job, uid, second)) == (first == second)
    assert (pod_group_name(workload, template, first) == pod_group_name(workload, template, second)) == (
        first == second
    )


@given(job_names, uids, uids)
def test_another_uid_gives_another_name(job: str, first: Uid, second: Uid) -> None:
    assert (workload_name(job, first) == workload_name(job, second)) == (first == second)


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        ("a", True),
        ("a-1", True),
        ("a" * 63, True),
        ("a" * 64, False),
        ("", False),
        ("-a", False),
        ("a-", False),
        ("A", False),
        ("a.b", False),
        ("a\n", False),
    ],
)
def test_what_a_dns_label_is(name: str, valid: bool) -> None:
    assert is_dns_label(name) is valid
