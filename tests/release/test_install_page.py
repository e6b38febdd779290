"""The install page and the README, followed on a kind cluster, with a gang after each install."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from documented_commands import file
from tests.clusters.waiting import eventually
from tests.release.reader import CLUSTER, PROFILE, REGISTRY, ROOT, Reader
from version_files import project_version

PAGE, README = "docs/install.md", "README.md"
GROUP = {"native": "scheduling.k8s.io", "crd": "scheduling.k8s.io", "stock": "scheduling.muster.dev"}[PROFILE]
WITH_HELM = pytest.mark.skipif(PROFILE != "native", reason="the page's commands are those of the native API")
pytestmark = pytest.mark.timeout(900)
"""The first test also loads the image and installs the plugin. Each command has its own limit (`Reader.run`)."""
REGISTERED_SECONDS = 90
"""Before Muster registers them without an answer, it asks its Service for up to 30 times."""
GONE_SECONDS = 60
"""A pod has `terminationGracePeriodSeconds` (30) to end."""
KINDS = (
    "all,configmaps,secrets,leases,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,networkpolicies,"
    "poddisruptionbudgets,flowschemas,prioritylevelconfigurations"
)
"""What Muster and its chart make, but for the CRDs."""
GANG = """
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, namespace: default}}
spec:
  parallelism: 3
  completions: 3
  completionMode: Indexed
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: worker
          image: {image}
          imagePullPolicy: Never
          command: [/usr/bin/python3.13, -c, "import time; time.sleep(2)"]
"""


@pytest.fixture(scope="module")
def loaded(reader: Reader) -> Reader:
    """The image is on the nodes: under its own name by the page, under those of a registry and of the clone by us."""
    reader.follow(PAGE, "image")
    own = f"docker.io/library/muster:{reader.version}"
    # Without its own name, which is that of the clone too if this is no snapshot: ctr would remove the image first.
    versions = {reader.version, project_version()}
    names = {f"{name}/muster:{version}" for name in (REGISTRY, "docker.io/library") for version in versions} - {own}
    for node in reader.run(f"kind get nodes --name {CLUSTER}").split():
        for name in sorted(names):
            tag = ["docker", "exec", node, "ctr", "--namespace", "k8s.io", "images", "tag", "--force", own, name]
            subprocess.run(tag, env={**os.environ, **reader.environment}, check=True, capture_output=True)
    reader.follow(PAGE, "krew")
    return reader


@WITH_HELM
def test_the_archive_gets_the_name_of_a_registry(reader: Reader) -> None:
    reader.follow(PAGE, "registry")
    name = f"{REGISTRY}/muster:{reader.version}"
    docker = "docker image inspect --format '{{.Id}}'"
    assert reader.run(f"{docker} {name}") == reader.run(f"{docker} muster:{reader.version}")
    reader.run(f"docker image rm {name}")


@pytest.fixture
def nothing_left(loaded: Reader) -> Iterator[None]:
    """`helm uninstall` does not wait for the pods, which take some seconds to end (`drainSeconds`)."""
    yield
    eventually(lambda: is_gone(loaded), "everything of Muster is gone", GONE_SECONDS, every=1)


def is_gone(reader: Reader) -> bool:
    left = reader.run(f"kubectl get {KINDS} --all-namespaces --selector app.kubernetes.io/name=muster --output name")
    hooks = reader.run("kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations --output name")
    assert (left, "muster" in hooks) == ("", False), left + hooks
    return True


def is_registered(reader: Reader) -> bool:
    """Muster registers its webhooks after its replicas are ready."""
    text = reader.run("kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations muster --output json")
    return all(each.get("webhooks") for each in json.loads(text)["items"])


def runs_a_gang(reader: Reader, name: str) -> None:
    """Its pods are members of one PodGroup, and all of them complete."""
    reader.run("kubectl -n muster-system rollout status deployment/muster --timeout=120s")
    eventually(lambda: is_registered(reader), "the webhooks are registered", REGISTERED_SECONDS, every=1)
    manifest = GANG.format(name=name, image=f"{REGISTRY}/muster:{reader.version}")
    reader.run(f"kubectl apply -f - <<'END'\n{manifest}END\n")
    reader.run(f"kubectl wait --for=condition=complete job/{name} --timeout=120s")
    pods = json.loads(reader.run(f"kubectl get pods --selector job-name={name} --output json"))["items"]
    groups = {_group(pod) for pod in pods}
    assert len(pods) == 3
    assert len(groups) == 1
    assert f"podgroup.{GROUP}/{groups.pop()}" in reader.run(f"kubectl get podgroups.{GROUP} --output name")
    reader.run(f"kubectl delete job {name} --wait")


def _group(pod: dict[str, Any]) -> str:
    if PROFILE == "native":
        name: str = pod["spec"]["schedulingGroup"]["podGroupName"]
        return name
    annotation: str = pod["metadata"]["annotations"]["muster.dev/pod-group"]
    return annotation


@pytest.mark.usefixtures("nothing_left")
@WITH_HELM
def test_with_helm(loaded: Reader) -> None:
    loaded.follow(PAGE, "helm install")
    runs_a_gang(loaded, "by-helm")
    loaded.follow(PAGE, "helm upgrade")
    runs_a_gang(loaded, "upgraded")
    loaded.follow(PAGE, "helm uninstall")


@pytest.mark.usefixtures("nothing_left")
@WITH_HELM
def test_by_the_readme(loaded: Reader) -> None:
    loaded.follow(README, "readme install")
    runs_a_gang(loaded, "by-readme")
    loaded.follow(PAGE, "helm uninstall")


@pytest.mark.usefixtures("nothing_left")
@WITH_HELM
def test_with_kustomize_from_the_clone(loaded: Reader) -> None:
    text = (ROOT / PAGE).read_text()
    assert "`kubectl delete -k manifests/` in a clone" in text
    loaded.follow(PAGE, "kustomize install", ROOT)
    runs_a_gang(loaded, "by-kustomize")
    loaded.run("kubectl muster leave && kubectl delete -k manifests/", ROOT)


@pytest.mark.usefixtures("nothing_left")
@WITH_HELM
def test_with_a_kustomization(loaded: Reader, tmp_path: Path) -> None:
    text = file((ROOT / PAGE).read_text(), "kustomization")
    manifests = os.path.relpath(ROOT / "manifests", tmp_path.resolve())
    for theirs, ours in (("github.com/OWNER/muster/manifests", manifests), ("REGISTRY", REGISTRY)):
        assert theirs in text
        text = text.replace(theirs, ours)
    (tmp_path / "kustomization.yaml").write_text(text)
    loaded.run("kubectl apply -k .", tmp_path)
    image = "jsonpath={.spec.template.spec.containers[0].image}"
    used = loaded.run(f"kubectl -n muster-system get deployment muster --output '{image}'")
    assert used == f"{REGISTRY}/muster:{project_version()}"
    runs_a_gang(loaded, "by-kustomization")
    loaded.run("kubectl muster leave && kubectl delete -k .", tmp_path)


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.skipif(PROFILE == "native", reason="the API is built in")
def test_the_chart_with_its_crds(loaded: Reader) -> None:
    assert "add `--set crds.install=scheduling.muster.dev` to the first command" in (ROOT / PAGE).read_text()
    loaded.follow(PAGE, "helm install", flags=f"--set crds.install={GROUP}")
    runs_a_gang(loaded, "by-chart")
    loaded.follow(PAGE, "helm uninstall")
    loaded.run(f"kubectl delete crd workloads.{GROUP} podgroups.{GROUP} --timeout=60s")


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.skipif(PROFILE == "native", reason="the API is built in")
def test_the_crd_bundle_and_the_chart_without_crds(loaded: Reader) -> None:
    """With these CRDs the page's commands for Helm are complete on any server."""
    loaded.run(f"kubectl apply -f crds-{GROUP}.yaml")
    loaded.run(f"kubectl wait --for=condition=established crd/workloads.{GROUP} crd/podgroups.{GROUP} --timeout=60s")
    loaded.follow(PAGE, "helm install")
    runs_a_gang(loaded, "by-bundle")
    loaded.follow(PAGE, "helm uninstall")
    loaded.run(f"kubectl delete -f crds-{GROUP}.yaml --timeout=60s")


@pytest.mark.usefixtures("nothing_left")
def test_with_kubectl(loaded: Reader) -> None:
    loaded.follow(PAGE, "kubectl install")
    runs_a_gang(loaded, "by-kubectl")
    loaded.follow(PAGE, "kubectl uninstall")
