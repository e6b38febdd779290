"""Nodes that one test has for itself, so that it knows exactly what fits, whatever else the cluster runs."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.e2e.support.api import Api, Object
from tests.e2e.support.waiting import eventually

POOL = "test.muster.dev/pool"
RACK = "test.muster.dev/rack"


@contextmanager
def own_nodes(api: Api, pool: str, count: int, cpu: int, racks: int = 1) -> Iterator[Object]:
    """Nodes that nothing else is scheduled to, in racks; the part of a pod's spec that leads there."""
    names = [f"{pool}-{number}" for number in range(count)]
    for number, name in enumerate(names):
        api.create("nodes", _node(name, pool, cpu, f"{pool}-{number % racks}"))
    try:
        eventually(lambda: all(_is_ready(api.get("nodes", name)) for name in names), "the nodes are ready")
        yield {
            "nodeSelector": {POOL: pool},
            "tolerations": [{"key": POOL, "operator": "Exists"}],
        }
    finally:
        for name in names:
            api.delete("nodes", name)


def give_room(api: Api, pool: str, cpu: int, number: int = 0) -> None:
    """Make one of the nodes another size. Pods that run on it stay."""
    body = {"status": {"capacity": _room(cpu), "allocatable": _room(cpu)}}
    api.patch("nodes", f"{pool}-{number}", body, part="/status")


def _room(cpu: int) -> Object:
    return {"cpu": str(cpu), "memory": "64Gi", "pods": "100"}


def _node(name: str, pool: str, cpu: int, rack: str) -> Object:
    return {
        "metadata": {"name": name, "labels": {POOL: pool, RACK: rack, "type": "kwok"}},
        "spec": {"taints": [{"key": POOL, "value": pool, "effect": "NoSchedule"}]},
        "status": {"capacity": _room(cpu), "allocatable": _room(cpu)},
    }


def _is_ready(node: Object) -> bool:
    """The scheduler takes it: it is ready, and the taints of a node that has just come are off."""
    conditions = node.get("status", {}).get("conditions", [])
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    return ready and {taint["key"] for taint in node["spec"].get("taints", [])} == {POOL}
