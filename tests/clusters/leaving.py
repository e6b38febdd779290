"""What the uninstall tests inspect: the objects that Muster created, and what is deleted with its Jobs."""

from pathlib import Path

import yaml

from manifests import rendered
from tests.clusters.api import Api, ApiError, Object
from tests.clusters.chart import NAMESPACE
from tests.clusters.cluster import Cluster, hack_cluster
from tests.clusters.command import Answer
from tests.clusters.command import muster as command
from tests.clusters.objects import pods_of
from tests.clusters.replicas import registered
from tests.clusters.waiting import eventually

PROTECTION = "scheduling.k8s.io/podgroup-protection"
ITS_OWN = (
    ("secrets", "muster-certificates", NAMESPACE),
    ("leases", "muster", NAMESPACE),
)


def leave_as_the_hook_does(cluster: Cluster, *flags: str) -> Answer:
    """Logged in as the account of the chart's hook, with exactly its rights."""
    for document in yaml.safe_load_all(rendered("--show-only", "templates/leave.yaml")):
        if document["kind"] not in {"Job", "NetworkPolicy"}:
            _put(cluster.api, document)
    return command("leave", *flags, kubeconfig=account_of_the_hook(cluster))


def account_of_the_hook(cluster: Cluster) -> Path:
    return Path(hack_cluster("kubeconfig", "--name", cluster.name, "--service-account", f"{NAMESPACE}/muster-leave"))


def _put(api: Api, document: Object) -> None:
    try:
        api.create(document["kind"].lower() + "s", document, document["metadata"].get("namespace", ""))
    except ApiError as error:
        if error.status != 409:
            raise


def left_behind(api: Api) -> dict[str, str]:
    """Of what Muster has made for itself: the UID of each. A webhook configuration without webhooks is the chart's."""
    found = {kind: api.find(kind, name, namespace) for kind, name, namespace in ITS_OWN}
    found |= {kind: api.find(kind, "muster") for kind in registered(api)}
    return {kind: thing["metadata"]["uid"] for kind, thing in found.items() if thing is not None}


def protected(api: Api, namespace: str) -> list[str]:
    return [
        group["metadata"]["name"]
        for group in api.list("podgroups", namespace)
        if PROTECTION in group["metadata"].get("finalizers", ())
    ]


def identities(api: Api, namespace: str, job: str) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pods_of(api, namespace, job)}


def delete_all(api: Api, namespace: str, seconds: float = 90) -> None:
    """The Jobs, then the namespace; both go, with all that belongs to them."""
    for job in api.list("jobs", namespace):
        api.delete("jobs", job["metadata"]["name"], namespace)
    eventually(lambda: not api.list("jobs", namespace), "the Jobs are gone", seconds)
    eventually(lambda: not api.list("pods", namespace), "their pods are gone", seconds)
    api.delete("namespaces", namespace)
    eventually(lambda: api.find("namespaces", namespace) is None, "the namespace is gone", seconds)
