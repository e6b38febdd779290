"""Webhook configurations are shared: others narrow them, the chart ships them, and somebody may delete them."""

import asyncio

import pytest

from muster.api.profile import NATIVE
from muster.config.types import Requirement, Selector, Webhook, Webhooks
from muster.kube.client import Object
from muster.runtime.health import Health
from tests.fake_cluster import USER, FakeCluster
from tests.unit.webhooks.test_reconciler import (
    CHANGES,
    ENFORCED,
    MUTATING,
    SETTINGS,
    VALIDATING,
    apply_the_chart,
    as_the_server_shows_it,
    cluster,
    keeping,
    reconciler,
)

__all__ = ["cluster"]


async def test_labels_and_annotations_of_others_stay(cluster: FakeCluster) -> None:
    await reconciler(cluster).register(NATIVE)
    cluster.update(*MUTATING, as_the_server_shows_it, USER)
    cluster.update(*MUTATING, CHANGES["it fails open"], USER)
    await reconciler(cluster).register(NATIVE)
    metadata = cluster.get(*MUTATING)["metadata"]
    assert metadata["annotations"]["a"] == "b"
    assert metadata["labels"]["helm.sh/chart"] == "x"
    assert {owner["kind"] for owner in metadata["ownerReferences"]} == {"Node", "Namespace"}
    (webhook,) = cluster.get(*MUTATING)["webhooks"]
    assert webhook["failurePolicy"] == "Fail"
    assert webhook["namespaceSelector"]["matchExpressions"][1:] == [ENFORCED], "behind our own"
    assert webhook["objectSelector"]["matchLabels"] == {"team": "a"}


async def test_selectors_of_others_are_logged_once_and_muster_s_own_are_restored(
    cluster: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    await reconciler(cluster).register(NATIVE)
    cluster.update(*MUTATING, as_the_server_shows_it, USER)
    made = reconciler(cluster)
    await made.register(NATIVE)
    await made.register(NATIVE)
    (message,) = [record.message for record in caplog.records if "other clients added selectors" in record.message]
    assert "pods.muster.dev namespaceSelector" in message
    assert "control-plane" in message

    def only_theirs(found: Object) -> None:
        found["webhooks"][0]["namespaceSelector"] = {"matchExpressions": [ENFORCED]}

    right = cluster.get(*MUTATING)["webhooks"]
    cluster.update(*MUTATING, only_theirs, USER)
    await made.register(NATIVE)
    assert cluster.get(*MUTATING)["webhooks"] == right


async def test_changed_settings_remove_muster_s_selectors_and_keep_those_of_others(
    cluster: FakeCluster,
) -> None:
    team = Selector(match_labels={"team": "a"}, match_expressions=(Requirement(key="b", operator="Exists"),))
    narrow = SETTINGS.model_copy(
        update={
            "webhooks": Webhooks(pods=Webhook(namespace_selector=team)),
            "excluded_namespaces": SETTINGS.excluded_namespaces | {"istio"},
        }
    )
    await reconciler(cluster, narrow).register(NATIVE)
    theirs = {"key": "control-plane", "operator": "DoesNotExist"}
    cluster.update(
        *MUTATING, lambda found: found["webhooks"][0]["namespaceSelector"]["matchExpressions"].append(theirs), USER
    )
    await reconciler(cluster, SETTINGS).register(NATIVE)
    selector = cluster.get(*MUTATING)["webhooks"][0]["namespaceSelector"]
    excluded = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "ours"]}
    assert selector == {"matchExpressions": [excluded, theirs]}
    before = cluster.revision
    await reconciler(cluster, SETTINGS).register(NATIVE)
    assert cluster.revision == before


@pytest.mark.parametrize("registered", [False, True])
@pytest.mark.parametrize(
    "gone", [(MUTATING,), (VALIDATING,), (MUTATING, VALIDATING)], ids=["mutating", "validating", "both"]
)
async def test_muster_does_not_create_a_deleted_configuration_and_names_the_remedy(
    cluster: FakeCluster, caplog: pytest.LogCaptureFixture, gone: tuple[tuple[str, str, str], ...], registered: bool
) -> None:
    """No right to create one: it would be a right to create any."""
    if registered:
        await reconciler(cluster).register(NATIVE)
    for place in gone:
        cluster.remove(*place, USER)
    health = Health()
    made = reconciler(cluster)
    task = asyncio.create_task(made.keep(NATIVE, health))
    await asyncio.sleep(0.1)
    text = health.sentence + caplog.text
    kinds = {MUTATING: "MutatingWebhookConfiguration", VALIDATING: "ValidatingWebhookConfiguration"}
    assert all(f"no {kinds[place]}" in text for place in gone)
    assert "and Muster may not create one: run `helm upgrade`, or `kubectl apply -f manifests/webhooks.yaml`" in text
    assert not set(gone) & set(cluster.objects)
    assert caplog.text.count("may not create one") == 1, "logged once"
    apply_the_chart(cluster, *gone)
    await asyncio.sleep(0.1)
    assert health.ready
    assert all(cluster.get(*place)["webhooks"] for place in (MUTATING, VALIDATING))
    task.cancel()


async def test_no_pod_webhook_is_registered_without_its_guard(cluster: FakeCluster) -> None:
    cluster.remove(*VALIDATING, USER)
    health = Health()
    await keeping(reconciler(cluster), health)
    assert not cluster.get(*MUTATING).get("webhooks")
    assert not health.ready


async def test_without_the_namespace_the_configurations_have_no_owner_and_one_log_line_says_why(
    cluster: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.remove("namespaces", "", "ours", USER)
    made = reconciler(cluster)
    await made.register(NATIVE)
    await made.register(NATIVE)
    assert cluster.get(*MUTATING)["metadata"]["ownerReferences"] == []
    assert sum("namespace ours does not exist" in record.message for record in caplog.records) == 1
