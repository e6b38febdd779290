"""The resync, where only a part of the lists succeeds."""

from collections.abc import Mapping

import pytest

from muster.kube.client import Object
from muster.kube.errors import ServerFault
from muster.kube.resources import Resource
from tests.builders import a_gang, a_workload
from tests.fake_cluster import FakeClient, FakeCluster
from tests.unit.runtime.parts import build

JOB = a_gang("train").uid("now")


class WithoutWorkloads(FakeClient):
    """Cannot list them while there is an error."""

    error: ServerFault | None = None

    async def list(self, resource: Resource, namespace: str = "", params: Mapping[str, str] | None = None) -> Object:
        if self.error and resource.plural == "workloads":
            raise self.error
        return await super().list(resource, namespace, params)


async def test_a_resync_that_fails_in_the_middle_queues_its_jobs_the_next_time() -> None:
    """They are in the cache by then, and a Job from which Muster stands aside is queued for no other reason."""
    cluster = FakeCluster()
    for each in (JOB, a_workload("one").describing(JOB), a_workload("other").describing(JOB)):
        cluster.apply(each)
    client = WithoutWorkloads(cluster)
    parts, client.error = build(client), ServerFault("etcd is away")
    with pytest.raises(ServerFault):
        await parts.resync.once()
    client.error = None
    assert (await parts.resync.once(), len(parts.queue)) == (1, 1)
    assert await parts.resync.once() == 0
