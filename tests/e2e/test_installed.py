"""Muster as it is installed: replicas behind a Service, which keep their webhooks right, and go without a trace."""

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clusters.api import Api, Object
from tests.clusters.audit import what
from tests.clusters.cluster import Cluster
from tests.clusters.objects import all_pods, gang_job, is_bound
from tests.clusters.pairs import assert_one_pair
from tests.clusters.replicas import NAMESPACE, WEBHOOKS, Replicas, clean_up, put_service, registered
from tests.clusters.waiting import always, eventually
from tests.e2e.support.load import Load

PROBE_SECONDS = 1
NOT_SETTLING = {"leases"}
"""What is written for as long as Muster runs: that it leads."""


@pytest.fixture(scope="module")
def replicas(local: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    settings = {"probeSeconds": PROBE_SECONDS, "logging": {"format": "json", "level": "debug"}}
    with Replicas(local, tmp_path_factory.mktemp("replicas"), settings=settings) as running:
        running.wait_until_ready()
        yield running
    assert "Traceback" not in running.logs()


def test_a_gang_starts_and_the_log_has_one_key_for_it(api: Api, replicas: Replicas, namespace: str) -> None:
    job = api.create("jobs", gang_job("train"), namespace)
    eventually(lambda: all_pods(api, namespace, "train", 4, is_bound), "four pods are bound", 60)
    assert_one_pair(api, namespace, job, 4)
    lines = [json.loads(line) for line in replicas.logs().splitlines()]
    assert all({"time", "level", "logger", "message"} <= set(line) for line in lines)
    about = [line["message"] for line in lines if line.get("job") == f"{namespace}/train"]
    assert any("WorkloadCreated" in message for message in about)
    named = [line for line in lines if f"{namespace}/train" in line["message"] and line["logger"].startswith("muster")]
    assert all("job" in line for line in named)


def test_the_webhooks_belong_to_the_namespace_and_lead_to_the_service(api: Api, replicas: Replicas) -> None:
    owner_uid = api.get("namespaces", NAMESPACE)["metadata"]["uid"]
    for kind in WEBHOOKS:
        found = api.get(kind, "muster")
        (owner,) = found["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["uid"]) == ("Namespace", NAMESPACE, owner_uid)
        for webhook in found["webhooks"]:
            place = webhook["clientConfig"]["service"]
            assert (place["namespace"], place["name"], place["port"]) == (NAMESPACE, "muster", replicas.relay.port)
            (excluded,) = webhook["namespaceSelector"]["matchExpressions"]
            assert excluded["values"] == ["kube-system", NAMESPACE]


def _first(change: Callable[[Object], Any]) -> Callable[[Object], None]:
    def edit(found: Object) -> None:
        change(found["webhooks"][0])

    return edit


EDITS: dict[str, Callable[[Object], None]] = {
    "without a bundle": _first(lambda webhook: webhook["clientConfig"].pop("caBundle")),
    "failing open": _first(lambda webhook: webhook.update(failurePolicy="Ignore")),
    "asked nothing": _first(lambda webhook: webhook.update(rules=[])),
    "asked for everything": _first(lambda webhook: webhook.update(objectSelector={}, namespaceSelector={})),
    "without its owner": lambda found: found["metadata"].pop("ownerReferences"),
    "without any webhook": lambda found: found.update(webhooks=[]),
}


@pytest.mark.parametrize("kind", WEBHOOKS)
@pytest.mark.parametrize("edit", [*EDITS, "deleted, and applied again"])
def test_muster_restores_changed_webhooks(local: Cluster, api: Api, replicas: Replicas, kind: str, edit: str) -> None:
    right = api.get(kind, "muster")
    if edit == "deleted, and applied again":
        api.delete(kind, "muster")
        always(lambda: api.find(kind, "muster") is None, "Muster may not create it", 2 * PROBE_SECONDS)
        assert (
            "may not create one: run `helm upgrade`, or `kubectl apply -f manifests/webhooks.yaml`" in replicas.logs()
        )
        local.install_rights()
    else:
        api.replace(kind, _edited(right, EDITS[edit]))

    def restored() -> bool:
        found = api.find(kind, "muster")
        return bool(found) and found is not None and _ours(found) == _ours(right)

    eventually(restored, "it is restored", 10 * PROBE_SECONDS, every=0.05)


def _ours(found: Object) -> Object:
    owners = [owner["uid"] for owner in found["metadata"].get("ownerReferences", [])]
    return {"webhooks": found.get("webhooks"), "owners": owners, "annotations": found["metadata"].get("annotations")}


ENFORCED = {"key": "control-plane", "operator": "NotIn", "values": ["true"]}
"""As AKS' admissions enforcer has it."""


@pytest.mark.parametrize("kind", WEBHOOKS)
def test_others_may_narrow_the_webhooks_at_the_cost_of_no_write(
    local: Cluster, api: Api, replicas: Replicas, kind: str
) -> None:
    def narrow(found: Object) -> None:
        found["metadata"].setdefault("labels", {})["enforced"] = "yes"
        for webhook in found["webhooks"]:
            webhook["namespaceSelector"]["matchExpressions"].append(ENFORCED)
            webhook["objectSelector"].setdefault("matchLabels", {})["team"] = "a"

    right = api.get(kind, "muster")
    since = local.audit_position()
    changed = _edited(right, narrow)
    narrowed = api.replace(kind, changed)
    always(
        lambda: api.get(kind, "muster")["metadata"]["generation"] == narrowed["metadata"]["generation"],
        "it stays narrowed",
        4 * PROBE_SECONDS,
    )
    assert [w for w in local.writes_by_muster(since) if w["objectRef"]["resource"] == kind] == []
    assert "other clients added selectors" in replicas.logs()
    broken = _edited(api.get(kind, "muster"), lambda found: found["webhooks"][0]["clientConfig"].pop("caBundle"))
    broken["webhooks"][0]["namespaceSelector"] = {"matchExpressions": [ENFORCED]}
    api.replace(kind, broken)
    eventually(
        lambda: api.get(kind, "muster")["webhooks"] == narrowed["webhooks"],
        "ours is back, theirs stays",
        10,
        every=0.05,
    )
    api.replace(kind, {**api.get(kind, "muster"), "webhooks": right["webhooks"]})


def _edited(found: Object, change: Callable[[Object], Any]) -> Object:
    changed: Object = json.loads(json.dumps(found))
    change(changed)
    return changed


def test_a_settled_installation_writes_nothing(local: Cluster, api: Api, replicas: Replicas) -> None:
    """A namespace of an earlier test that is still going is not settled: its objects go in any order."""
    going = {each["metadata"]["name"] for each in api.list("namespaces") if "deletionTimestamp" in each["metadata"]}
    since = local.audit_position()
    always(lambda: all(replica.readyz()[0] == 200 for replica in replicas), "they are ready", 4 * PROBE_SECONDS)
    written = [
        write
        for write in local.writes_by_muster(since)
        if write["objectRef"]["resource"] not in NOT_SETTLING and write["objectRef"].get("namespace") not in going
    ]
    assert [(*what(each), each["objectRef"], each["responseStatus"]["code"]) for each in written] == []


def test_a_replica_that_shuts_down_answers_and_gets_no_new_request(
    api: Api, replicas: Replicas, namespace: str
) -> None:
    leaving, staying = replicas
    with Load(api, namespace) as load:
        leaving.signal(signal.SIGTERM)
        eventually(lambda: leaving.readyz() == (503, "not ready: Muster is shutting down"), "it is not ready", 5, 0.02)
        assert leaving.livez() == (200, "alive")
        assert leaving.terminate() == 0
        load.more()
        leaving.start()
        leaving.wait_until_ready()
        load.more()
    assert load.lost == []
    assert staying.readyz() == (200, "ready")


def test_the_liveness_probe_of_a_stuck_replica_fails(replicas: Replicas) -> None:
    stuck = replicas[1]
    stuck.signal(signal.SIGSTOP)
    try:
        assert stuck.livez()[0] == 0
    finally:
        stuck.signal(signal.SIGCONT)
    eventually(lambda: stuck.livez() == (200, "alive"), "it continues")
    assert "muster_admission_seconds_bucket" in stuck.metrics()


def test_without_the_right_to_its_secret_muster_waits_and_registers_nothing(
    local: Cluster, api: Api, replicas: Replicas, tmp_path: Path
) -> None:
    replicas.stop()
    clean_up(api)
    put_service(api)
    rules = api.get("roles", "muster", NAMESPACE)["rules"]
    api.patch("roles", "muster", {"rules": [rule for rule in rules if rule["resources"] != ["secrets"]]}, NAMESPACE)
    late = replicas[0].start()
    try:
        eventually(lambda: 'cannot get resource "secrets"' in late.readyz()[1], "/readyz reports it", 30)
        assert late.livez()[0] == 200
        assert registered(api) == []
    finally:
        api.patch("roles", "muster", {"rules": rules}, NAMESPACE)
    replicas.wait_until_ready()
