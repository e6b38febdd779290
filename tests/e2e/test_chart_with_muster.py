"""Muster with the rights and the settings of an installed chart, and what happens to it and to Jobs when that goes.

Its process runs beside the cluster, since KWOK's nodes run none; everything else is what Helm made.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.e2e.support.api import Api, Object
from tests.e2e.support.chart import CHART, NAMESPACE, helm
from tests.e2e.support.chart_cluster import kubelet_for
from tests.e2e.support.clusters import Cluster, bare_cluster
from tests.e2e.support.command import Answer, muster
from tests.e2e.support.leaving import account_of_the_hook
from tests.e2e.support.objects import all_pods, gang_job, is_bound, pods_of
from tests.e2e.support.pairs import assert_one_pair
from tests.e2e.support.replicas import QUICK, WEBHOOKS, Replicas, merged
from tests.e2e.support.waiting import eventually

WAIT = ("--wait", "--timeout", "120s")


@pytest.fixture(scope="module")
def native() -> Iterator[Cluster]:
    cluster = bare_cluster("chart-live", "--nodes", "4")
    yield cluster
    cluster.down()


def test_an_uninstall_without_hooks_takes_the_webhooks_along_and_disturbs_no_job(
    native: Cluster, tmp_path: Path
) -> None:
    api = native.api
    before = api.create("jobs", gang_job("before"), "default")
    eventually(lambda: all_pods(api, "default", "before", 4, is_bound), "it runs without Muster")
    helm("install", "muster", str(CHART), *WAIT, "--create-namespace", kubeconfig=native.kubeconfig)
    assert registered(api) == [], "an install alone stands in nobody's way"
    api.delete("services", "muster", NAMESPACE)  # there is no kube-proxy: the one of the tests leads to loopback
    with Replicas(native, tmp_path, count=1, settings=settings_of_the_release(api)) as replicas:
        replicas.wait_until_ready()
        job = api.create("jobs", gang_job("train"), "default")
        eventually(lambda: all_pods(api, "default", "train", 4, is_bound), "the gang runs", 60)
        assert_one_pair(api, "default", job, 4)
        running = identities(api, "train") | identities(api, "before")
        helm("uninstall", "muster", "--no-hooks", *WAIT, kubeconfig=native.kubeconfig)
        eventually(lambda: registered(api) == [], "the webhooks went with the ClusterRole that owns them", 60)
        api.create("jobs", gang_job("after"), "default")
        eventually(
            lambda: all_pods(api, "default", "after", 4, is_bound), "a Job starts as if Muster had never been", 60
        )
        assert not [pod for pod in pods_of(api, "default", "after") if "schedulingGroup" in pod["spec"]]
        assert registered(api) == []
        assert identities(api, "train") | identities(api, "before") == running
        assert api.get("jobs", "before", "default")["metadata"]["uid"] == before["metadata"]["uid"]
    assert "Traceback" not in replicas.logs()


@pytest.mark.full
def test_an_uninstall_runs_muster_leave_with_the_rights_of_its_hook(native: Cluster, tmp_path: Path) -> None:
    api, answers = native.api, list[Answer]()
    helm("install", "muster", str(CHART), *WAIT, "--create-namespace", kubeconfig=native.kubeconfig)
    api.delete("services", "muster", NAMESPACE)

    def container(pod: Object) -> None:
        arguments = pod["spec"]["containers"][0]["args"]
        answers.append(muster(*arguments, kubeconfig=account_of_the_hook(native)))

    with Replicas(native, tmp_path, count=1, settings=settings_of_the_release(api)) as replicas:
        replicas.wait_until_ready()
        api.create("jobs", gang_job("left"), "default")
        eventually(lambda: all_pods(api, "default", "left", 4, is_bound), "the gang runs", 60)
        running = identities(api, "left")
        with kubelet_for(api, "leave", container):
            helm("uninstall", "muster", *WAIT, kubeconfig=native.kubeconfig)
        assert [(answer.code, answer.err) for answer in answers] == [(0, "")]
        assert registered(api) == []
        assert identities(api, "left") == running
        for kind in ("clusterroles", "clusterrolebindings"):
            assert api.find(kind, "muster-leave") is None
        for kind in ("serviceaccounts", "roles", "rolebindings"):
            assert api.find(kind, "muster-leave", NAMESPACE) is None
    assert "Traceback" not in replicas.logs()


def settings_of_the_release(api: Api) -> Object:
    settings = yaml.safe_load(api.get("configmaps", "muster", NAMESPACE)["data"]["config.yaml"])
    return merged(settings, QUICK)


def registered(api: Api) -> list[str]:
    return [kind for kind in WEBHOOKS if api.find(kind, "muster")]


def identities(api: Api, job: str) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pods_of(api, "default", job)}
