"""A Job of which every other index has completed: the memory is bounded, and the loop never blocks for long.

In this process: no API server takes so many. What one takes is in tests/e2e: test_large_input and hostile/statuses.
"""

import pytest

from muster.api.job import JobView
from tests.builders import a_gang
from tests.fake_cluster import FakeClient, FakeCluster
from tests.unit.admission.bounds import measured
from tests.unit.controllers.parts import build

MOST_GROWN = 30
LONGEST_BLOCK = 0.050
ROUNDS = 3
"""The machine pauses at times: tests/e2e/test_large_input."""
pytestmark = pytest.mark.quiet


async def test_a_job_of_which_every_other_one_of_200_000_indexes_has_completed() -> None:
    """One round within the bound, or two of three; each with indexes that were not read before."""
    longest: list[float] = []
    while not longest or (longest[0] >= LONGEST_BLOCK and len(longest) < ROUNDS):
        ended = [str(index) for index in range(len(longest), 200_000, 2)]
        job = a_gang("train", 200_000).with_status(completedIndexes=",".join(ended), succeeded=len(ended))
        cluster = FakeCluster()
        cluster.apply(job)
        parts = build(FakeClient(cluster))
        async with measured() as found:
            await parts.resync.once()
            await parts.gang_former.ensure(job.view().ref)
        assert JobView.parse(job.build()).unfinished == 200_000 - len(ended)
        assert found.grown < MOST_GROWN
        longest.append(found.longest_block)
    assert all(each < LONGEST_BLOCK for each in longest[1:] or longest), longest
