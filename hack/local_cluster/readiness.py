"""Waits until a cluster is usable: processes run, nodes are Ready, pods are accepted."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

from local_cluster.api import AdminClient
from local_cluster.errors import ClusterError
from local_cluster.layout import ClusterLayout
from local_cluster.nodes import node_manifests
from local_cluster.plan import Plan, Status
from local_cluster.processes import ProcessIdentity, is_alive
from local_cluster.settings import ClusterSettings

_POLL = 0.1
_LOG_TAIL = 15


class Patience:
    """The timeout of a whole start."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds

    def pause(self, waiting_for: str, evidence: Callable[[], str] = str) -> None:
        if time.monotonic() > self._deadline:
            late = f"The cluster did not start within {self._seconds:.0f} s: still waiting for {waiting_for}."
            raise ClusterError(late + evidence())
        time.sleep(_POLL)


def wait_for_processes(layout: ClusterLayout, generation: int, supervisor: ProcessIdentity, patience: Patience) -> None:
    while True:
        status = Status.read(layout)
        if status and status.generation == generation:
            if status.exited:
                raise component_ended(layout, status)
            if status.phase == "running":
                return
        if not is_alive(supervisor):
            raise ClusterError(f"The supervisor of cluster {layout.name} ended.{log_tail(layout, 'supervisor')}")
        slowest = list(status.components)[-1] if status and status.components else "supervisor"
        patience.pause(f"{slowest} to be ready", functools.partial(log_tail, layout, slowest))


def make_usable(layout: ClusterLayout, plan: Plan, settings: ClusterSettings, patience: Patience) -> None:
    client = AdminClient(layout, plan.ports.apiserver)
    for node in node_manifests(settings):
        status, answer = client.request("POST", "/api/v1/nodes", node)
        if status not in (201, 409):
            raise ClusterError(f"Node {node['metadata']['name']} was refused: {_message(answer)}")
    wait_until_usable(layout, client, settings.nodes, patience)


def wait_until_usable(layout: ClusterLayout, client: AdminClient, nodes: int, patience: Patience) -> None:
    while (obstacle := _obstacle(client, nodes)) is not None:
        status = Status.read(layout)
        if status and status.exited:
            raise component_ended(layout, status)
        patience.pause(obstacle)


def _obstacle(client: AdminClient, nodes: int) -> str | None:
    """What is still missing; None if the cluster is usable."""
    try:
        return _node_obstacle(client, nodes) or _pod_obstacle(client)
    except OSError as error:
        return f"the API server to answer ({error})"


def _node_obstacle(client: AdminClient, expected: int) -> str | None:
    status, answer = client.request("GET", "/api/v1/nodes")
    if status != 200:
        return f"nodes to be listed ({_message(answer)})"
    ready = sum(1 for node in answer["items"] if _is_ready(node))
    return None if ready >= expected else f"nodes to become Ready ({ready} of {expected} are)"


def _is_ready(node: dict[str, Any]) -> bool:
    conditions = node["status"].get("conditions", [])
    ready = any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)
    return ready and not any(taint["key"].startswith("node.kubernetes.io/") for taint in node["spec"].get("taints", []))


def _pod_obstacle(client: AdminClient) -> str | None:
    """A dry run goes through all admission plugins; the last obstacle is the default ServiceAccount."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "probe"},
        "spec": {"containers": [{"name": "probe", "image": "probe"}]},
    }
    status, answer = client.request("POST", "/api/v1/namespaces/default/pods?dryRun=All", pod)
    return None if status == 201 else f"a pod to be accepted ({_message(answer)})"


def component_ended(layout: ClusterLayout, status: Status) -> ClusterError:
    name, code = next(iter(status.exited.items()))
    how = f"exit code {code}" if code >= 0 else f"signal {-code}"
    return ClusterError(f"{name} of cluster {layout.name} ended with {how}.{log_tail(layout, name)}")


def log_tail(layout: ClusterLayout, component: str) -> str:
    try:
        lines = layout.log_of(component).read_text(errors="replace").splitlines()
    except OSError:
        return ""
    # A wrong flag prints pages of usage text, with the error in the last line.
    tail = lines[-1:] if lines and lines[-1].startswith("Error:") else lines[-_LOG_TAIL:]
    return "".join(f"\n  {component}: {line}" for line in tail)


def _message(answer: Any) -> str:
    return str(answer.get("message", answer)) if isinstance(answer, dict) else str(answer)
