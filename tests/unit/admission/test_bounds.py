"""A Job of which every other index has completed: the memory is bounded, and the loop never blocks for long.

In this process: no API server takes so many. What one takes is in tests/e2e: test_large_input and hostile/statuses.
"""

import pytest

from muster.api.job import JobView
from tests.builders import a_gang
from tests.fake_cluster import FakeClient, FakeCluster
from tests.unit.admission.bounds import measured
from tests.unit.runtime.parts import build

MOST_GROWN = 30
LONGEST_BLOCK = 0.050
ROUNDS = 3
"""The machine's own pauses do not come in every one: tests/e2e/test_large_input."""
pytestmark = pytest.mark.quiet


async def test_a_job_of_which_every_other_one_of_200_000_indexes_has_completed() -> None:
    ended = ",".join(map(str, range(0, 200_000, 2)))
    job = a_gang("train", 200_000).with_status(completedIndexes=ended, succeeded=100_000)
    assert JobView.parse(job.build()).unfinished == 100_000
    longest: list[float] = []
    while len(longest) < ROUNDS and not (longest and longest[-1] < LONGEST_BLOCK):
        cluster = FakeCluster()
        cluster.apply(job)
        parts = build(FakeClient(cluster))
        async with measured() as found:
            await parts.resync.once()
            await parts.formation.ensure(job.view().ref)
        assert found.grown < MOST_GROWN
        longest.append(found.longest_block)
    assert 0 < longest[-1] < LONGEST_BLOCK, longest
