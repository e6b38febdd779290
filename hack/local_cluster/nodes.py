"""The KWOK nodes of a cluster."""

from __future__ import annotations

from typing import Any

from local_cluster.settings import ClusterSettings

ZONE_LABEL = "topology.kubernetes.io/zone"
RACK_LABEL = "topology.muster.dev/rack"


def node_manifests(settings: ClusterSettings) -> list[dict[str, Any]]:
    return [_node(settings, index) for index in range(settings.nodes)]


def topology_labels(settings: ClusterSettings, index: int) -> dict[str, str]:
    """Nodes are assigned round robin to racks, and racks round robin to zones, so that a rack is in one zone."""
    labels: dict[str, str] = {}
    position = index
    if settings.racks:
        position = index % settings.racks
        labels[RACK_LABEL] = f"rack-{position}"
    if settings.zones:
        labels[ZONE_LABEL] = f"zone-{position % settings.zones}"
    return labels


def _node(settings: ClusterSettings, index: int) -> dict[str, Any]:
    name = f"node-{index}"
    room = {"cpu": settings.node_cpu, "memory": settings.node_memory, "pods": str(settings.node_pods)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "type": "kwok",
                **topology_labels(settings, index),
            },
        },
        "status": {"capacity": room, "allocatable": room},
    }
