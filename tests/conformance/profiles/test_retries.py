"""The same promise with every API: a gang of which indexes have ended does not hold back a pod that is lost after that.

Where the PodGroup is Muster's CRD nobody holds pods back yet, so here it is the node that does: what Muster does about
the PodGroup is the same.
"""

from collections.abc import Iterator

import pytest

from tests.clusters.api import Api, Object
from tests.clusters.nodes import Pool, own_nodes
from tests.clusters.objects import events_on, is_bound
from tests.clusters.profiles import BUILT_IN_GROUP, NATIVE, OWN_GROUP
from tests.clusters.retries import SIZE, all_run, end_index, group_and_size, living, lose_index, running_gang
from tests.clusters.site import Site
from tests.clusters.waiting import always, eventually

pytestmark = pytest.mark.profiles(NATIVE, OWN_GROUP, full=[BUILT_IN_GROUP])


@pytest.fixture
def pool(site: Site, namespace: str) -> Iterator[Pool]:
    """Where the pods go, and nothing else does."""
    with own_nodes(site.api, namespace, count=1, room=2 * SIZE) as pool:
        yield pool


def test_the_gang_is_resized_for_a_pod_that_waits_and_not_before(site: Site, namespace: str, pool: Pool) -> None:
    api = site.api
    job = running_gang(api, namespace, pod=pool.where)
    end_index(api, namespace, 0)
    pool.close()
    always(lambda: group_and_size(api, namespace, job)[1] == SIZE, "nothing waits, so nothing is resized", 2)
    before, _ = group_and_size(api, namespace, job)
    lose_index(api, namespace, 1)
    eventually(lambda: resized(api, namespace, job), "the gang is resized")
    after, _ = group_and_size(api, namespace, job)
    assert after["metadata"]["name"] == before["metadata"]["name"]
    assert after["metadata"]["finalizers"] == before["metadata"]["finalizers"]
    assert [index for index in (1, 2, 3) if not is_bound(living(api, namespace, index=index)[0])] == [1]
    pool.open()
    eventually(lambda: all_run(api, namespace, {1, 2, 3}), "the lost pod is back", 60)
    assert {site.group_of(pod) for pod in living(api, namespace)} == {after["metadata"]["name"]}
    assert group_and_size(api, namespace, job)[0]["metadata"]["uid"] == after["metadata"]["uid"]
    assert len(events_on(api, namespace, "train", "GangResized")) == 1


def resized(api: Api, namespace: str, job: Object) -> bool:
    return group_and_size(api, namespace, job)[1] == SIZE - 1
