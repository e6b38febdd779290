"""Muster as it runs in the cluster: its pods, who of them leads, what they say."""

import base64
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from tests.clusters.api import Api, Object
from tests.clusters.chart import NAMESPACE
from tests.clusters.replicas import WEBHOOKS, registered
from tests.clusters.waiting import eventually
from tests.kind.support.kept_logs import keep_logs
from tests.kind.support.machine import IMAGE, Kind

OPERATOR = "app.kubernetes.io/component=operator"
TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"
LEASE_WRITER = "test.muster.dev/credential"
READY_SECONDS = 90
REFUSED_LOGIN = re.compile(r"Unauthorized|HTTP 401\b|\(401\)|(?i:\b(?:status|code)\W{1,3}401\b)")
EXPIRES = re.compile(r"^muster_certificate_expiry_timestamp_seconds (\S+)$", re.MULTILINE)


def image_flags(tag: str = "") -> tuple[str, ...]:
    name, _, own = IMAGE.rpartition(":")
    values = {"repository": name, "tag": tag or own, "pullPolicy": "Never"}
    return tuple(part for key, value in values.items() for part in ("--set", f"image.{key}={value}"))


def install_if_missing(kind: Kind) -> None:
    """With the script that people use, so that each scenario can also be run alone."""
    if kind.api.find("namespaces", NAMESPACE) is None:
        kind.script("kind-install")


def replicas(api: Api) -> list[Object]:
    found = api.list("pods", NAMESPACE, labelSelector=OPERATOR)
    return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]


def ready_replicas(api: Api) -> list[Object]:
    return [pod for pod in replicas(api) if _is_ready(pod)]


def wait_until_ready(kind: Kind) -> list[Object]:
    """Exactly two replicas, both ready, and the webhooks are registered."""

    def both() -> list[Object]:
        pods = replicas(kind.api)
        assert len(pods) == 2, f"{len(pods)} replicas"
        assert len(ready_replicas(kind.api)) == 2, "not all are ready"
        return pods

    pods = eventually(both, "both replicas are ready", READY_SECONDS, every=0.5)
    eventually(lambda: len(registered(kind.api)) == len(WEBHOOKS), "the webhooks are registered", READY_SECONDS)
    assert keep_logs(kind) >= len(pods), "the logs of the replicas are not on their nodes"
    return pods


def nodes_of_replicas(kind: Kind) -> set[str]:
    return {pod["spec"]["nodeName"] for pod in wait_until_ready(kind)}


def leader(api: Api) -> Object:
    """The pod that leads now."""

    def found() -> Object | None:
        holder = api.get("leases", "muster", NAMESPACE)["spec"].get("holderIdentity")
        return next((pod for pod in ready_replicas(api) if pod["metadata"]["name"] == holder), None)

    return eventually(found, "a ready replica leads", 60, every=0.5)


def restarts(api: Api) -> dict[str, int]:
    """How often the container of each replica was started again."""
    return {
        pod["metadata"]["uid"]: sum(each["restartCount"] for each in pod["status"]["containerStatuses"])
        for pod in replicas(api)
    }


def certificate_ends(api: Api) -> set[float]:
    """When the certificates end that the replicas serve admission with, as each of them says."""

    def of(pod: Object) -> float:
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/{pod['metadata']['name']}:8080/proxy/metrics"
        status, text = api.raw(path)
        found = EXPIRES.search(text)
        assert status == 200, text
        assert found, "no such metric"
        return float(found[1])

    return {of(pod) for pod in ready_replicas(api)}


def logs(kind: Kind) -> str:
    command = ("logs", "--namespace", NAMESPACE, "--selector", OPERATOR, "--tail=-1", "--prefix")
    return kind.kubectl(*command)


def refused_logins(log: str) -> list[str]:
    """The lines about a token that the API server did not accept. The digits alone are also in times and in names."""
    return [line for line in log.splitlines() if REFUSED_LOGIN.search(line)]


def token_in(kind: Kind, pod: Object) -> str:
    """The ID of the token that the kubelet has put into the pod, as the API server names it."""
    program = f"print(open({TOKEN!r}).read())"
    python = ("/usr/bin/python3", "-c", program)
    token = kind.kubectl("exec", "--namespace", NAMESPACE, pod["metadata"]["name"], "--", *python)
    claims = token.strip().split(".")[1]
    return "JTI=" + str(json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["jti"])


@contextmanager
def writer_on_the_lease(api: Api) -> Iterator[None]:
    """Inside the block, the API server writes on the Lease with which token it was last renewed."""
    path = "/apis/admissionregistration.k8s.io/v1"
    metadata = {"name": "test-lease-writer"}
    for plural, spec in (
        ("mutatingadmissionpolicies", LEASE_POLICY),
        ("mutatingadmissionpolicybindings", {"policyName": metadata["name"]}),
    ):
        api._call("POST", f"{path}/{plural}", body={"metadata": metadata, "spec": spec})
    try:
        yield
    finally:
        for plural in ("mutatingadmissionpolicybindings", "mutatingadmissionpolicies"):
            api._call("DELETE", f"{path}/{plural}/{metadata['name']}")


LEASE_POLICY = {
    "failurePolicy": "Ignore",
    "reinvocationPolicy": "Never",
    "matchConstraints": {
        "resourceRules": [
            {
                "apiGroups": ["coordination.k8s.io"],
                "apiVersions": ["v1"],
                "operations": ["UPDATE"],
                "resources": ["leases"],
                "resourceNames": ["muster"],
            }
        ],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE}},
    },
    "mutations": [
        {
            "patchType": "ApplyConfiguration",
            "applyConfiguration": {
                "expression": (
                    f'Object{{metadata: Object.metadata{{annotations: {{"{LEASE_WRITER}": '
                    'request.userInfo.extra["authentication.kubernetes.io/credential-id"][0]}}}'
                )
            },
        }
    ],
}


def lease_writer(api: Api) -> str:
    found = api.get("leases", "muster", NAMESPACE)["metadata"].get("annotations", {})
    return str(found.get(LEASE_WRITER, ""))


def kill(kind: Kind, pod: Object) -> None:
    """Its process, with SIGKILL, as the kernel does when memory runs out."""
    container = pod["status"]["containerStatuses"][0]["containerID"].removeprefix("containerd://")
    kind.on_node(pod["spec"]["nodeName"], "crictl", "stop", "--timeout", "0", container)


def another_leads(api: Api, before: str) -> None:
    holder = partial(api.get, "leases", "muster", NAMESPACE)
    eventually(
        lambda: holder()["spec"].get("holderIdentity") not in {"", None, before}, "another replica leads", 60, every=0.5
    )


def _is_ready(pod: Object) -> bool:
    return any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", []))
