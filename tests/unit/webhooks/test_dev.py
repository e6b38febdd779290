"""The webhooks of `muster run --dev` live as long as the process."""

from collections.abc import Mapping

import pytest

from muster.api.profile import CRD_IN_OWN_GROUP, NATIVE
from muster.config.types import Settings
from muster.kube.client import Object
from muster.kube.errors import Conflict, Unreachable
from muster.kube.resources import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS, Resource
from muster.webhooks.configurations import DEV_NAME
from muster.webhooks.dev import DevWebhooks
from tests.fake_cluster import FakeClient, FakeCluster


def at(url: str, client: FakeClient) -> DevWebhooks:
    return DevWebhooks(client, url, b"ca", Settings())


def urls(cluster: FakeCluster) -> list[str]:
    plurals = (VALIDATING_WEBHOOKS.plural, MUTATING_WEBHOOKS.plural)
    found = [each for plural in plurals for each in cluster.find(plural)]
    return [webhook["clientConfig"]["url"] for each in found for webhook in each["webhooks"]]


async def test_another_api_replaces_the_webhooks() -> None:
    cluster = FakeCluster()
    webhooks = at("https://h:1", FakeClient(cluster))
    await webhooks.register(CRD_IN_OWN_GROUP)
    assert urls(cluster) == [
        "https://h:1/parallelism-guard",
        "https://h:1/intents",
        "https://h:1/pods",
        "https://h:1/pod-groups",
    ]
    await webhooks.register(NATIVE)
    assert urls(cluster) == ["https://h:1/parallelism-guard", "https://h:1/intents", "https://h:1/pods"]
    await webhooks.remove()
    assert urls(cluster) == [], "the newest ones are known as ours"


async def test_webhooks_live_as_long_as_the_process() -> None:
    cluster = FakeCluster()
    webhooks = at("https://h:1", FakeClient(cluster))
    await webhooks.register(NATIVE)
    assert urls(cluster) == ["https://h:1/parallelism-guard", "https://h:1/intents", "https://h:1/pods"]
    assert cluster.history[0].plural == VALIDATING_WEBHOOKS.plural, "the guard first"
    await webhooks.remove()
    assert urls(cluster) == []
    await webhooks.remove()


async def test_a_new_process_takes_over_the_webhooks_of_a_killed_one() -> None:
    cluster = FakeCluster()
    killed, successor = at("https://h:1", FakeClient(cluster)), at("https://h:2", FakeClient(cluster))
    await killed.register(NATIVE)
    await successor.register(NATIVE)
    assert urls(cluster) == ["https://h:2/parallelism-guard", "https://h:2/intents", "https://h:2/pods"]
    await killed.remove()
    assert urls(cluster) == ["https://h:2/parallelism-guard", "https://h:2/intents", "https://h:2/pods"]
    await successor.remove()
    assert urls(cluster) == []


async def test_a_configuration_that_keeps_changing_is_an_error() -> None:
    class Contended(FakeClient):
        async def replace(self, resource: Resource, namespace: str, name: str, body: Object) -> Object:
            raise Conflict("changed")

    cluster = FakeCluster()
    await at("https://h:1", FakeClient(cluster)).register(NATIVE)
    with pytest.raises(Conflict, match=f"{DEV_NAME} keeps changing"):
        await at("https://h:2", Contended(cluster)).register(NATIVE)


async def test_webhooks_that_cannot_be_removed_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    class Away(FakeClient):
        async def delete(self, resource: Resource, namespace: str, name: str, preconditions: Mapping[str, str]) -> None:
            raise Unreachable("does not answer")

    webhooks = at("https://h:1", Away(FakeCluster()))
    await webhooks.register(NATIVE)
    await webhooks.remove()
    assert sum(record.message.startswith("could not delete ") for record in caplog.records) == 2
