"""The chart on a real API server: every object strictly checked, then installed, upgraded and uninstalled by Helm.

The nodes are KWOK's, so Muster's own pods "run" there without a process in them: what is tested is what Helm and the
API server do. The CRDs of cert-manager and of the Prometheus operator are stand-ins (support/foreign_crds.py).
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clusters.api import Api, Object
from tests.clusters.chart import CHART, NAMESPACE, VALUES, helm, rendered, run_tool
from tests.clusters.chart_cluster import (
    OWN,
    crds_of_muster,
    described,
    everything_in,
    flow_schema_of_calls,
    kubectl,
    kubelet_for,
    make_workload,
    older_chart,
    strictly,
)
from tests.clusters.cluster import ROOT, Cluster, bare_cluster, hack_cluster
from tests.clusters.command import muster
from tests.clusters.waiting import eventually
from tests.e2e.support.foreign_crds import definitions

WAIT = ("--wait", "--timeout", "120s")
WITH_CRDS = ("--set", f"crds.install={OWN}")
RESTRICTED = {f"pod-security.kubernetes.io/{how}": "restricted" for how in ("enforce", "warn")}


@pytest.fixture(scope="module")
def stock() -> Iterator[Cluster]:
    cluster = bare_cluster("chart", "--profile", "stock", "--nodes", "2")
    for definition in definitions():
        cluster.api.create("customresourcedefinitions", definition)
    cluster.api.create("namespaces", {"metadata": {"name": NAMESPACE, "labels": RESTRICTED}})
    yield cluster
    cluster.down()


@pytest.fixture
def clean(stock: Cluster) -> Iterator[Cluster]:
    """Nothing of Muster is left for the next test."""
    yield stock
    run_tool("helm", "uninstall", "muster", "--no-hooks", "--ignore-not-found", *WAIT, *login(stock))
    for name in crds_of_muster(stock.api):
        stock.api.delete("customresourcedefinitions", name)
    eventually(lambda: not crds_of_muster(stock.api), "the CRDs are gone")


def login(cluster: Cluster) -> tuple[str, ...]:
    return ("--kubeconfig", str(cluster.kubeconfig), "--namespace", NAMESPACE)


@pytest.mark.parametrize("values", VALUES)
def test_a_strict_api_server_accepts_every_object(stock: Cluster, values: str) -> None:
    documents = rendered(values)
    answer = strictly(stock, documents)
    assert (answer.code, answer.err) == (0, ""), "not even a warning"
    assert len(answer.out.splitlines()) == len(documents) >= 10


def test_the_api_server_is_indeed_strict(stock: Cluster) -> None:
    kinds = {"Deployment", "ServiceMonitor", "PrometheusRule", "FlowSchema", "NetworkPolicy"}
    documents = [document for document in rendered("everything") if document["kind"] in kinds]
    for document in documents:
        document["spec"]["misspelt"] = True
    refused = strictly(stock, documents)
    assert refused.code != 0
    assert refused.err.count(".spec.misspelt: field not declared in schema") == len(documents)
    assert {document["kind"] for document in documents} == kinds


def test_kustomize_applies_the_manifests(clean: Cluster) -> None:
    dry = ("--server-side", "--dry-run=server", "--validate=strict", "--force-conflicts")
    answer = kubectl(clean, "apply", *dry, "-k", str(ROOT / "manifests"))
    assert (answer.code, answer.err) == (0, "")
    kinds = {line.partition("/")[0] for line in answer.out.splitlines()}
    assert {"deployment.apps", "namespace", "serviceaccount", "flowschema.flowcontrol.apiserver.k8s.io"} <= kinds
    assert "job.batch" not in kinds, "hooks are Helm's"


def test_an_installed_chart_leaves_nothing_but_its_crds(clean: Cluster) -> None:
    before = everything_in(clean)
    notes = helm("install", "muster", str(CHART), *WAIT, *WITH_CRDS, kubeconfig=clean.kubeconfig)
    assert "kubectl -n muster-system rollout status deployment/muster" in notes
    pods = clean.api.list("pods", NAMESPACE, labelSelector="app.kubernetes.io/component=operator")
    assert len(pods) == 2, "they exist although the namespace is restricted"
    schema = clean.api._call("GET", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/muster")
    assert flow_schema_of_calls(Api(clean.muster_kubeconfig())) == schema["metadata"]["uid"]
    with kubelet_for(clean.api, "leave", lambda pod: run_as_its_account(clean, pod)) as left:
        helm("uninstall", "muster", *WAIT, kubeconfig=clean.kubeconfig)
    assert len(left) == 1, "`muster leave` was run, with the rights of its pod"
    crds = {f"CustomResourceDefinition//{kind}.{OWN}" for kind in ("podgroups", "workloads")}

    def only_crds_are_new() -> bool:
        assert everything_in(clean) - before == crds
        return True

    eventually(only_crds_are_new, "everything else is gone", 60)


def run_as_its_account(cluster: Cluster, pod: Object) -> int:
    """What the pod's one container does."""
    account = f"{NAMESPACE}/{pod['spec']['serviceAccountName']}"
    login = Path(hack_cluster("kubeconfig", "--name", cluster.name, "--service-account", account))
    (container,) = pod["spec"]["containers"]
    answer = muster(*container["args"], kubeconfig=login)
    print(answer.err + answer.out)
    return answer.code


@pytest.mark.full
def test_an_uninstall_stops_when_its_hook_fails_and_completes_later(clean: Cluster) -> None:
    """Somebody took the rights of the hook's account away."""
    few = ("--set", "leave.waitSeconds=0", "--set", "leave.timeoutSeconds=100")
    helm("install", "muster", str(CHART), *WAIT, *few, kubeconfig=clean.kubeconfig)

    def without_rights(pod: Object) -> int:
        if clean.api.find("clusterrolebindings", "muster-leave"):
            clean.api.delete("clusterrolebindings", "muster-leave")
        return run_as_its_account(clean, pod)

    with kubelet_for(clean.api, "leave", without_rights, pods=3) as tried:
        stopped = run_tool("helm", "uninstall", "muster", "--wait", "--timeout", "150s", *login(clean))
    assert len(tried) == 3, "the first, and two more tries"
    assert stopped.code != 0
    assert "muster-leave" in stopped.err
    assert clean.api.find("clusterroles", "muster"), "nothing of the release is gone"
    assert kubectl(clean, "get", "deployment/muster", "--namespace", NAMESPACE).code == 0
    with kubelet_for(clean.api, "leave", lambda pod: run_as_its_account(clean, pod)):
        helm("uninstall", "muster", *WAIT, kubeconfig=clean.kubeconfig)
    assert clean.api.find("clusterroles", "muster") is None


def test_the_next_chart_brings_its_crds_and_keeps_their_objects(clean: Cluster, tmp_path: Path) -> None:
    helm("install", "muster", str(older_chart(tmp_path)), *WAIT, *WITH_CRDS, kubeconfig=clean.kubeconfig)
    is_kept = make_workload(clean.api)
    assert described(clean.api) == "Older."
    changes = ("--reset-then-reuse-values", "--set", "replicas=3", "--set", "metrics.serviceMonitor.enabled=true")
    helm("upgrade", "muster", str(CHART), *WAIT, *changes, kubeconfig=clean.kubeconfig)
    assert described(clean.api) != "Older."
    assert is_kept()
    ready = kubectl(
        clean, "get", "deployment/muster", "--namespace", NAMESPACE, "--output=jsonpath={.status.readyReplicas}"
    )
    assert ready.out == "3"
    helm("uninstall", "muster", "--no-hooks", *WAIT, kubeconfig=clean.kubeconfig)
    assert is_kept(), "an uninstall deletes no Workload"
    helm("install", "muster", str(CHART), *WAIT, *WITH_CRDS, kubeconfig=clean.kubeconfig)
    assert is_kept(), "and the CRDs that were kept are taken over"


def test_the_chart_does_not_install_crds_that_would_never_be_served(clean: Cluster) -> None:
    dead = ("--set", "crds.install=scheduling.k8s.io")
    message = run_tool("helm", "install", "muster", str(CHART), *dead, *login(clean)).err
    assert "would never be served; use scheduling.muster.dev" in message
    assert not crds_of_muster(clean.api)


def test_there_is_one_muster_in_a_cluster(clean: Cluster) -> None:
    helm("install", "muster", str(CHART), kubeconfig=clean.kubeconfig)
    second = run_tool("helm", "install", "another", str(CHART), *login(clean))
    assert second.code != 0
    assert 'must equal "another": current value is "muster"' in second.err


@pytest.mark.full
def test_crds_have_one_owner(clean: Cluster) -> None:
    """Helm does not overwrite what `muster crds install` made, nor the other way round."""
    assert muster("crds", "install", kubeconfig=clean.kubeconfig).code == 0
    refused = run_tool("helm", "install", "muster", str(CHART), *WITH_CRDS, *login(clean))
    assert "cannot be imported into the current release" in refused.err
    taken = ("upgrade", "muster", str(CHART), "--install", "--take-ownership", "--force-conflicts", *WITH_CRDS)
    helm(*taken, kubeconfig=clean.kubeconfig)
    answer = muster("crds", "install", kubeconfig=clean.kubeconfig)
    assert answer.code != 0
    assert "Muster did not create it. Muster does not change it" in answer.err


def test_the_namespace_can_be_taken_over_and_stays(clean: Cluster) -> None:
    create = ("--set", "namespace.create=true", "--take-ownership")
    helm("install", "muster", str(CHART), *create, kubeconfig=clean.kubeconfig)
    helm("uninstall", "muster", "--no-hooks", *WAIT, kubeconfig=clean.kubeconfig)
    labels = clean.api.get("namespaces", NAMESPACE)["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


@pytest.mark.full
def test_where_the_group_is_free_its_crds_are_installed_and_served() -> None:
    cluster = bare_cluster("chart-crd", "--profile", "crd", "--nodes", "1")
    try:
        flags = ("--create-namespace", "--set", "crds.install=scheduling.k8s.io")
        helm("install", "muster", str(CHART), *WAIT, *flags, kubeconfig=cluster.kubeconfig)
        path = "/apis/scheduling.k8s.io/v1alpha2/podgroups"
        eventually(lambda: cluster.api.raw(path)[0] == 200, "the CRDs are served")
    finally:
        cluster.down()
