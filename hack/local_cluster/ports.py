"""Free ports on the loopback interface."""

from __future__ import annotations

import dataclasses
import json
import random
import socket
from collections.abc import Iterator

from local_cluster.components import Ports
from local_cluster.errors import ClusterError
from local_cluster.layout import clusters_root

# Below the range of ephemeral ports, so that no other process gets a port while its server restarts.
_RANGE = range(20000, 32000)


def free_ports() -> Ports:
    candidates = list(free_loopback_ports())
    needed = len(dataclasses.fields(Ports))
    if len(candidates) < needed:
        raise ClusterError(f"No free port between {_RANGE.start} and {_RANGE.stop} on 127.0.0.1: stop what uses them.")
    return Ports(*candidates[:needed])


def free_loopback_ports() -> Iterator[int]:
    """Free ports in random order."""
    taken = _ports_of_other_clusters()
    return (port for port in random.sample(_RANGE, 200) if port not in taken and _is_free(port))


def _ports_of_other_clusters() -> set[int]:
    """Including those of clusters that do not listen yet."""
    taken: set[int] = set()
    for plan in clusters_root().glob("*/plan.json"):
        try:
            taken.update(json.loads(plan.read_text())["ports"].values())
        except (OSError, ValueError, KeyError):
            continue
    return taken


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
