"""The lists of indexes in a Job's status, and the progress that they show."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.indexes import count_indexes
from tests.builders import JobBuilder, a_gang, a_job


@pytest.mark.parametrize(
    ("text", "count"),
    [
        pytest.param("", 0, id="none"),
        pytest.param("0", 1, id="one"),
        pytest.param("1,3-5,7", 5, id="as the Job controller writes it"),
        pytest.param("0-9", 10, id="all"),
        pytest.param("0-99", 10, id="more than there are, after the Job has shrunk"),
        pytest.param("10,11-12", 0, id="only such that are not there any more"),
        pytest.param("5-3", 0, id="backwards"),
        pytest.param("1,1,0-2,2-3", 4, id="the same ones again"),
        pytest.param("3,1", 2, id="out of order"),
        pytest.param(",,1,", 1, id="empty parts"),
        pytest.param("-1,1-,-,1--2,a,1-b,1.5, 2,+3,0x4,1_0", 0, id="what is no index"),
        pytest.param("٣,²", 0, id="digits of other scripts"),
        pytest.param("0-99999999999999999999", 0, id="a number that is none"),
        pytest.param("0-9999999999", 10, id="the largest that is read"),
    ],
)
def test_the_indexes_of_a_list_are_counted(text: str, count: int) -> None:
    assert count_indexes(text, below=10) == count


def compressed(indexes: set[int]) -> str:
    """As the Job controller writes them."""
    parts, todo = [], sorted(indexes)
    while todo:
        length = next((n for n in range(1, len(todo)) if todo[n] != todo[0] + n), len(todo))
        parts.append(str(todo[0]) if length == 1 else f"{todo[0]}-{todo[length - 1]}")
        todo = todo[length:]
    return ",".join(parts)


SOME = st.sets(st.integers(0, 60))


@given(SOME, SOME, st.integers(0, 60))
def test_two_lists_count_like_the_union_of_their_sets(one: set[int], other: set[int], below: int) -> None:
    expected = len({index for index in one | other if index < below})
    assert count_indexes(compressed(one), compressed(other), below=below) == expected


@given(st.text("0123456789-, a", max_size=60), st.integers(0, 1000))
def test_for_any_text_the_count_stays_within_its_bounds(text: str, below: int) -> None:
    assert 0 <= count_indexes(text, text, below=below) <= below


ALTERNATING = ",".join(map(str, range(0, 200_000, 2)))


@pytest.mark.parametrize(
    ("lists", "below", "count"),
    [
        pytest.param((ALTERNATING,), 200_000, 100_000, id="every other one of 200,000"),
        pytest.param((ALTERNATING,), 100_000, 50_000, id="more than there are"),
        pytest.param((ALTERNATING, "0-2147483647"), 2**31 - 1, 2**31 - 1, id="beside all of them"),
        pytest.param(
            (",".join(f"{n}-{n + 1}" for n in range(0, 150_000, 3)),), 150_000, 100_000, id="50,000 ranges"
        ),
    ],
)  # fmt: skip
def test_the_longest_lists_are_read_within_50_ms(lists: tuple[str, ...], below: int, count: int) -> None:
    """In processor time: other processes on the machine do not count."""
    began = time.thread_time()
    assert count_indexes(*lists, below=below) == count
    assert time.thread_time() - began < 0.05


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(",".join(["123456"] * 200_000), id="of numbers"),
        pytest.param("x," * 200_000 + "5", id="of nonsense"),
        pytest.param("9" * 2_000_000, id="of digits"),
    ],
)
def test_a_number_that_is_cut_off_is_not_counted(text: str) -> None:
    assert count_indexes(text, below=123_456) == 0, "a number that is cut in half would be another one"


def progress(job: JobBuilder) -> tuple[int, bool, int]:
    view = job.view()
    return view.unfinished, view.ending, view.unready


IGNORING = {"rules": [{"action": "Ignore"}]}


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        pytest.param(a_gang(), (4, False, 0), id="new"),
        pytest.param(a_gang().with_status(active=4, ready=1), (4, False, 0), id="on its way to its nodes"),
        pytest.param(
            a_gang().with_status(completedIndexes="0-1", succeeded=2, active=2, ready=2), (2, False, 0), id="half done"
        ),
        pytest.param(
            a_gang().with_status(completedIndexes="0", failed=1, active=3, ready=2), (3, False, 1), id="one is replaced"
        ),
        pytest.param(
            a_gang().with_status(completedIndexes="0", succeeded=1, active=3, ready=2),
            (3, False, 1),
            id="one never got its node",
        ),
        pytest.param(a_gang().with_status(active=3, terminating=1), (4, False, 3), id="one is being replaced"),
        pytest.param(
            a_gang().with_status(completedIndexes="0", failedIndexes="0,2"), (2, False, 0), id="two ways to end"
        ),
        pytest.param(
            a_gang().having(podFailurePolicy=IGNORING).with_status(active=4, ready=3),
            (4, False, 1),
            id="losses do not count",
        ),
        pytest.param(
            a_gang().with_status(active=3, conditions=[{"type": "Suspended", "status": "False"}]),
            (4, False, 3),
            id="resumed",
        ),
        pytest.param(
            a_gang().with_status(conditions=[{"type": "SuccessCriteriaMet", "status": "True"}]),
            (4, True, 0),
            id="ending well",
        ),
        pytest.param(
            a_gang().with_status(conditions=[{"type": "FailureTarget", "status": "True"}]),
            (4, True, 0),
            id="ending badly",
        ),
        pytest.param(
            a_gang().with_status(conditions=[{"type": "FailureTarget", "status": "False"}]),
            (4, False, 0),
            id="not ending",
        ),
        pytest.param(a_gang().with_status(active=1, ready=4, failed=1), (4, False, 0), id="more ready than there are"),
        pytest.param(a_job().having(completions=None), (0, False, 0), id="a work queue"),
        pytest.param(a_job().having(completions=3).with_status(completedIndexes="0"), (3, False, 0), id="not Indexed"),
    ],
)
def test_the_status_shows_the_progress_of_a_job(job: JobBuilder, expected: tuple[int, bool, int]) -> None:
    assert progress(job) == expected
