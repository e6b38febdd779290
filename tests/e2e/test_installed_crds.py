"""An installed Muster on plain Kubernetes: one webhook more, since the API server does not know PodGroups."""

from pathlib import Path

import pytest

from tests.clusters.cluster import Cluster, start_cluster
from tests.clusters.command import muster as command
from tests.clusters.objects import POD_GROUP_ANNOTATION, all_pods, gang_job
from tests.clusters.replicas import Replicas, registered
from tests.clusters.waiting import eventually

pytestmark = pytest.mark.full


def test_the_webhooks_follow_the_api(tmp_path: Path) -> None:
    stock = start_cluster("installed", "--profile", "stock", "--nodes", "2")
    try:
        with Replicas(stock, tmp_path) as replicas:
            eventually(lambda: "muster crds install" in replicas[0].readyz()[1], "it says what to do", 60)
            assert registered(stock.api) == []
            assert command("crds", "install", kubeconfig=stock.kubeconfig).code == 0
            replicas.wait_until_ready(90)
            webhooks = stock.api.get("mutatingwebhookconfigurations", "muster")["webhooks"]
            assert [each["name"] for each in webhooks] == ["pods.muster.dev", "pod-groups.muster.dev"]
            runs_as_a_group(stock)
            stock.restart("--profile", "native")
            eventually(
                lambda: "because gangs of that API exist" in replicas.logs(), "Muster says why it keeps the CRDs", 60
            )
            assert len(_gate(stock)) == 2
            stock.api.delete("jobs", "train", "default")
            eventually(lambda: len(_gate(stock)) == 1, "the webhooks are those of the built-in API", 120)
        assert "Traceback" not in replicas.logs()
    finally:
        stock.down()


def runs_as_a_group(stock: Cluster) -> None:
    own = Cluster(stock.kubeconfig, stock.name, "scheduling.muster.dev")
    own.api.create("jobs", gang_job("train"), "default")
    pods = eventually(lambda: all_pods(own.api, "default", "train", 4), "four pods", 60)
    (group,) = own.api.list("podgroups", "default")
    assert {pod["metadata"]["annotations"][POD_GROUP_ANNOTATION] for pod in pods} == {group["metadata"]["name"]}


def _gate(stock: Cluster) -> list[object]:
    found = stock.api.find("mutatingwebhookconfigurations", "muster") or {}
    return list(found.get("webhooks") or [])
