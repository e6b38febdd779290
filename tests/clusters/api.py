"""A plain, synchronous API client for tests. Not Muster's own: a test must not share the mistakes that it looks for."""

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import urllib3
from kubernetes import client, config
from kubernetes.stream import stream

Object = dict[str, Any]

PATHS = {
    "jobs": "/apis/batch/v1",
    "cronjobs": "/apis/batch/v1",
    "pods": "/api/v1",
    "events": "/api/v1",
    "configmaps": "/api/v1",
    "namespaces": "/api/v1",
    "nodes": "/api/v1",
    "resourcequotas": "/api/v1",
    "limitranges": "/api/v1",
    "serviceaccounts": "/api/v1",
    "secrets": "/api/v1",
    "services": "/api/v1",
    "leases": "/apis/coordination.k8s.io/v1",
    "roles": "/apis/rbac.authorization.k8s.io/v1",
    "rolebindings": "/apis/rbac.authorization.k8s.io/v1",
    "priorityclasses": "/apis/scheduling.k8s.io/v1",
    "resourceclaims": "/apis/resource.k8s.io/v1",
    "resourceclaimtemplates": "/apis/resource.k8s.io/v1",
    "customresourcedefinitions": "/apis/apiextensions.k8s.io/v1",
    "selfsubjectaccessreviews": "/apis/authorization.k8s.io/v1",
    "clusterroles": "/apis/rbac.authorization.k8s.io/v1",
    "clusterrolebindings": "/apis/rbac.authorization.k8s.io/v1",
    "mutatingwebhookconfigurations": "/apis/admissionregistration.k8s.io/v1",
    "validatingwebhookconfigurations": "/apis/admissionregistration.k8s.io/v1",
}
SCHEDULING_GROUP = "scheduling.k8s.io"
"""Where Workloads and PodGroups are, unless a cluster has them as Muster's CRDs in another group."""
SCHEDULING_KINDS = {"workloads": "Workload", "podgroups": "PodGroup"}
MERGE, STRATEGIC, APPLY = (
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)


class ApiError(Exception):
    def __init__(self, status: int, body: Object) -> None:
        super().__init__(f"HTTP {status}: {body.get('message')}")
        self.status = status
        self.reason = str(body.get("reason") or "")
        self.message = str(body.get("message") or "")


class Api:
    """Owns a connection pool, with the identity of the kubeconfig. It reads and writes any object, and keeps none."""

    def __init__(self, kubeconfig: Path, scheduling_group: str = SCHEDULING_GROUP) -> None:
        self.scheduling = f"{scheduling_group}/v1alpha2"
        self._paths = {**PATHS, **dict.fromkeys(SCHEDULING_KINDS, f"/apis/{self.scheduling}")}
        settings: Any = client.Configuration()
        config.load_kube_config(config_file=str(kubeconfig), client_configuration=settings)  # type: ignore[no-untyped-call]
        self._settings, self._host = settings, settings.host.rstrip("/")
        self._pool = urllib3.PoolManager(
            maxsize=16,
            ca_certs=settings.ssl_ca_cert,
            cert_file=settings.cert_file,
            key_file=settings.key_file,
            timeout=urllib3.Timeout(connect=5, read=60),
            retries=False,
        )
        bearer = (settings.auth_settings().get("BearerToken") or {}).get("value")
        self._headers = {"Authorization": bearer} if bearer else {}

    def get(self, kind: str, name: str, namespace: str = "") -> Object:
        return self._call("GET", self.path(kind, namespace, name))

    def find(self, kind: str, name: str, namespace: str = "") -> Object | None:
        try:
            return self.get(kind, name, namespace)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def list(self, kind: str, namespace: str = "", **params: str) -> list[Object]:
        items: list[Object] = self._call("GET", self.path(kind, namespace), params)["items"]
        return items

    def create(self, kind: str, body: Object, namespace: str = "", **params: str) -> Object:
        if kind in SCHEDULING_KINDS:  # built-in kinds are known by their path; custom ones have to say what they are
            body = {"apiVersion": self.scheduling, "kind": SCHEDULING_KINDS[kind], **body}
        return self._call("POST", self.path(kind, namespace), params, body)

    def replace(self, kind: str, body: Object, namespace: str = "") -> Object:
        return self._call("PUT", self.path(kind, namespace, body["metadata"]["name"]), body=body)

    def patch(
        self, kind: str, name: str, body: Object, namespace: str = "", how: str = MERGE, part: str = "", **params: str
    ) -> Object:
        return self._call("PATCH", self.path(kind, namespace, name) + part, params, body, how)

    def delete(self, kind: str, name: str, namespace: str = "", cascade: str = "Background", **options: Any) -> None:
        self._call("DELETE", self.path(kind, namespace, name), body={"propagationPolicy": cascade, **options})

    def watch(self, kind: str, namespace: str = "", seconds: int = 600, **params: str) -> Iterator[Object]:
        """Events from now on, until the server ends the stream."""
        query = {"watch": "true", "timeoutSeconds": str(seconds), **params}
        answer = self._pool.request(
            "GET",
            self._host + self.path(kind, namespace),
            fields=query,
            headers=self._headers,
            preload_content=False,
            timeout=urllib3.Timeout(connect=5, read=seconds + 5),
        )
        buffer = b""
        try:
            for chunk in answer.stream(65536, decode_content=True):
                *lines, buffer = (buffer + chunk).split(b"\n")
                yield from (json.loads(line) for line in lines if line)
        finally:
            answer.close()
            answer.release_conn()

    def path(self, kind: str, namespace: str = "", name: str = "") -> str:
        within = f"/namespaces/{namespace}" if namespace else ""
        return f"{self._paths[kind]}{within}/{kind}{'/' + name if name else ''}"

    def raw(self, path: str) -> tuple[int, str]:
        answer = self._pool.request("GET", self._host + path, headers=self._headers)
        return answer.status, answer.data.decode()

    def post(self, path: str, body: Object, **params: str) -> Object:
        return self._call("POST", path, params, body)

    def execute(self, pod: str, namespace: str, *command: str) -> str:
        """Runs the command in the pod's container; what it printed."""
        core = client.CoreV1Api(client.ApiClient(self._settings))
        run = core.connect_get_namespaced_pod_exec
        printed = stream(run, pod, namespace, command=list(command), stdout=True, stderr=True, stdin=False, tty=False)
        return str(printed)

    def warnings(self, kind: str, name: str, body: Object, namespace: str = "") -> tuple[str, ...]:
        """What the server warns of when the object is patched so; with no name, when it is created so."""
        method, content = ("PATCH", MERGE) if name else ("POST", "application/json")
        headers = {**self._headers, "Content-Type": content}
        url = self._host + self.path(kind, namespace, name)
        answer = self._pool.request(method, url, body=json.dumps(body), headers=headers)
        if answer.status >= 400:
            raise ApiError(answer.status, _explanation(answer.data))
        return tuple(answer.headers.getlist("Warning"))

    def _call(
        self,
        method: str,
        path: str,
        params: dict[str, str] | None = None,
        body: Object | None = None,
        content_type: str = "application/json",
    ) -> Object:
        query = "&".join(f"{key}={quote(value, safe='')}" for key, value in (params or {}).items())
        url = f"{self._host}{path}{'?' + query if query else ''}"
        headers = {**self._headers, "Content-Type": content_type}
        answer = self._pool.request(method, url, body=json.dumps(body) if body is not None else None, headers=headers)
        if answer.status >= 400:
            raise ApiError(answer.status, _explanation(answer.data))
        parsed: Object = json.loads(answer.data) if answer.data else {}
        return parsed


class Recording:
    """Everything that happens to one kind in one namespace, with the revision of each event."""

    def __init__(self, api: Api, kind: str, namespace: str) -> None:
        self.events: list[Object] = []
        self.seen_at: list[float] = []
        """When each event arrived here, on the monotonic clock."""
        self._api, self._kind, self._namespace = api, kind, namespace
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._from = self._api._call("GET", self._api.path(self._kind, self._namespace), {"limit": "1"})["metadata"][
            "resourceVersion"
        ]
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        pass  # the thread is a daemon and its stream ends with the server's timeout

    def created(self) -> dict[str, int]:
        """Name and revision at creation."""
        return {
            event["object"]["metadata"]["name"]: int(event["object"]["metadata"]["resourceVersion"])
            for event in list(self.events)
            if event["type"] == "ADDED"
        }

    def seen(self) -> list[Object]:
        """Every object that was created meanwhile, as it was then."""
        return [event["object"] for event in list(self.events) if event["type"] == "ADDED"]

    def _run(self) -> None:
        with contextlib.suppress(urllib3.exceptions.HTTPError):  # the cluster may end before the stream does
            for event in self._api.watch(self._kind, self._namespace, resourceVersion=self._from):
                self.seen_at.append(time.monotonic())
                self.events.append(event)


def _explanation(data: bytes) -> Object:
    """Why a call failed. Where the server knows no such path, it is not even JSON."""
    try:
        parsed: Object = json.loads(data)
    except ValueError:
        return {"message": data.decode(errors="replace")}
    return parsed
