"""The kind clusters have the gates, flags and version of the local ones, which the tests run on."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from kind_programs import MODULES, assignment
from local_cluster.binaries import MODULES as CONTROL_PLANE
from local_cluster.binaries import Module
from local_cluster.profiles import apiserver_profile
from local_cluster.settings import ClusterSettings

HACK = Path(__file__).parents[2] / "hack"
FOLDER = HACK / "kind"


def kind_config(profile: str) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load((FOLDER / f"{profile}.yaml").read_text())
    return config


def flags(config: dict[str, Any]) -> dict[str, str]:
    """The API server's flags that follow from it."""
    pairs = {
        "--feature-gates": {name: str(on).lower() for name, on in config.get("featureGates", {}).items()},
        "--runtime-config": config.get("runtimeConfig", {}),
    }
    found = {flag: ",".join(f"{key}={value}" for key, value in pair.items()) for flag, pair in pairs.items() if pair}
    for node in config["nodes"]:
        for patch in node.get("kubeadmConfigPatches", []):
            arguments = yaml.safe_load(patch)["apiServer"]["extraArgs"]
            found |= {f"--{argument['name']}": argument["value"] for argument in arguments}
    return found


@pytest.mark.parametrize("profile", ["native", "crd", "stock"])
def test_a_kind_cluster_has_the_flags_of_the_local_profile(profile: str) -> None:
    wanted = apiserver_profile(ClusterSettings(profile=profile))  # type: ignore[arg-type]
    if "--feature-gates" in wanted:  # off by default: kind need not say so
        wanted["--feature-gates"] = wanted["--feature-gates"].removesuffix(",WorkloadWithJob=false")
    assert flags(kind_config(profile)) == wanted


def test_there_are_nodes_for_a_gang() -> None:
    for path in FOLDER.glob("*.yaml"):
        roles = [node["role"] for node in kind_config(path.stem)["nodes"]]
        assert roles == ["control-plane", "worker", "worker"], path


def test_every_cluster_has_the_same_kubernetes() -> None:
    (pulled,) = re.findall(
        r"^NODE_IMAGE_TAG=kindest/node:(v[\d.]+)", (HACK / "kind-settings").read_text(), re.MULTILINE
    )
    (built,) = re.findall(r"^version=(\S+)$", (FOLDER / "node-image").read_text(), re.MULTILINE)
    (nodes,) = [module.version for module in MODULES if module.path == "k8s.io/kubernetes"]
    (local,) = {module.version for module in CONTROL_PLANE if module.path == "k8s.io/kubernetes"}
    assert pulled == built == nodes == local


@pytest.mark.parametrize("module", [each for each in MODULES if each.stamps], ids=lambda module: module.directory.name)
def test_a_program_of_the_nodes_reports_the_version_that_it_is(module: Module) -> None:
    (stamp,) = module.stamps
    assert module.version.lstrip("v") == stamp.partition("=")[2].lstrip("v")


def test_a_folder_with_any_name_can_be_evaluated() -> None:
    folder = "/home/ann's $HOME/; a b"
    script = 'eval "$1"; printf %s "$LOCAL_PATH"'
    done = subprocess.run(
        ["bash", "-c", script, "bash", assignment("local-path", folder)], capture_output=True, text=True, check=True
    )
    assert done.stdout == folder


def test_the_nodes_get_the_image_of_the_tests_pods() -> None:
    (loaded,) = re.findall(r"^busybox_image=(\S+)", (FOLDER / "places").read_text(), re.MULTILINE)
    workers = HACK.parent / "tests/clusters/workers.py"
    (used,) = re.findall(r'"MUSTER_E2E_IMAGE", "([^"]+)"', workers.read_text())
    assert loaded == used
