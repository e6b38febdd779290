"""The webhooks of an installed Muster: restored after any change, and not written when they are right."""

import asyncio
import base64
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from muster.api.profile import CRD_IN_OWN_GROUP, NATIVE
from muster.config.loading import in_its_place
from muster.config.types import Requirement, Selector, Settings, Webhook, Webhooks
from muster.kube.client import Object
from muster.kube.errors import Forbidden
from muster.kube.resources import Resource
from muster.runtime.health import ADMISSION, API, CERTIFICATE, SERVING, TRUST, WATCHING, Health
from muster.serving.certificates import as_pem, new_authority
from muster.serving.trust_bundle import TrustBundle
from muster.webhooks.narrowing import WRITTEN
from muster.webhooks.reconciler import WebhookReconciler, registered_authorities
from tests.fake_cluster import MUSTER, USER, FakeClient, FakeCluster

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
OURS, BEFORE = (new_authority(NOW, timedelta(days=9)).certificate for _ in range(2))
MUTATING, VALIDATING = (
    ("mutatingwebhookconfigurations", "", "muster"),
    ("validatingwebhookconfigurations", "", "muster"),
)
CHART_LABELS = {"app.kubernetes.io/name": "muster", "app.kubernetes.io/managed-by": "Helm"}
SETTINGS = in_its_place(Settings(probe_seconds=0.01), {"POD_NAMESPACE": "ours"})


@pytest.fixture
def cluster() -> FakeCluster:
    made = FakeCluster()
    made.create("namespaces", "", {"metadata": {"name": "ours", "uid": "namespace-1"}}, USER)
    apply_the_chart(made)
    return made


def apply_the_chart(cluster: FakeCluster, *places: tuple[str, str, str]) -> None:
    """Both configurations, without webhooks."""
    for plural, namespace, name in places or (MUTATING, VALIDATING):
        cluster.create(plural, namespace, {"metadata": {"name": name, "labels": dict(CHART_LABELS)}}, USER)


def reconciler(
    cluster: FakeCluster, settings: Settings = SETTINGS, client: FakeClient | None = None
) -> WebhookReconciler:
    trust_bundle = TrustBundle(lambda: NOW)
    trust_bundle.note([OURS])
    return WebhookReconciler(client or FakeClient(cluster), settings, trust_bundle)


def our_writes(cluster: FakeCluster) -> list[str]:
    return [f"{change.verb} {change.plural}" for change in cluster.history if change.actor == MUSTER]


async def test_the_webhooks_point_at_the_service_and_belong_to_the_namespace(cluster: FakeCluster) -> None:
    await reconciler(cluster).register(NATIVE)
    assert our_writes(cluster) == [f"MODIFIED {VALIDATING[0]}", f"MODIFIED {MUTATING[0]}"], "the guard first"
    for place, path in ((MUTATING, "/pods"), (VALIDATING, "/parallelism-guard")):
        found = cluster.get(*place)
        assert found["metadata"]["ownerReferences"] == [
            {"apiVersion": "v1", "kind": "Namespace", "name": "ours", "uid": "namespace-1"}
        ]
        assert found["metadata"]["labels"] == CHART_LABELS, "Helm's, or it would take the object for somebody else's"
        webhook = found["webhooks"][0]
        assert webhook["clientConfig"] == {
            "service": {"name": "muster", "namespace": "ours", "port": 443, "path": path},
            "caBundle": base64.b64encode(as_pem(OURS)).decode(),
        }
        assert webhook["namespaceSelector"]["matchExpressions"][0]["values"] == ["kube-system", "ours"]


async def test_correct_webhooks_cost_no_write(cluster: FakeCluster) -> None:
    await reconciler(cluster).register(NATIVE)
    cluster.update(*MUTATING, as_the_server_shows_it, USER)
    before = cluster.revision
    await reconciler(cluster).register(NATIVE)
    assert cluster.revision == before


ENFORCED = {"key": "control-plane", "operator": "NotIn", "values": ["true"]}
"""As AKS' admissions enforcer has it."""


def as_the_server_shows_it(found: Object) -> None:
    """With what it adds, and what others add, which is theirs."""
    metadata = found["metadata"]
    metadata["labels"]["helm.sh/chart"] = "x"
    metadata["annotations"]["a"] = "b"
    metadata["generation"] = 3
    metadata["ownerReferences"].append({"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"})
    for webhook in found["webhooks"]:
        webhook.setdefault("matchConditions", [])
        webhook["namespaceSelector"].setdefault("matchExpressions", []).append(dict(ENFORCED))
        webhook["objectSelector"].setdefault("matchLabels", {})["team"] = "a"


CHANGES: dict[str, Callable[[Object], Any]] = {
    "the bundle is emptied": lambda found: found["webhooks"][0]["clientConfig"].pop("caBundle"),
    "the bundle is another": lambda found: found["webhooks"][0]["clientConfig"].update(caBundle="eA=="),
    "it points elsewhere": lambda found: found["webhooks"][0]["clientConfig"]["service"].update(name="x"),
    "it fails open": lambda found: found["webhooks"][0].update(failurePolicy="Ignore"),
    "it waits longer": lambda found: found["webhooks"][0].update(timeoutSeconds=30),
    "it is asked for more": lambda found: found["webhooks"][0].update(objectSelector={}, namespaceSelector={}),
    "it is asked for less": lambda found: found["webhooks"][0]["matchConditions"].append(
        {"name": "never", "expression": "false"}
    ),
    "one more webhook": lambda found: found["webhooks"].append({"name": "x"}),
    "no webhook": lambda found: found.pop("webhooks"),
    "no annotation": lambda found: found["metadata"].pop("annotations"),
    "an annotation that is none": lambda found: found["metadata"]["annotations"].update({WRITTEN: "[1"}),
    "no owner": lambda found: found["metadata"].pop("ownerReferences"),
    "an owner that is gone": lambda found: found["metadata"]["ownerReferences"][0].update(uid="namespace-0"),
}


@pytest.mark.parametrize("place", [MUTATING, VALIDATING], ids=["mutating", "validating"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
async def test_a_wrong_webhook_is_restored_with_one_write(
    cluster: FakeCluster, change: Callable[[Object], Any], place: tuple[str, str, str]
) -> None:
    await reconciler(cluster).register(NATIVE)
    right = cluster.get(*place)
    cluster.update(*place, change, USER)
    before = cluster.revision
    await reconciler(cluster).register(NATIVE)
    again = cluster.get(*place)
    assert again["webhooks"] == right["webhooks"]
    assert again["metadata"]["ownerReferences"] == right["metadata"]["ownerReferences"]
    assert again["metadata"]["annotations"] == right["metadata"]["annotations"]
    assert cluster.revision == before + 1


async def test_selectors_in_the_settings_narrow_the_webhooks(cluster: FakeCluster) -> None:
    team = Selector(match_labels={"team": "a"}, match_expressions=(Requirement(key="b", operator="Exists"),))
    webhooks = Webhooks(pods=Webhook(object_selector=team, namespace_selector=team, failure_policy="Ignore"))
    await reconciler(cluster, SETTINGS.model_copy(update={"webhooks": webhooks})).register(CRD_IN_OWN_GROUP)
    pods, groups = cluster.get(*MUTATING)["webhooks"]
    guard, intents = cluster.get(*VALIDATING)["webhooks"]
    exists = {"key": "b", "operator": "Exists"}
    assert pods["objectSelector"] == {
        "matchLabels": {"team": "a"},
        "matchExpressions": [{"key": "batch.kubernetes.io/job-completion-index", "operator": "Exists"}, exists],
    }
    excluded, theirs = pods["namespaceSelector"]["matchExpressions"]
    assert (excluded["operator"], excluded["values"], theirs) == ("NotIn", ["kube-system", "ours"], exists)
    assert [w["failurePolicy"] for w in (pods, groups, guard, intents)] == ["Ignore", "Fail", "Fail", "Ignore"]
    assert groups["objectSelector"] == guard["objectSelector"] == {}


def well_except(*parts: str) -> Health:
    health = Health()
    for part in parts:
        health.announce(part, f"{part} is not well")
    return health


async def keeping(made: WebhookReconciler, health: Health, seconds: float = 0.1) -> None:
    task = asyncio.create_task(made.keep(NATIVE, health))
    await asyncio.sleep(seconds)
    assert not task.done()
    task.cancel()


@pytest.mark.parametrize("part", [API, WATCHING, CERTIFICATE, SERVING])
async def test_nothing_is_registered_before_muster_can_work(cluster: FakeCluster, part: str) -> None:
    await keeping(reconciler(cluster), well_except(part))
    assert our_writes(cluster) == []


async def test_webhooks_are_registered_before_the_certificate_is_trusted(cluster: FakeCluster) -> None:
    await keeping(reconciler(cluster), well_except(TRUST))
    assert len(our_writes(cluster)) == 2


async def test_only_the_leader_registers(cluster: FakeCluster) -> None:
    made, leads = reconciler(cluster), False
    made.leads = lambda: leads
    await keeping(made, Health())
    assert our_writes(cluster) == []
    leads = True
    await keeping(made, Health())
    assert len(our_writes(cluster)) == 2


async def test_deleted_webhooks_are_written_again(cluster: FakeCluster) -> None:
    task = asyncio.create_task(reconciler(cluster).keep(NATIVE, Health()))
    await asyncio.sleep(0.1)
    assert len(our_writes(cluster)) == 2, "a settled one is only looked at"
    cluster.remove(*MUTATING, USER)
    apply_the_chart(cluster, MUTATING)
    await asyncio.sleep(0.1)
    assert cluster.get(*MUTATING)["webhooks"]
    task.cancel()


async def test_webhooks_are_registered_once_the_service_answers(cluster: FakeCluster) -> None:
    answers = iter([False, False, True])
    asked = []

    async def ask() -> bool:
        asked.append(len(our_writes(cluster)))
        return next(answers)

    made = reconciler(cluster)
    made.service_answers = ask
    await keeping(made, Health())
    assert asked == [0, 0, 0], "once they are there, Muster does not ask"
    assert len(our_writes(cluster)) == 2


async def test_webhooks_are_registered_after_a_while_even_if_the_service_never_answers(
    cluster: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    async def never() -> bool:
        return False

    made = reconciler(cluster)
    made.service_answers, made._patience = never, 3
    await keeping(made, Health(), 0.2)
    assert len(our_writes(cluster)) == 2
    assert any("does not answer; registering anyway" in record.message for record in caplog.records)


class Lacking(FakeClient):
    """Without the right to write webhooks."""

    async def replace(self, resource: Resource, namespace: str, name: str, body: Object) -> Object:
        raise Forbidden("cannot update resource")


async def test_without_webhooks_muster_is_not_ready(cluster: FakeCluster) -> None:
    health = Health()
    await keeping(reconciler(cluster, client=Lacking(cluster)), health)
    assert health.sentence == "not ready: the webhooks cannot be registered: cannot update resource"
    assert not health.is_well(ADMISSION)


async def test_muster_stays_ready_when_it_cannot_restore_a_wrong_webhook(
    cluster: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    await reconciler(cluster).register(NATIVE)
    cluster.update(*MUTATING, CHANGES["it fails open"], USER)
    health = Health()
    await keeping(reconciler(cluster, client=Lacking(cluster)), health)
    assert health.ready
    assert sum("cannot update resource" in record.message for record in caplog.records) == 1, "logged once"


class MayNotChangeOwners(FakeClient):
    """As OwnerReferencesPermissionEnforcement has it for those who may not delete."""

    async def replace(self, resource: Resource, namespace: str, name: str, body: Object) -> Object:
        owners = self.cluster.get(resource.plural, namespace, name)["metadata"].get("ownerReferences") or []
        if (body["metadata"].get("ownerReferences") or []) != owners:
            raise Forbidden("cannot set an ownerRef on a resource you can't delete")
        return await super().replace(resource, namespace, name, body)


async def test_an_owner_that_cannot_be_set_is_logged_once_and_the_rest_is_restored(
    cluster: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    await reconciler(cluster).register(NATIVE)
    right = cluster.get(*MUTATING)["webhooks"]
    cluster.update(*MUTATING, CHANGES["no owner"], USER)
    cluster.update(*MUTATING, CHANGES["it fails open"], USER)
    health, before = Health(), cluster.revision
    await keeping(reconciler(cluster, client=MayNotChangeOwners(cluster)), health)
    assert cluster.get(*MUTATING)["webhooks"] == right
    assert cluster.revision == before + 1
    assert sum("has no owner" in record.message for record in caplog.records) == 1
    assert health.ready


async def test_a_new_leader_keeps_the_registered_authorities(cluster: FakeCluster) -> None:
    before = TrustBundle(lambda: NOW)
    before.note([BEFORE])
    await WebhookReconciler(FakeClient(cluster), SETTINGS, before).register(NATIVE)
    task = asyncio.create_task(reconciler(cluster).keep(NATIVE, health := well_except(ADMISSION)))
    await asyncio.wait_for(health.wait_until_well(ADMISSION), 30)
    task.cancel()
    assert await registered_authorities(FakeClient(cluster)) == frozenset({OURS, BEFORE})


async def test_only_authorities_of_every_webhook_count_as_trusted(cluster: FakeCluster) -> None:
    client = FakeClient(cluster)
    assert await registered_authorities(client) is None
    made = reconciler(cluster)
    made.trust_bundle.note([BEFORE])
    await made.register(NATIVE)
    assert await registered_authorities(client) == frozenset({OURS, BEFORE})
    one = base64.b64encode(as_pem(OURS)).decode()
    cluster.update(*VALIDATING, lambda found: found["webhooks"][0]["clientConfig"].update(caBundle=one), USER)
    assert await registered_authorities(client) == frozenset({OURS})
    cluster.update(*MUTATING, lambda found: found["webhooks"][0]["clientConfig"].update(caBundle="%"), USER)
    assert await registered_authorities(client) == frozenset()
