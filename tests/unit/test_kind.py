"""The kind clusters have the gates and flags of the local ones, which the tests run on."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from local_cluster.profiles import apiserver_profile
from local_cluster.settings import ClusterSettings

FOLDER = Path(__file__).parents[2] / "hack/kind"


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
