"""Which gangs are split: pods wait in the PodGroup for siblings that are in no group."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.keys import Uid
from muster.core.drain import JobPod
from muster.core.split import Sides, can_split, is_split, sides_of, split_sentence
from tests.builders import JobBuilder, PodGroupBuilder, a_gang
from tests.unit.core.seeing import our_group


def job() -> JobBuilder:
    return a_gang().uid("now")


def group() -> PodGroupBuilder:
    return our_group(job())


def stranger() -> PodGroupBuilder:
    built = group()
    del built.metadata["labels"]
    return built


CAN_SPLIT = {
    "a gang of Muster's": (job(), group(), True),
    "somebody else's PodGroup": (job(), stranger(), False),
    "of an earlier Job of that name": (job().uid("another"), group(), False),
    "pods that start one by one": (job(), group().basic(), False),
    "a PodGroup that goes": (job(), group().being_deleted(), False),
    "a suspended Job": (job().suspended(), group(), False),
    "a finished Job": (job().finished(), group(), False),
    "a Job that goes": (job().being_deleted(), group(), False),
}


@pytest.mark.parametrize(("job", "group", "can"), CAN_SPLIT.values(), ids=CAN_SPLIT)
def test_only_gangs_that_can_split_are_checked(job: JobBuilder, group: PodGroupBuilder, can: bool) -> None:
    assert can_split(job.view(), group.read()) is can


SPLIT = {
    "members wait beside pods that run plain": (Sides(inside=2, waiting=2, outside=2), True),
    "one member waits, the others run": (Sides(inside=3, waiting=1, outside=1), True),
    "a gang in the middle of getting its pods": (Sides(inside=2, waiting=2), False),
    "a gang that waits for room": (Sides(inside=4, waiting=4), False),
    "all plain": (Sides(outside=4), False),
    "no pods": (Sides(), False),
    "every member has a node, and nothing waits for the plain one": (Sides(inside=3, outside=1), False),
    "the PodGroup is whole without the plain one": (Sides(inside=4, waiting=1, outside=1), False),
}


@pytest.mark.parametrize(("sides", "split"), SPLIT.values(), ids=SPLIT)
def test_a_gang_is_split_if_pods_wait_for_pods_outside(sides: Sides, split: bool) -> None:
    assert is_split(job().view(), group().read(), sides) is split
    assert not is_split(job().suspended().view(), group().read(), sides), "then the pods go anyway"
    assert not is_split(job().view(), stranger().read(), sides), "Muster did not form it"


def member(lives: bool = True, bound: bool = False) -> JobPod:
    return JobPod("group", lives, succeeded=False, bound=bound)


WAITS, RUNS, PLAIN = member(), member(bound=True), JobPod("", lives=True, succeeded=False, bound=True)


@pytest.mark.parametrize(
    ("pods", "split"),
    [
        pytest.param([WAITS, PLAIN], True, id="one waits for those who never come"),
        pytest.param([RUNS, PLAIN], False, id="both run: nobody waits"),
        pytest.param([WAITS, WAITS], False, id="all in"),
        pytest.param([PLAIN, PLAIN], False, id="all out"),
        pytest.param([member(lives=False), PLAIN], False, id="who was in has ended"),
        pytest.param([*[WAITS] * 4, PLAIN], False, id="the PodGroup is whole without the plain one"),
        pytest.param([], False, id="no pod"),
    ],
)
def test_leaving_counts_the_pods_by_the_same_rule(pods: list[JobPod], split: bool) -> None:
    assert is_split(job().view(), group().read(), sides_of(pods)) is split


def test_the_sentence_counts_the_pods_and_names_the_remedy() -> None:
    sentence = split_sentence(group().read(), Sides(inside=3, waiting=2, outside=1))
    assert sentence.startswith(
        f"The gang is split: 3 of the Job's pods are in PodGroup {group().name}, which needs 4, and 1 "
    )
    assert "2 pods wait" in sentence
    assert "Suspend the Job and resume it" in sentence


PODS = st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 99)), max_size=20)


@given(PODS)
def test_pods_are_counted_in_any_order(pods: list[tuple[bool, bool, int]]) -> None:
    def counted(order: list[tuple[bool, bool, int]]) -> Sides:
        sides = Sides()
        for member, bound, age in order:
            sides = sides.with_member(bound) if member else sides.with_outsider(f"{age:02}", Uid(str(age)))
        return sides

    sides = counted(pods)
    assert counted(pods[::-1]) == sides
    assert sides.inside + sides.outside == len(pods)
    assert sides.waiting <= sides.inside
    ages = [age for member, _, age in pods if not member]
    assert sides.oldest[1] == (str(min(ages)) if ages else "")
