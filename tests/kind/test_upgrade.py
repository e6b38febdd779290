"""The chart is upgraded while Jobs are created."""

from pathlib import Path

from tests.clusters.chart import NAMESPACE, helm
from tests.clusters.chart_cluster import older_chart
from tests.kind.support.creation import Creation
from tests.kind.support.installed import image_flags, nodes_of_replicas, replicas, wait_until_ready
from tests.kind.support.machine import IMAGE, Kind

PREVIOUS = "previous"


def test_an_upgrade_under_job_creation_loses_no_pod(native: Kind, namespace: str, tmp_path: Path) -> None:
    """There is no release to upgrade from. The earlier chart is this one as it might have been: version 0.0.9, without
    the FlowSchema, other settings. Its image is this one under another tag."""
    _tag_on_nodes(native)
    earlier = str(older_chart(tmp_path / "older"))
    flags = ("--create-namespace", "--wait", "--timeout", "180s", "--set", "workers=8", *image_flags(PREVIOUS))
    helm("upgrade", "--install", "muster", earlier, *flags, kubeconfig=native.kubeconfig)
    before = {pod["metadata"]["uid"] for pod in wait_until_ready(native)}
    with Creation(native.api, namespace) as creation:
        native.script("kind-install")
        creation.more()
        assert len(nodes_of_replicas(native)) == 2, "after a rollout both replicas are on one node"
        ended = creation.whole_gangs()
    assert ended.unanswered == []
    now = replicas(native.api)
    assert before.isdisjoint(pod["metadata"]["uid"] for pod in now)
    assert {pod["spec"]["containers"][0]["image"] for pod in now} == {IMAGE}
    listed = helm("list", "--output", "json", kubeconfig=native.kubeconfig)
    assert '"chart":"muster-0.0.9"' not in listed
    assert native.api.find("namespaces", NAMESPACE)


def _tag_on_nodes(kind: Kind) -> None:
    """As if both images had been loaded."""
    known, _, _ = IMAGE.rpartition(":")
    full = "" if "." in IMAGE.partition("/")[0] else "docker.io/" if "/" in IMAGE else "docker.io/library/"
    tags = (f"{full}{IMAGE}", f"{full}{known}:{PREVIOUS}")
    for node in kind.workers():
        kind.on_node(node, "ctr", "--namespace", "k8s.io", "images", "tag", "--force", *tags)
