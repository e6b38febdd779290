"""Muster is uninstalled in the middle of work, and installed without Helm."""

import os
from pathlib import Path

import yaml

from tests.e2e.support.chart import NAMESPACE, helm
from tests.e2e.support.clusters import ROOT
from tests.e2e.support.command import muster
from tests.e2e.support.replicas import registered
from tests.e2e.support.waiting import eventually
from tests.kind.support.creation import Creation
from tests.kind.support.installed import wait_until_ready
from tests.kind.support.jobs import UNTIL_TOLD, completes, end, gang_runs_to_its_end, real_gang, running
from tests.kind.support.machine import IMAGE, Kind

STAYS = ("Namespace//muster-system", "ConfigMap/muster-system/kube-root-ca.crt", "ServiceAccount/muster-system/default")
"""After `helm uninstall`: the namespace, which Helm made, with what Kubernetes puts into each."""


def test_it_is_uninstalled_in_the_middle_of_work(installed: Kind, namespace: str) -> None:
    api, running_on = installed.api, installed.new_namespace()
    api.create("jobs", real_gang("train", 3, UNTIL_TOLD), running_on)
    pods = running(api, running_on, "train", 3)
    with Creation(api, namespace) as creation:
        helm("uninstall", "muster", "--wait", "--timeout", "180s", kubeconfig=installed.kubeconfig)
        assert registered(api) == []
        creation.more()
        ended = creation.outcome()
    assert ended.gangs[:1] == creation.names[:1], "Muster was there"
    assert creation.names[-1] in ended.plain, "Muster was not there any more"
    assert {pod["metadata"]["uid"] for pod in running(api, running_on, "train", 3)} == {
        pod["metadata"]["uid"] for pod in pods
    }, "a gang that ran was disturbed"
    for pod in pods:
        end(installed, pod, 0)
    completes(api, running_on, "train")
    api.delete("namespaces", running_on)
    eventually(lambda: installed.left_behind(STAYS) == [], f"nothing is left: {installed.left_behind(STAYS)}", 30)


def test_kubectl_apply_k_instead_of_helm(native: Kind, namespace: str, tmp_path: Path) -> None:
    folder = _kustomization(tmp_path)
    if native.api.find("namespaces", NAMESPACE):
        native.kubectl("delete", "namespace", NAMESPACE)
    native.kubectl("apply", "-k", str(folder))
    wait_until_ready(native)
    gang_runs_to_its_end(native, namespace)
    left = muster("leave", kubeconfig=native.kubeconfig)
    assert (left.code, left.err) == (0, ""), left.out
    native.kubectl("delete", "-k", str(folder), "--timeout=100s")
    eventually(lambda: native.left_behind() == [], f"nothing is left: {native.left_behind()}", 30)


def test_no_namespace_hangs(native: Kind) -> None:
    """All that the scenarios made are gone, with Muster gone."""
    native.assert_no_namespace_hangs()


def _kustomization(folder: Path) -> Path:
    """As docs/install.md has it: the folder of manifests, with the image that the nodes have."""
    name, _, tag = IMAGE.rpartition(":")
    body = {
        "resources": [os.path.relpath(ROOT / "manifests", folder.resolve())],
        "images": [{"name": "muster", "newName": name, "newTag": tag}],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(body))
    return folder
