"""Talking to Muster's own server, as the API server does: with the CA from the webhook configuration."""

import base64
import json
import re
import ssl
import time
import uuid
import warnings
from dataclasses import dataclass

import urllib3

from tests.clusters.api import Api, Object
from tests.clusters.muster import Muster
from tests.clusters.workers import worker

MUTATING, VALIDATING = "mutatingwebhookconfigurations", "validatingwebhookconfigurations"


@dataclass(frozen=True)
class Reviewed:
    allowed: bool
    message: str
    patch: list[Object]
    seconds: float


def readyz(muster: Muster) -> tuple[int, str]:
    return _page(muster, "/readyz")


def metric(muster: Muster, name: str) -> float:
    """The sum of a metric's series, whatever their labels."""
    _, page = _page(muster, "/metrics")
    return sum(float(value) for value in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", page, re.MULTILINE))


def _page(muster: Muster, path: str) -> tuple[int, str]:
    """Without checking the certificate: before Muster is ready nobody knows its CA."""
    found = re.findall(r"admission is served on (https://\S+)", muster.log())
    assert found, "Muster does not say where it serves admission"
    with urllib3.PoolManager(cert_reqs="CERT_NONE", retries=False) as pool, warnings.catch_warnings():
        warnings.simplefilter("ignore", urllib3.exceptions.InsecureRequestWarning)
        answer = pool.request("GET", f"{found[-1]}{path}", timeout=5)
    return answer.status, answer.data.decode().strip()


def ask_pod_webhook(api: Api, pod: Object, namespace: str, timeout: str = "2s", dry_run: bool = False) -> Reviewed:
    """The webhook's answer on a pod, asked directly."""
    request = {"operation": "CREATE", "namespace": namespace, "dryRun": dry_run, "object": pod}
    return _ask(api, MUTATING, request, timeout)


def ask_guard(api: Api, job: Object, parallelism: int, timeout: str = "2s") -> Reviewed:
    """The guard's answer on a change of the Job's parallelism, asked directly: no built-in plugin comes first."""
    changed = {**job, "spec": {**job["spec"], "parallelism": parallelism}}
    request = {"operation": "UPDATE", "namespace": job["metadata"]["namespace"], "object": changed, "oldObject": job}
    return _ask(api, VALIDATING, request, timeout)


def _ask(api: Api, configuration: str, request: Object, timeout: str) -> Reviewed:
    registered = api.find(configuration, "muster-dev") or api.get(configuration, "muster")
    place = registered["webhooks"][0]["clientConfig"]
    uid = str(uuid.uuid4())
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": uid, **request}}
    began = time.monotonic()
    response = (_at_url if "url" in place else _at_service)(api, place, review, timeout)["response"]
    seconds = time.monotonic() - began
    assert response["uid"] == uid
    patch = json.loads(base64.b64decode(response["patch"])) if "patch" in response else []
    return Reviewed(response["allowed"], response.get("status", {}).get("message", ""), patch, seconds)


def _at_url(_: Api, place: Object, review: Object, timeout: str) -> Object:
    context = ssl.create_default_context(cadata=base64.b64decode(place["caBundle"]).decode())
    with urllib3.PoolManager(ssl_context=context, retries=False) as pool:
        answer = pool.request("POST", f"{place['url']}?timeout={timeout}", body=json.dumps(review), timeout=60)
    assert answer.status == 200, answer.data
    reviewed: Object = json.loads(answer.data)
    return reviewed


def _at_service(api: Api, place: Object, review: Object, timeout: str) -> Object:
    """By the API server's proxy: nothing else can reach a Service from everywhere."""
    service = place["service"]
    name = f"https:{service['name']}:{service.get('port', 443)}"
    path = f"/api/v1/namespaces/{service['namespace']}/services/{name}/proxy{service['path']}"
    return api.post(path, review, timeout=timeout)


def pod_of(job: Object) -> Object:
    """The first pod of an Indexed Job, as the Job controller would create it."""
    metadata = job["metadata"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": metadata["name"], "uid": metadata["uid"]}
    labels = {
        "batch.kubernetes.io/job-completion-index": "0",
        "batch.kubernetes.io/controller-uid": metadata["uid"],
        "batch.kubernetes.io/job-name": metadata["name"],
    }
    return {
        "metadata": {
            "name": f"{metadata['name']}-by-hand",
            "labels": labels,
            "ownerReferences": [{**owner, "controller": True}],
        },
        "spec": {"restartPolicy": "Never", "containers": [worker()]},
    }
