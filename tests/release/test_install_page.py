"""The install page and the README, followed on a kind cluster, with a gang after each install."""

import json
import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.release.reader import CLUSTER, PROFILE, REGISTRY, ROOT, Reader
from version_files import project_version

PAGE, README = "docs/install.md", "README.md"
GROUP = {"native": "scheduling.k8s.io", "crd": "scheduling.k8s.io", "stock": "scheduling.muster.dev"}[PROFILE]
WITH_HELM = pytest.mark.skipif(PROFILE != "native", reason="the page's commands are those of the native API")
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
    for node in reader.run(f"kind get nodes --name {CLUSTER}").split():
        for name in (f"{REGISTRY}/muster:{reader.version}", f"docker.io/library/muster:{project_version()}"):
            tag = ["docker", "exec", node, "ctr", "--namespace", "k8s.io", "images", "tag", "--force", own, name]
            subprocess.run(tag, env={**os.environ, **reader.environment}, check=True, capture_output=True)
    reader.follow(PAGE, "krew")
    return reader


@pytest.fixture
def nothing_left(loaded: Reader) -> Iterator[None]:
    yield
    left = loaded.run(
        "kubectl get all,configmaps --all-namespaces --selector app.kubernetes.io/name=muster --output name"
    )
    hooks = loaded.run("kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations --output name")
    assert (left, "muster" in hooks) == ("", False), left + hooks


def runs_a_gang(reader: Reader, name: str) -> None:
    """Its pods are members of one PodGroup, and all of them complete."""
    reader.run("kubectl -n muster-system rollout status deployment/muster --timeout=120s")
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


@pytest.mark.skipif(PROFILE == "native", reason="the API is built in")
def test_the_crd_bundle(loaded: Reader) -> None:
    loaded.run(f"kubectl apply -f crds-{GROUP}.yaml")
    loaded.run(f"kubectl wait --for=condition=established crd/workloads.{GROUP} crd/podgroups.{GROUP} --timeout=60s")
    loaded.run(f"kubectl delete -f crds-{GROUP}.yaml")


@pytest.mark.usefixtures("nothing_left")
def test_with_kubectl(loaded: Reader) -> None:
    loaded.follow(PAGE, "kubectl install")
    runs_a_gang(loaded, "by-kubectl")
    loaded.follow(PAGE, "kubectl uninstall")
