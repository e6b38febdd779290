"""Nodes that one test has for itself, so that it knows exactly what fits, whatever else the cluster runs.

Where KWOK plays the nodes, a test gets new ones. Where there are kubelets it borrows nodes: a taint keeps everybody
else away, a pod takes up what is too much, and all of that goes with the test.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import pytest

from tests.clusters.api import Api, Object
from tests.clusters.waiting import eventually
from tests.clusters.workers import MILLICORES, has_kubelet, worker

POOL = "test.muster.dev/pool"
RACK = "test.muster.dev/rack"
LEAVES_SECONDS = 60
BALLAST_NAMESPACE = "default"


@dataclass(frozen=True)
class Pool:
    """Nodes with room for so many pods each, of the size that tests' pods have."""

    api: Api
    name: str
    nodes: tuple[str, ...]

    @property
    def where(self) -> Object:
        """The part of a pod's spec that leads there."""
        return {"nodeSelector": {POOL: self.name}, "tolerations": [{"key": POOL, "operator": "Exists"}]}

    def close(self) -> None:
        """No node takes another pod. Those that they have stay."""
        for name in self.nodes:
            self.api.patch("nodes", name, {"spec": {"unschedulable": True}})

    def open(self) -> None:
        for name in self.nodes:
            self.api.patch("nodes", name, {"spec": {"unschedulable": None}})

    def give_room(self, pods: int) -> None:
        """More room, on each node."""
        for name in self.nodes:
            if has_kubelet(self.api.get("nodes", name)):
                _unload(self.api, name)
                _load(self.api, name, pods)
            else:
                body = {"status": {"capacity": _room(pods), "allocatable": _room(pods)}}
                self.api.patch("nodes", name, body, part="/status")


@contextmanager
def own_nodes(api: Api, pool: str, count: int, room: int, racks: int = 1) -> Iterator[Pool]:
    """Nodes that nothing else is scheduled to, in racks, with room for so many pods each."""
    kubelets = any(has_kubelet(node) for node in api.list("nodes"))
    with (_borrowed if kubelets else _made)(api, pool, count, room, racks) as names:
        yield Pool(api, pool, names)


def waiting_for(api: Api, why: str) -> str:
    """How the scheduler's sentence begins when no node takes a pod."""
    return f"{why}: 0/{len(api.list('nodes'))} nodes are available: "


def need_room_for(api: Api, pods: int) -> None:
    """Skips the test where the cluster has less."""
    used = api.list("pods", fieldSelector="status.phase!=Succeeded,status.phase!=Failed")
    room = sum(int(node["status"]["allocatable"]["pods"]) for node in api.list("nodes") if _takes_pods(node))
    if room - len(used) < pods:
        pytest.skip(f"needs room for {pods} pods; this cluster's nodes have {room}, of which {len(used)} are taken")


@contextmanager
def _made(api: Api, pool: str, count: int, room: int, racks: int) -> Iterator[tuple[str, ...]]:
    names = tuple(f"{pool}-{number}" for number in range(count))
    for number, name in enumerate(names):
        api.create("nodes", _node(name, pool, room, f"{pool}-{number % racks}"))
    try:
        eventually(lambda: all(_takes_only_ours(api.get("nodes", name)) for name in names), "the nodes are ready")
        yield names
    finally:
        for name in names:
            api.delete("nodes", name)


@contextmanager
def _borrowed(api: Api, pool: str, count: int, room: int, racks: int) -> Iterator[tuple[str, ...]]:
    for node in api.list("nodes"):  # an earlier run may have been killed
        if POOL in node["metadata"]["labels"]:
            _give_back(api, node["metadata"]["name"])
    usable = [node["metadata"]["name"] for node in api.list("nodes") if _takes_pods(node)]
    if len(usable) < count:
        pytest.skip(f"needs {count} nodes for itself; this cluster has {len(usable)} that take pods")
    names = tuple(sorted(usable, key=lambda name: _free(api, name), reverse=True)[:count])
    try:
        for number, name in enumerate(names):
            taints = [*api.get("nodes", name)["spec"].get("taints", []), _taint(pool)]
            labels = {POOL: pool, RACK: f"{pool}-{number % racks}"}
            api.patch("nodes", name, {"metadata": {"labels": labels}, "spec": {"taints": taints}})
        for name in names:
            eventually(partial(_is_settled, api, name), f"earlier tests' pods have left {name}", LEAVES_SECONDS)
            _load(api, name, room)
        yield names
    finally:
        for name in names:
            _give_back(api, name)


def _give_back(api: Api, name: str) -> None:
    _unload(api, name)
    kept = [taint for taint in api.get("nodes", name)["spec"].get("taints", []) if taint["key"] != POOL]
    body = {"metadata": {"labels": {POOL: None, RACK: None}}, "spec": {"taints": kept, "unschedulable": None}}
    api.patch("nodes", name, body)


def _load(api: Api, node: str, pods: int) -> None:
    """A pod takes up all but the room for so many pods."""
    too_much = _free(api, node) - pods * MILLICORES
    if too_much < 0:
        pytest.skip(f"needs {pods * MILLICORES}m of CPU on a node; {node} has {_free(api, node)}m left")
    spec = {
        "nodeName": node,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "containers": [worker(f"{too_much}m")],
    }
    name = _ballast(node)
    api.create("pods", {"metadata": {"name": name}, "spec": spec}, BALLAST_NAMESPACE)

    def runs() -> bool:
        status = api.get("pods", name, BALLAST_NAMESPACE)["status"]
        assert status["phase"] == "Running", f"{status['phase']}: {status.get('message', '')}"
        return True

    eventually(runs, f"{name} runs", LEAVES_SECONDS)


def _unload(api: Api, node: str) -> None:
    name = _ballast(node)
    if api.find("pods", name, BALLAST_NAMESPACE):
        api.delete("pods", name, BALLAST_NAMESPACE)
    eventually(lambda: api.find("pods", name, BALLAST_NAMESPACE) is None, f"{name} is gone", LEAVES_SECONDS)


def _ballast(node: str) -> str:
    return f"muster-e2e-ballast-{node}"


def _free(api: Api, node: str) -> int:
    """Millicores that no pod on the node has asked for."""
    has = millicores(api.get("nodes", node)["status"]["allocatable"]["cpu"])
    return has - sum(_requested(pod) for pod in _pods_on(api, node))


def _pods_on(api: Api, node: str) -> list[Object]:
    selector = f"spec.nodeName={node},status.phase!=Succeeded,status.phase!=Failed"
    return api.list("pods", fieldSelector=selector)


def _is_settled(api: Api, node: str) -> bool:
    """Nothing that is there is about to go: its room would be found by the test's pods."""
    going = {thing["metadata"]["name"] for thing in api.list("namespaces") if "deletionTimestamp" in thing["metadata"]}
    leaving = [
        pod["metadata"]["name"]
        for pod in _pods_on(api, node)
        if "deletionTimestamp" in pod["metadata"] or pod["metadata"]["namespace"] in going
    ]
    assert not leaving, f"still there: {leaving[:3]}"
    return True


def _requested(pod: Object) -> int:
    asked = [[c.get("resources", {}).get("requests", {}).get("cpu", "0") for c in pod["spec"].get(kind, [])]
             for kind in ("containers", "initContainers")]  # fmt: skip
    at_once, one_by_one = ([millicores(each) for each in kind] for kind in asked)
    return max(sum(at_once), max(one_by_one, default=0))


def millicores(quantity: str) -> int:
    return int(quantity[:-1]) if quantity.endswith("m") else round(float(quantity) * 1000)


def _room(pods: int) -> Object:
    return {"cpu": f"{pods * MILLICORES}m", "memory": "64Gi", "pods": "100"}


def _taint(pool: str) -> Object:
    return {"key": POOL, "value": pool, "effect": "NoSchedule"}


def _node(name: str, pool: str, room: int, rack: str) -> Object:
    return {
        "metadata": {"name": name, "labels": {POOL: pool, RACK: rack, "type": "kwok"}},
        "spec": {"taints": [_taint(pool)]},
        "status": {"capacity": _room(room), "allocatable": _room(room)},
    }


def _is_ready(node: Object) -> bool:
    conditions = node.get("status", {}).get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def _takes_pods(node: Object) -> bool:
    closed = [taint for taint in node["spec"].get("taints", []) if taint["effect"] in {"NoSchedule", "NoExecute"}]
    return _is_ready(node) and not closed and not node["spec"].get("unschedulable")


def _takes_only_ours(node: Object) -> bool:
    """The scheduler takes it: it is ready, and the taints of a node that has just come are off."""
    return _is_ready(node) and {taint["key"] for taint in node["spec"].get("taints", [])} == {POOL}
