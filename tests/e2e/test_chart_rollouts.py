"""The chart's own pods on KWOK's nodes: where they sit after a rollout, whether a node can be drained, what stays."""

from collections.abc import Iterator
from functools import partial

import pytest

from tests.clusters.api import Api, Object
from tests.clusters.chart import CHART, NAMESPACE, helm
from tests.clusters.chart_cluster import kubectl
from tests.clusters.cluster import ROOT, Cluster, bare_cluster
from tests.clusters.replicas import WEBHOOKS
from tests.clusters.waiting import eventually

WAIT = ("--wait", "--timeout", "120s")
ROLLOUTS = 6


@pytest.fixture(scope="module")
def installed() -> Iterator[Cluster]:
    cluster = bare_cluster("rollouts", "--profile", "stock", "--nodes", "2")
    quota = ("--set", "priorityClassQuota.enabled=true")
    helm("install", "muster", str(CHART), *WAIT, "--create-namespace", *quota, kubeconfig=cluster.kubeconfig)
    yield cluster
    cluster.down()


def replicas(api: Api) -> list[Object]:
    found = api.list("pods", NAMESPACE, labelSelector="app.kubernetes.io/component=operator")
    return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]


def nodes(api: Api) -> set[str]:
    return {pod["spec"]["nodeName"] for pod in eventually(lambda: is_two(replicas(api)), "two replicas have a node")}


def is_two(pods: list[Object]) -> list[Object]:
    return pods if len(pods) == 2 and all("nodeName" in pod["spec"] for pod in pods) else []


def test_after_each_rollout_the_replicas_sit_on_different_nodes(installed: Cluster) -> None:
    """Pods of the rollout before do not count: `matchLabelKeys`."""
    place = ("--namespace", NAMESPACE)
    restart = partial(kubectl, installed, "rollout", "restart", "deployment/muster", *place)
    seen = []
    for _ in range(ROLLOUTS):
        eventually(lambda: restart().code == 0, "it restarts: at most once a second", 10)
        assert kubectl(installed, "rollout", "status", "deployment/muster", "--timeout=60s", *place).code == 0
        seen.append(nodes(installed.api))
    assert [len(each) for each in seen] == [2] * ROLLOUTS, seen


def test_a_node_can_be_drained_without_any_flag(installed: Cluster) -> None:
    for node in sorted(nodes(installed.api)):
        drained = kubectl(installed, "drain", node, "--timeout=60s")
        assert drained.code == 0, drained.err
        assert "evicting pod muster-system/muster-" in drained.out + drained.err
        assert node not in nodes(installed.api)
        assert kubectl(installed, "uncordon", node).code == 0


def test_the_quota_of_its_priority_counts_its_pods_and_has_room_for_a_rollout(installed: Cluster) -> None:
    def counted() -> bool:
        status = installed.api.get("resourcequotas", "muster", NAMESPACE)["status"]
        return bool((status["used"]["pods"], status["hard"]["pods"]) == ("2", "6"))

    eventually(counted, "the quota counts the replicas")


def test_upgrades_leave_the_webhooks_that_muster_wrote(installed: Cluster) -> None:
    """Helm applies configurations without the key `webhooks`."""
    account, api = Api(installed.muster_kubeconfig()), installed.api
    owner = {"apiVersion": "v1", "kind": "Namespace", "name": NAMESPACE}
    owner["uid"] = api.get("namespaces", NAMESPACE)["metadata"]["uid"]
    written = {}
    for kind in WEBHOOKS:
        found = account.get(kind, "muster")
        found["metadata"]["ownerReferences"] = [owner]
        written[kind] = account.replace(kind, {**found, "webhooks": [WEBHOOK]})
    flags = ("--reset-then-reuse-values", "--set", "workers=8", "--set", "commonLabels.team=batch")
    helm("upgrade", "muster", str(CHART), *WAIT, *flags, kubeconfig=installed.kubeconfig)
    assert api.get(WEBHOOKS[0], "muster")["metadata"]["labels"]["team"] == "batch", "the upgrade did write"
    manifest = str(ROOT / "manifests/webhooks.yaml")
    for how in ((), ("--server-side", "--force-conflicts")):
        assert kubectl(installed, "apply", *how, "-f", manifest).code == 0
    for kind in WEBHOOKS:
        found = api.get(kind, "muster")
        assert found["webhooks"] == written[kind]["webhooks"]
        assert found["metadata"]["ownerReferences"] == [owner]
        api.delete(kind, "muster")
    helm("upgrade", "muster", str(CHART), *WAIT, "--reset-then-reuse-values", kubeconfig=installed.kubeconfig)
    assert all(api.find(kind, "muster") for kind in WEBHOOKS), "what somebody deleted is there again"


WEBHOOK = {
    "name": "nothing.muster.dev",
    "clientConfig": {"service": {"name": "muster", "namespace": NAMESPACE, "path": "/", "port": 443}},
    "rules": [
        {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"], "scope": "*"}
    ],
    "objectSelector": {"matchLabels": {"nobody": "has-this"}},
    "failurePolicy": "Ignore",
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}


def test_muster_may_neither_create_nor_delete_a_configuration(installed: Cluster) -> None:
    who = f"--as=system:serviceaccount:{NAMESPACE}:muster"
    for verb, name, allowed in (
        ("create", "", "no"),
        ("list", "", "no"),
        ("delete", "/muster", "no"),
        ("update", "/another", "no"),
        ("update", "/muster", "yes"),
        ("get", "/muster", "yes"),
    ):
        for kind in WEBHOOKS:
            answer = kubectl(installed, "auth", "can-i", verb, f"{kind}{name}", who)
            assert answer.out.strip() == allowed, (verb, kind, name)
