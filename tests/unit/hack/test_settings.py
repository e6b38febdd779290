from typing import Any

import pytest

from local_cluster.errors import ClusterError
from local_cluster.layout import ClusterLayout
from local_cluster.nodes import RACK_LABEL, ZONE_LABEL, node_manifests
from local_cluster.settings import ClusterSettings


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        pytest.param({"profile": "x"}, "no profile 'x'", id="an unknown profile"),
        pytest.param({"profile": "crd", "in_tree": True}, "--in-tree needs --profile native", id="in-tree elsewhere"),
        pytest.param({"nodes": -1}, "--nodes cannot be negative", id="a negative number of nodes"),
        pytest.param({"node_cpu": "many"}, "--node-cpu 'many' is not a quantity", id="a CPU count that is a word"),
        pytest.param({"apiserver_flags": ("v=1",)}, "--name=value", id="a flag without dashes"),
        pytest.param({"kcm_flags": ("--v",)}, "--name=value", id="a flag without a value"),
    ],
)
def test_wrong_settings_are_refused(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ClusterError, match=sentence):
        ClusterSettings(**fields)


def test_settings_survive_being_written_and_read() -> None:
    settings = ClusterSettings(profile="crd", nodes=7, apiserver_flags=("--a=1", "--b=2"))
    assert ClusterSettings.from_json(settings.to_json()) == settings


def test_differences_name_the_options() -> None:
    different = ClusterSettings(node_cpu="4").differences(ClusterSettings())
    assert different == ["--node-cpu '4' (not '8')"]


@pytest.mark.parametrize("name", ["", "Upper", "a/b", "..", "-a", "a" * 51])
def test_a_name_that_is_no_directory_is_refused(name: str) -> None:
    with pytest.raises(ClusterError, match="cluster name"):
        ClusterLayout.of(name)


@pytest.mark.parametrize(
    ("racks", "zones", "places"),
    [
        pytest.param(
            4,
            2,
            ["rack-0 zone-0", "rack-1 zone-1", "rack-2 zone-0", "rack-3 zone-1", "rack-0 zone-0"],
            id="nodes go round the racks, racks round the zones",
        ),
        pytest.param(
            3,
            2,
            ["rack-0 zone-0", "rack-1 zone-1", "rack-2 zone-0", "rack-0 zone-0", "rack-1 zone-1"],
            id="a rack never spans two zones",
        ),
        pytest.param(0, 2, [f"- zone-{index % 2}" for index in range(5)], id="zones alone"),
        pytest.param(0, 0, ["- -"] * 5, id="no labels"),
    ],
)
def test_topology_labels(racks: int, zones: int, places: list[str]) -> None:
    nodes = node_manifests(ClusterSettings(nodes=5, racks=racks, zones=zones))
    found = [node["metadata"]["labels"] for node in nodes]
    assert [f"{labels.get(RACK_LABEL, '-')} {labels.get(ZONE_LABEL, '-')}" for labels in found] == places
