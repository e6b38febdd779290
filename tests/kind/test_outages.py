"""A part of the cluster is killed, emptied or lost while Jobs are created."""

from tests.clusters.chart import NAMESPACE
from tests.clusters.waiting import eventually
from tests.kind.support.creation import Creation
from tests.kind.support.installed import another_leads, kill, leader, nodes_of_replicas, replicas, wait_until_ready
from tests.kind.support.jobs import gang_runs_to_its_end
from tests.kind.support.machine import Kind, run

NOT_READY_SECONDS = 120
"""The node controller waits 50 s for a sign of life."""


def test_the_leader_is_killed(installed: Kind, namespace: str) -> None:
    """The process ends without a word; its container starts again."""
    pod = leader(installed.api)
    count = pod["status"]["containerStatuses"][0]["restartCount"]
    with Creation(installed.api, namespace) as creation:
        kill(installed, pod)

        def restarted() -> bool:
            now = installed.api.get("pods", pod["metadata"]["name"], pod["metadata"]["namespace"])
            return bool(now["status"]["containerStatuses"][0]["restartCount"] == count + 1)

        eventually(restarted, "its container starts again", 60, every=0.5)
        wait_until_ready(installed)
        leader(installed.api)
        creation.more()
        creation.whole_gangs()


def test_the_leaders_pod_is_deleted_without_grace(installed: Kind, namespace: str) -> None:
    """As `kubectl delete pod --force` does it: the API forgets the pod at once, and a new one takes its place."""
    name = leader(installed.api)["metadata"]["name"]
    with Creation(installed.api, namespace) as creation:
        installed.api.delete("pods", name, NAMESPACE, gracePeriodSeconds=0)
        another_leads(installed.api, name)
        wait_until_ready(installed)
        creation.more()
        creation.whole_gangs()


def test_the_leaders_node_is_drained(installed: Kind, namespace: str) -> None:
    """With nothing but the flag that every cluster needs, and one replica answers all the time."""
    node = leader(installed.api)["spec"]["nodeName"]
    with Creation(installed.api, namespace) as creation:
        try:
            output = installed.kubectl("drain", node, "--ignore-daemonsets", "--timeout=90s")
            assert "evicting pod muster-system/muster-" in output
            assert node not in nodes_of_replicas(installed)
            creation.more()
        finally:
            installed.kubectl("uncordon", node)
        ended = creation.whole_gangs()
    assert ended.unanswered == []


def test_after_a_rollout_the_replicas_are_on_two_nodes_again(installed: Kind, namespace: str) -> None:
    """The drain has left both on one."""
    before = {pod["metadata"]["uid"] for pod in replicas(installed.api)}
    with Creation(installed.api, namespace) as creation:
        installed.kubectl("--namespace=muster-system", "rollout", "restart", "deployment/muster")
        installed.kubectl("--namespace=muster-system", "rollout", "status", "deployment/muster", "--timeout=100s")
        assert len(nodes_of_replicas(installed)) == 2
        ended = creation.whole_gangs()
    assert before.isdisjoint(pod["metadata"]["uid"] for pod in replicas(installed.api))
    assert ended.unanswered == []


def test_the_leaders_node_is_lost_and_comes_back(installed: Kind, namespace: str) -> None:
    """As if its power were cut. Its pods are not replaced meanwhile: Kubernetes waits five minutes for that."""
    pod = leader(installed.api)
    node = pod["spec"]["nodeName"]
    with Creation(installed.api, namespace, at_once=40) as creation:  # half of them wait for the node
        run("docker", "stop", "--time", "0", node)
        try:
            another_leads(installed.api, pod["metadata"]["name"])
            eventually(lambda: node not in installed.workers(), "the node is not ready", NOT_READY_SECONDS, every=1)
            creation.more()
            # More Jobs prove nothing about Muster: the API server accepts a Job without it, but none of its pods.
            (other,) = installed.workers()
            on_the_other = {"nodeSelector": {"kubernetes.io/hostname": other}}
            gang_runs_to_its_end(installed, namespace, "meanwhile", 2, pod=on_the_other)
        finally:
            run("docker", "start", node)
        eventually(lambda: node in installed.workers(), "the node is ready again", 120, every=1)
        wait_until_ready(installed)
        creation.whole_gangs()
