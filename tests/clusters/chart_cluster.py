"""What the tests of an installed chart look at and stand in for."""

import json
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import yaml

from tests.clusters.api import Api, Object
from tests.clusters.chart import CHART, NAMESPACE
from tests.clusters.cluster import Cluster, hack_cluster
from tests.clusters.command import Answer
from tests.clusters.waiting import eventually

OWN = "scheduling.muster.dev"
PASSING = ("events", "endpoints", "endpointslices", "leases.coordination", "componentstatuses", "apiservices")
"""Kinds that come and go by themselves, or follow from a CRD."""


def kubectl(cluster: Cluster, *arguments: str, stdin: str = "") -> Answer:
    command = [_kubectl(), "--kubeconfig", str(cluster.kubeconfig), *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=120)
    return Answer(done.returncode, done.stdout, done.stderr)


@cache
def _kubectl() -> str:
    """Without the detour over `hack/cluster`, which costs as much as the call."""
    return next(path for path in hack_cluster("build").split() if path.endswith("/kubectl"))


def strictly(cluster: Cluster, documents: list[Object]) -> Answer:
    """What the API server would say to all of it."""
    text = yaml.safe_dump_all(documents)
    return kubectl(cluster, "apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-", stdin=text)


def crds_of_muster(api: Api) -> list[str]:
    names = [item["metadata"]["name"] for item in api.list("customresourcedefinitions")]
    return [name for name in names if name.endswith((f".{OWN}", ".scheduling.k8s.io"))]


def everything_in(cluster: Cluster) -> set[str]:
    """Every object of every kind, but those that come and go by themselves."""
    kinds = kubectl(cluster, "api-resources", "--verbs=list", "--output=name").out.split()
    asked = ",".join(kind for kind in kinds if not kind.startswith(PASSING))
    template = "{range .items[*]}{.kind}/{.metadata.namespace}/{.metadata.name}{'\\n'}{end}"
    answer = kubectl(cluster, "get", asked, "--all-namespaces", f"--output=jsonpath={template}")
    assert answer.code == 0, answer.err
    return set(answer.out.split())


@contextmanager
def kubelet_for(api: Api, component: str, run: Callable[[Object], int], pods: int = 1) -> Iterator[list[Object]]:
    """Runs that many pods of that component, one after the other, and ends each with the exit code that `run` gives, as
    its kubelet would. The value gets the pods."""
    seen: list[Object] = []

    def pod() -> Object | None:
        found = api.list("pods", NAMESPACE, labelSelector=f"app.kubernetes.io/component={component}")
        return next((each for each in found if each.get("status", {}).get("phase") == "Running"), None)

    def play() -> None:
        for _ in range(pods):
            running = eventually(pod, f"a pod of {component} runs", 90)
            status = _ended(running, run(running))
            api.patch("pods", running["metadata"]["name"], {"status": status}, NAMESPACE, part="/status")
            seen.append(running)

    thread = threading.Thread(target=play, daemon=True)
    thread.start()
    yield seen
    thread.join(120)


def _ended(pod: Object, code: int) -> Object:
    state = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed"}}
    rest = {"imageID": "", "ready": False, "restartCount": 0, "state": state}
    containers = [{"name": each["name"], "image": each["image"], **rest} for each in pod["spec"]["containers"]]
    return {"phase": "Failed" if code else "Succeeded", "containerStatuses": containers}


def flow_schema_of_calls(account: Api) -> str:
    """The UID of the FlowSchema that the API server puts the account's calls into."""
    answer = account._pool.request("GET", account._host + "/apis/batch/v1/jobs?limit=1", headers=account._headers)
    assert answer.status == 200, answer.data
    return str(answer.headers["X-Kubernetes-PF-FlowSchema-UID"])


def older_chart(folder: Path) -> Path:
    """The chart as an earlier version might have been: other CRDs, other texts, no FlowSchema."""
    older = folder / "muster"
    shutil.copytree(CHART, older)
    meta = yaml.safe_load((older / "Chart.yaml").read_text())
    (older / "Chart.yaml").write_text(yaml.safe_dump({**meta, "version": "0.0.9", "appVersion": "0.0.9"}))
    (older / "templates/flowcontrol.yaml").unlink()
    for path in (older / "files/crds").glob("*.yaml"):
        crd = yaml.safe_load(path.read_text())
        version = crd["spec"]["versions"][0]
        version["schema"]["openAPIV3Schema"]["description"] = "Older."
        version["additionalPrinterColumns"] = version["additionalPrinterColumns"][-1:]
        path.write_text(yaml.safe_dump(crd))
    return older


def described(api: Api) -> str:
    version = api.get("customresourcedefinitions", f"workloads.{OWN}")["spec"]["versions"][0]
    return str(version["schema"]["openAPIV3Schema"]["description"])


def make_workload(api: Api) -> Callable[[], bool]:
    """Make one in the own group; the value tells whether that very object is still there."""
    path = f"/apis/{OWN}/v1alpha2/namespaces/default/workloads"
    template = {"name": "workers", "schedulingPolicy": {"gang": {"minCount": 4}}}
    kind = {"apiVersion": f"{OWN}/v1alpha2", "kind": "Workload"}
    body = {**kind, "metadata": {"name": "kept"}, "spec": {"podGroupTemplates": [template]}}
    eventually(lambda: api.raw(path)[0] == 200, "Workloads are served")
    uid = api._call("POST", path, body=body)["metadata"]["uid"]

    def is_there() -> bool:
        status, text = api.raw(f"{path}/kept")
        return status == 200 and json.loads(text)["metadata"]["uid"] == uid

    return is_there
