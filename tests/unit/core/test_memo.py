"""What is remembered is bounded in bytes, and never changes an answer."""

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from muster.core.intent import REMEMBERED_BYTES, read_intent
from muster.core.memo import ENTRY_BYTES, Memo
from muster.core.policy import Policy
from muster.core.request import request_of
from tests.builders import JobBuilder, a_gang, a_job

ASKED = ("none", "policy: {gang: {minCount: 2}}", "policy: {basic: {}}", "nonsense: 1", "{", "")


def a_memo(budget: int) -> tuple[Memo[[str], int], list[str]]:
    asked: list[str] = []

    def length(text: str) -> int:
        asked.append(text)
        return len(text)

    return Memo(length, budget, lambda text: (text,)), asked


def test_a_memo_keeps_the_latest_answers_that_fit() -> None:
    memo, asked = a_memo(3 * (ENTRY_BYTES + 200))
    for text in ("a", "b", "a", "c", "d", "a", "b"):
        assert memo(text) == 1
    assert asked == ["a", "b", "c", "d", "b"]
    assert len(memo) == 3


def test_a_memo_does_not_keep_an_answer_that_is_too_large() -> None:
    memo, asked = a_memo(3 * (ENTRY_BYTES + 200))
    assert memo("x" * 100_000) == memo("x" * 100_000) == 100_000
    assert len(asked) == 2
    assert (len(memo), memo.weight) == (0, 0)


@given(st.lists(st.text(max_size=2_000)))
def test_the_weight_of_a_memo_stays_within_its_budget(texts: list[str]) -> None:
    memo, _ = a_memo(20_000)
    for text in texts:
        memo(text)
        assert 0 <= memo.weight <= 20_000


def test_the_largest_intents_stay_within_their_budget() -> None:
    """Many mistakes with large values, in characters of four bytes."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for number in range(120):
        fields = ",".join(f'"\N{GRINNING FACE}{number}-{n}": [[],[],[],[],[],[],[],[]]' for n in range(90))
        assert read_intent(f"{{{fields}}}").errors
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 1.5 * REMEMBERED_BYTES


jobs = st.builds(
    lambda make, size, intent, name: make(name).asking(intent).having(parallelism=size),
    st.sampled_from([a_gang, a_job]),
    st.integers(0, 4),
    st.sampled_from(ASKED),
    st.sampled_from(["a", "b" * 70]),
)


@given(jobs, st.booleans(), st.booleans())
def test_a_remembered_request_equals_a_new_one(job: JobBuilder, opt_in: bool, basic: bool) -> None:
    view, policy = job.view(), Policy(opt_in=opt_in, basic_for_others=basic)
    first, again = request_of(view, policy), request_of.__wrapped__(view, policy)
    assert (first.why, first.asked, first.config, first.errors) == (again.why, again.asked, again.config, again.errors)
