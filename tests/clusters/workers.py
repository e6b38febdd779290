"""The pods that tests make. They are real wherever there are kubelets; KWOK does not look at image and command."""

import os

from tests.clusters.api import STRATEGIC, Api, Object
from tests.clusters.waiting import eventually

IMAGE = os.environ.get("MUSTER_E2E_IMAGE", "docker.io/library/busybox:1.35")
MILLICORES = 10
"""What each asks for, unless a test says otherwise: little, so that a small cluster has room for many."""
POD_CPU = f"{MILLICORES}m"
EXIT_CODE = "/dev/shm/exit-code"
"""In the container: writable for every user."""
A_DAY = 86_400
ENDS_SECONDS = 60
"""A kubelet on a busy machine has taken 20 s to start a pod."""


def worker(cpu: str = POD_CPU, run_seconds: float | None = None) -> Object:
    """A container that runs so long, or until a test ends it. A deleted one ends with 137, as KWOK plays it."""
    script = (
        f"trap 'exit 137' TERM; trap 'exit $(cat {EXIT_CODE})' USR1; "
        f"sleep {A_DAY if run_seconds is None else run_seconds} & wait $!"
    )
    return {
        "name": "worker",
        "image": IMAGE,
        "command": ["sh", "-c", script],
        "resources": {"requests": {"cpu": cpu}},
    }


def has_kubelet(node: Object) -> bool:
    """KWOK simulates the others, and its name is in their version."""
    return not node["status"].get("nodeInfo", {}).get("kubeletVersion", "kwok").startswith("kwok")


def end_pod(api: Api, pod: Object, phase: str = "Succeeded", code: int | None = None) -> None:
    """The pod ends, and its kubelet has reported that; where KWOK plays the kubelet, the test reports it."""
    code = code if code is not None else 0 if phase == "Succeeded" else 1
    node = api.find("nodes", pod["spec"]["nodeName"]) if "nodeName" in pod["spec"] else None
    if node and has_kubelet(node):
        _really_end(api, pod, phase, code)
    else:
        _report_end(api, pod, phase, code)


def _really_end(api: Api, pod: Object, phase: str, code: int) -> None:
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]

    def is_in(wanted: str) -> bool:
        found = api.get("pods", name, namespace)["status"]["phase"]
        assert found == wanted, f"{name} is {found}"
        return True

    eventually(lambda: is_in("Running"), f"{name} runs, so that it can end", ENDS_SECONDS)
    api.execute(name, namespace, "sh", "-c", f"echo {code} > {EXIT_CODE}; kill -USR1 1")
    eventually(lambda: is_in(phase), f"{name} ends with {code}", ENDS_SECONDS)


def _report_end(api: Api, pod: Object, phase: str, code: int) -> None:
    finished = {"terminated": {"exitCode": code, "reason": "Completed" if code == 0 else "Error"}}
    containers = pod["spec"]["containers"]
    statuses = [
        {"name": c["name"], "image": c["image"], "imageID": "", "ready": False, "restartCount": 0, "state": finished}
        for c in containers
    ]
    body = {"status": {"phase": phase, "containerStatuses": statuses}}
    metadata = pod["metadata"]
    api.patch("pods", metadata["name"], body, metadata["namespace"], how=STRATEGIC, part="/status")
