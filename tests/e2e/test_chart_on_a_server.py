"""The chart on a real API server: every object strictly checked, then installed, upgraded and uninstalled by Helm.

The nodes are KWOK's, so Muster's own pods "run" there without a process in them: what is tested is what Helm and the API
server do. For the objects of cert-manager and of the Prometheus operator there are stand-ins (support/foreign_crds.py).
"""

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.e2e.support.api import Api, Object
from tests.e2e.support.chart import CHART, NAMESPACE, VALUES, helm, path_of, rendered, run_tool
from tests.e2e.support.clusters import ROOT, Cluster, bare_cluster, hack_cluster
from tests.e2e.support.command import Answer, muster
from tests.e2e.support.foreign_crds import definitions
from tests.e2e.support.waiting import eventually

OWN = "scheduling.muster.dev"
WAIT = ("--wait", "--timeout", "120s")
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
    """Without a release before and after."""
    yield stock
    run_tool("helm", "uninstall", "muster", "--no-hooks", "--ignore-not-found", *login(stock))
    for name in crds_of_muster(stock.api):
        stock.api.delete("customresourcedefinitions", name)
    eventually(lambda: not crds_of_muster(stock.api), "the CRDs are gone")


def login(cluster: Cluster) -> tuple[str, ...]:
    return ("--kubeconfig", str(cluster.kubeconfig), "--namespace", NAMESPACE)


def kubectl(cluster: Cluster, *arguments: str, stdin: str = "") -> Answer:
    command = [ROOT / "hack/cluster", "kubectl", "--name", cluster.name, *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=120)
    return Answer(done.returncode, done.stdout, done.stderr)


def crds_of_muster(api: Api) -> list[str]:
    names = [item["metadata"]["name"] for item in api.list("customresourcedefinitions")]
    return [name for name in names if name.endswith((OWN, "scheduling.k8s.io"))]


def strictly(cluster: Cluster, documents: list[Object]) -> Answer:
    """What the API server would say to all of it."""
    text = yaml.safe_dump_all(documents)
    return kubectl(cluster, "apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-", stdin=text)


@pytest.mark.parametrize("values", VALUES)
def test_a_strict_api_server_takes_every_object(stock: Cluster, values: str) -> None:
    documents = rendered(values)
    answer = strictly(stock, documents)
    assert (answer.code, answer.err) == (0, ""), "not even a warning"
    assert len(answer.out.splitlines()) == len(documents) > 10


def test_the_api_server_is_indeed_strict(stock: Cluster) -> None:
    documents = rendered("everything")
    for document in documents:
        if document["kind"] in {"Deployment", "ServiceMonitor", "Certificate", "FlowSchema"}:
            document["spec"]["misspelt"] = True
    refused = strictly(stock, documents).err
    assert refused.count('unknown field "spec.misspelt"') + refused.count(".spec.misspelt: field not declared") == 3


def test_kustomize_applies_the_manifests(clean: Cluster) -> None:
    answer = kubectl(clean, "apply", "--server-side", "--dry-run=server", "--validate=strict", "-k", str(ROOT / "manifests"))
    assert (answer.code, answer.err) == (0, "")
    kinds = {line.partition("/")[0] for line in answer.out.splitlines()}
    assert {"deployment.apps", "namespace", "serviceaccount", "flowschema.flowcontrol.apiserver.k8s.io"} <= kinds
    assert "job.batch" not in kinds, "hooks are Helm's"
    assert "helm" not in "".join(path.read_text().lower() for path in (ROOT / "manifests").glob("[!k]*.yaml")).replace(
        "`helm test`", ""
    )


def test_an_installed_chart_is_left_without_a_trace(clean: Cluster) -> None:
    before = everything_in(clean)
    notes = helm("install", "muster", str(CHART), *WAIT, "--set", f"crds.install={OWN}", kubeconfig=clean.kubeconfig)
    assert "kubectl -n muster-system rollout status deployment/muster" in notes
    pods = clean.api.list("pods", NAMESPACE, labelSelector="app.kubernetes.io/component=operator")
    assert len(pods) == 2, "they exist although the namespace is restricted"
    its_calls_have_a_priority_of_their_own(clean)
    with kubelet_for_one_pod(clean.api, "leave") as left:
        helm("uninstall", "muster", *WAIT, kubeconfig=clean.kubeconfig)
    assert left() == ["leave"]
    gone = eventually(lambda: names_only(before, everything_in(clean)), "everything is gone")
    assert gone == {f"customresourcedefinition.apiextensions.k8s.io/{kind}.{OWN}" for kind in ("podgroups", "workloads")}


def test_the_next_chart_brings_its_crds_and_keeps_their_objects(clean: Cluster, tmp_path: Path) -> None:
    helm("install", "muster", str(older_chart(tmp_path)), *WAIT, "--set", f"crds.install={OWN}", kubeconfig=clean.kubeconfig)
    kept = made_workload(clean.api)
    assert described(clean.api) == "Older."
    changes = ("--reset-then-reuse-values", "--set", "replicas=3", "--set", "metrics.serviceMonitor.enabled=true")
    helm("upgrade", "muster", str(CHART), *WAIT, *changes, kubeconfig=clean.kubeconfig)
    assert described(clean.api) != "Older."
    assert clean.api.raw(f"{kept}")[0] == 200
    assert len(clean.api.list("pods", NAMESPACE, labelSelector="app.kubernetes.io/component=operator")) >= 3
    helm("uninstall", "muster", "--no-hooks", *WAIT, kubeconfig=clean.kubeconfig)
    assert clean.api.raw(f"{kept}")[0] == 200, "an uninstall deletes no Workload"
    helm("install", "muster", str(CHART), *WAIT, "--set", f"crds.install={OWN}", kubeconfig=clean.kubeconfig)
    assert clean.api.raw(f"{kept}")[0] == 200, "and the CRDs that were kept are taken over"


def test_crds_that_would_be_dead_are_not_installed(clean: Cluster) -> None:
    told = run_tool("helm", "install", "muster", str(CHART), "--set", "crds.install=scheduling.k8s.io", *login(clean)).err
    assert "would never be served; use scheduling.muster.dev" in told
    assert not crds_of_muster(clean.api)


def test_there_is_one_muster_in_a_cluster(clean: Cluster) -> None:
    helm("install", "muster", str(CHART), kubeconfig=clean.kubeconfig)
    second = run_tool("helm", "install", "another", str(CHART), *login(clean))
    assert second.code != 0
    assert 'must equal "another": current value is "muster"' in second.err


def test_crds_have_one_keeper(clean: Cluster) -> None:
    """Helm does not overwrite what `muster crds install` made, nor the other way round."""
    assert muster("crds", "install", kubeconfig=clean.kubeconfig).code == 0
    refused = run_tool("helm", "install", "muster", str(CHART), "--set", f"crds.install={OWN}", *login(clean))
    assert "cannot be imported into the current release" in refused.err
    flags = ("--take-ownership", "--set", f"crds.install={OWN}")
    helm("upgrade", "muster", str(CHART), "--install", *flags, kubeconfig=clean.kubeconfig)
    told = muster("crds", "install", kubeconfig=clean.kubeconfig)
    assert told.code != 0
    assert "it is not Muster's: it stays as it is" in told.err


def test_the_namespace_can_be_taken_over_and_stays(clean: Cluster) -> None:
    create = ("--set", "namespace.create=true", "--take-ownership")
    helm("install", "muster", str(CHART), *create, kubeconfig=clean.kubeconfig)
    helm("uninstall", "muster", "--no-hooks", *WAIT, kubeconfig=clean.kubeconfig)
    labels = clean.api.get("namespaces", NAMESPACE)["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


def test_where_the_group_is_free_its_crds_are_installed_and_served() -> None:
    cluster = bare_cluster("chart-crd", "--profile", "crd", "--nodes", "1")
    try:
        flags = ("--create-namespace", "--set", "crds.install=scheduling.k8s.io")
        helm("install", "muster", str(CHART), *WAIT, *flags, kubeconfig=cluster.kubeconfig)
        path = "/apis/scheduling.k8s.io/v1alpha2/podgroups"
        eventually(lambda: cluster.api.raw(path)[0] == 200, "the CRDs are served")
    finally:
        cluster.down()
