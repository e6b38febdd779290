"""The same promise with every API: a gang of which indexes have ended does not hold back a pod that is lost after that.

Where the PodGroup is Muster's CRD nobody holds pods back yet, so here it is the node that does: what Muster does about
the PodGroup is the same.
"""

from collections.abc import Iterator

import pytest

from tests.e2e.support.api import Api, Object
from tests.e2e.support.nodes import Pool, own_nodes
from tests.e2e.support.objects import events_on, is_bound
from tests.e2e.support.profiles import Site
from tests.e2e.support.retries import SIZE, all_run, end_index, group_and_size, living, lose_index, running_gang
from tests.e2e.support.waiting import always, eventually


@pytest.fixture
def pool(site: Site, place: str) -> Iterator[Pool]:
    """Where the pods go, and nothing else does."""
    with own_nodes(site.api, place, count=1, room=2 * SIZE) as pool:
        yield pool


def test_the_gang_is_resized_for_a_pod_that_waits_and_not_before(site: Site, place: str, pool: Pool) -> None:
    api = site.api
    job = running_gang(api, place, pod=pool.where)
    end_index(api, place, 0)
    pool.close()
    always(lambda: group_and_size(api, place, job)[1] == SIZE, "nothing waits, so nothing is resized", 2)
    before, _ = group_and_size(api, place, job)
    lose_index(api, place, 1)
    eventually(lambda: resized(api, place, job), "the gang is resized")
    after, _ = group_and_size(api, place, job)
    assert after["metadata"]["name"] == before["metadata"]["name"]
    assert after["metadata"]["finalizers"] == before["metadata"]["finalizers"]
    assert [index for index in (1, 2, 3) if not is_bound(living(api, place, index=index)[0])] == [1]
    pool.open()
    eventually(lambda: all_run(api, place, {1, 2, 3}), "the lost pod is back", 60)
    assert {site.group_of(pod) for pod in living(api, place)} == {after["metadata"]["name"]}
    assert group_and_size(api, place, job)[0]["metadata"]["uid"] == after["metadata"]["uid"]
    assert len(events_on(api, place, "train", "GangResized")) == 1


def resized(api: Api, place: str, job: Object) -> bool:
    return group_and_size(api, place, job)[1] == SIZE - 1
