"""What a renewal of the Lease costs."""

from muster.core.election import Terms
from muster.kube.client import Object
from muster.kube.resources import Resource
from muster.runtime.leader_election import Leadership
from tests.fake_cluster import FakeClient, FakeCluster
from tests.unit.runtime.test_leader_election import running, until


class Counting(FakeClient):
    gets = replaces = 0

    async def get(self, resource: Resource, namespace: str, name: str) -> Object:
        self.gets += 1
        return await super().get(resource, namespace, name)

    async def replace(self, resource: Resource, namespace: str, name: str, body: Object) -> Object:
        self.replaces += 1
        return await super().replace(resource, namespace, name, body)


async def test_a_renewal_is_one_call() -> None:
    """With two, an API server that takes two seconds per call would cost a leader its lead."""
    client = Counting(FakeCluster())
    replica = Leadership(client, "muster-system", "muster", Terms("only", duration_seconds=6, renew_seconds=0.02))
    async with running(replica):
        await until(replica.leads)
        looks = client.gets
        await until(lambda: client.replaces >= 5)
        assert (replica.leads(), client.gets) == (True, looks)
